"""JSON schemas of what commands print, made of real outputs: names and types of fields. A field may be absent or null, since what a test
happens to print says nothing of what always is there."""
import json
import os
import re

FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), 'assets', 'schemas')
# Numbers that are whole by chance where a test saw them.
MEASURED = re.compile(r'(_(ms|us|ns|error|bound|share|ratio|per_second)|^(ratio|abs|rel|share|spread|confidence|seconds|value|actual|expected|min|max|last|total)\w*)$')
NOT_FINITE = ('nan', 'inf', '-inf')


def kind_of(value, name):
    if value is None or isinstance(value, (bool, list, dict)):
        return {type(None): 'null', bool: 'boolean', list: 'array', dict: 'object'}[type(value)]
    if isinstance(value, str):
        # Where a number is not finite, it is one of three strings.
        return 'string'
    return 'number' if isinstance(value, float) or MEASURED.search(name) else 'integer'


def add(schema, value, maps, name=''):
    """Widens `schema` so that it takes `value`."""
    kinds = set(schema.get('type', [])) | {'null', kind_of(value, name)}
    if 'number' in kinds:
        kinds = (kinds | {'string'}) - {'integer'}
    if kinds != {'null'}:  # a field that was only null may be anything
        schema['type'] = sorted(kinds)
    if isinstance(value, list):
        items = schema.setdefault('items', {})
        for item in value:
            add(items, item, maps, name)
    elif isinstance(value, dict) and name in maps:
        for item in value.values():
            add(schema.setdefault('additionalProperties', {}), item, maps)
    elif isinstance(value, dict):
        properties = schema.setdefault('properties', {})
        for key, item in value.items():
            add(properties.setdefault(key, {}), item, maps, key)
        schema['properties'] = dict(sorted(properties.items()))


def problems(schema, value, maps, place='', name=''):
    """Where `value` is not as the schema says. Fields that it lacks are new: `--write` adds them."""
    kind = kind_of(value, name)
    allowed = schema.get('type')
    if allowed is not None and kind not in allowed and not (kind == 'integer' and 'number' in allowed):
        yield f'{place or "the object"}: expected {" or ".join(allowed)}, got {json.dumps(value)[:80]}'
    if isinstance(value, list):
        for item in value:
            yield from problems(schema.get('items', {}), item, maps, place + '[]', name)
    elif isinstance(value, dict):
        is_map = name in maps
        for key, item in value.items():
            inner = schema.get('additionalProperties') if is_map else schema.get('properties', {}).get(key)
            if inner is not None:
                yield from problems(inner, item, maps, f'{place}.{key}', '' if is_map else key)


def path_of(command):
    return os.path.join(FOLDER, command + '.json')


def read(command):
    if not os.path.exists(path_of(command)):
        return {'$schema': 'https://json-schema.org/draft/2020-12/schema', 'title': f'A line of `hloscope {command} --json`'}
    with open(path_of(command), encoding='utf-8') as file:
        return json.load(file)


def write(command, schema):
    os.makedirs(FOLDER, exist_ok=True)
    with open(path_of(command), 'w', encoding='utf-8') as file:
        json.dump(schema, file, indent=1)
        file.write('\n')
