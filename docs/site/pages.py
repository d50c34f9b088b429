"""pages.py PROGRAM ROOT OUT: the pages of the site as Markdown for Sphinx.

README.md is the first page, the sections of docs/index.md are its contents. Pages of other folders that these link to come with them; a
link to any other file becomes its text. Commands, limits, platforms and kinds of files are written from what the program and the tables
(*.def) say.
"""
import json
import os
import re
import shutil
import subprocess
import sys

FENCE = re.compile(r'\s*```')
# A link or an image; the text of a link may have an image.
LINK = re.compile(r'(!?)\[((?:[^\[\]]|!\[[^\]]*\]\([^)]*\))*)\]\(([^)\s]+)\)')
CODE = re.compile(r'(`+[^`]*`+)')
ENTRY = re.compile(r'- \[(.*)\]\(([^)\s#]+)\)$')
IMAGES = ('.png', '.svg')


def read(path):
    with open(path, encoding='utf-8') as f:
        return f.read()


def write(out, name, text):
    path = os.path.join(out, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'w', encoding='utf-8') as f:
        f.write(text)


def replace_links(text, replace):
    """A page with replace(text, target, is_image) for each relative link outside of code."""
    def one(found):
        if re.match(r'\w+:', found[3]):
            return found[0]
        return replace(LINK.sub(one, found[2]), found[3], bool(found[1]))
    lines, is_code = [], False
    for line in text.split('\n'):
        is_fence = FENCE.match(line) is not None
        is_code ^= is_fence
        if not is_fence and not is_code and not line.startswith('    '):
            line = ''.join(with_links(line, one))
        lines.append(line)
    return '\n'.join(lines)


def with_links(line, one):
    """The line with its links replaced; a code span that is not inside of a link stays."""
    spans, end = [match.span() for match in CODE.finditer(line)], 0
    for found in LINK.finditer(line):
        if any(begin <= found.start() and found.end() <= last for begin, last in spans):
            continue
        yield line[end:found.start()]
        yield one(found)
        end = found.end()
    yield line[end:]


class Site:
    def __init__(self, root, out):
        self.root, self.out = root, out
        docs = [os.path.relpath(os.path.join(folder, name), root) for folder, _, names in os.walk(os.path.join(root, 'docs'))
                for name in names if name.endswith('.md')]
        self.names = {}  # of a page of the repository: that of the site
        waiting = ['README.md', *sorted(docs)]
        while waiting:
            page = waiting.pop()
            if page not in self.names:
                self.names[page] = self.name_of(page)
                replace_links(read(os.path.join(root, page)), lambda text, target, _, page=page: waiting.extend(self.page_of(page, target)) or text)

    @staticmethod
    def name_of(page):
        if page == 'README.md':
            return 'index.md'
        if page == 'docs/index.md':
            return 'contents.md'
        return page.removeprefix('docs/') if page.startswith('docs/') else 'source/' + page.removesuffix('.md').replace('/', '-') + '.md'

    def page_of(self, page, target):
        """The page of the repository that a link leads to, if it is one."""
        path = os.path.normpath(os.path.join(os.path.dirname(page), target.partition('#')[0])) if not target.startswith('#') else page
        return [path] if path.endswith('.md') and os.path.isfile(os.path.join(self.root, path)) else []

    def copy(self, page):
        """A page with the links of the site; images are copied."""
        here = os.path.dirname(self.names[page])

        def replace(text, target, is_image):
            path, _, anchor = target.partition('#')
            linked = self.page_of(page, target)
            if linked:
                name = os.path.relpath(self.names[linked[0]], here or '.')
                return f'[{text}]({name}{"#" + anchor if anchor else ""})'
            source = os.path.normpath(os.path.join(os.path.dirname(page), path))
            if path.endswith(IMAGES):
                copied = os.path.join(self.out, 'images', os.path.basename(source))
                os.makedirs(os.path.dirname(copied), exist_ok=True)
                shutil.copyfile(os.path.join(self.root, source), copied)
                return f'{"!" if is_image else ""}[{text}]({os.path.relpath(copied, os.path.join(self.out, here))})'
            return text
        return replace_links(read(os.path.join(self.root, page)), replace)

    def sections(self):
        """{title: names of the site} of the lists of docs/index.md."""
        sections, title = {}, None
        for line in read(os.path.join(self.root, 'docs/index.md')).split('\n'):
            if line.startswith('## '):
                title = line[3:]
                sections[title] = []
            entry = ENTRY.match(line)
            if entry and title:
                sections[title].append(self.names[self.page_of('docs/index.md', entry[2])[0]])
        return sections

    def write(self, generated):
        """All pages; generated: {section: names of the site} that are added to those of docs/index.md."""
        sections = self.sections()
        for title, names in generated.items():
            sections.setdefault(title, []).extend(names)
        listed = {name for names in sections.values() for name in names}
        folders = sorted(name for name in self.names.values() if name not in listed and name not in ('index.md', 'contents.md'))
        write(self.out, 'source/index.md', '# Folders of the source\n\n' + toctree('', [os.path.relpath(name, 'source') for name in folders]))
        sections['Project'].append('source/index.md')
        for page, name in self.names.items():
            text = self.copy(page)
            if name == 'index.md':
                text += '\n' + toctree('', ['contents.md'], hidden=True) + ''.join(toctree(title, names, hidden=True) for title, names in sections.items())
            write(self.out, name, text)


def toctree(caption, names, hidden=False):
    lines = ['```{toctree}', *([f':caption: {caption}'] if caption else []), ':maxdepth: 1', *([':hidden:'] if hidden else []), '',
             *(name.removesuffix('.md') for name in names), '```', '']
    return '\n'.join(lines) + '\n'


def cell(text):
    """Text of the program in a cell of a table: its code spans stay."""
    parts = text.replace('\n', ' ').split('`')
    return '`'.join(part.replace('|', r'\|') if k % 2 else re.sub(r'([\\*_<>|\[\]~])', r'\\\1', part) for k, part in enumerate(parts))


def code(text):
    return f'`{text}`'.replace('|', r'\|') if text else ''


def table(head, rows):
    return '\n'.join(['| ' + ' | '.join(head) + ' |', '|' + '---|' * len(head), *('| ' + ' | '.join(row) + ' |' for row in rows)]) + '\n'


def table_of(hloscope, *command):
    """The lines of JSON that a command prints."""
    done = subprocess.run([hloscope, *command, '--json'], stdout=subprocess.PIPE, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def option_row(option):
    name = option['name'].upper() if option['positional'] else ', '.join(filter(None, [option['letter'] and '-' + option['letter'].lstrip('-'), option['name']]))
    value = '' if option['positional'] else option['value']
    bounds = [f'at least {option["min"]}'] * (option['min'] is not None) + [f'at most {option["max"]}'] * (option['max'] is not None)
    notes = [*bounds, *(['required'] if option['required'] else []), *([f'needs {", ".join(option["needs"])}'] if option['needs'] else []),
             *([f'not with {", ".join(option["conflicts"])}'] if option['conflicts'] else [])]
    values = ', '.join(map(code, option['choices'] or option['suggestions']))
    return [code(f'{name} {value}'.strip()), option['type'], '; '.join(filter(None, [cell(option['help']), values, cell('; '.join(notes))]))]


def write_commands(hloscope, out):
    """A page for each command and a table of all; the names of the pages."""
    commands = table_of(hloscope, 'help')
    for command in commands:
        text = f'# {command["command"]}\n\n{cell(command["summary"])}.\n\n```\n{command["usage"]}\n```\n'
        for group in dict.fromkeys(option['group'] for option in command['options']):
            rows = [option_row(option) for option in command['options'] if option['group'] == group]
            text += f'\n## {group.rstrip(":") or "Arguments and options"}\n\n{table(["option", "type", "what it does"], rows)}'
        if command['examples']:
            text += '\n## Examples\n\n```\n' + '\n'.join(example if example.startswith('hloscope') else f'hloscope {example}' for example in command['examples']) + '\n```\n'
        write(out, f'commands/{command["command"]}.md', text)
    rows = [[f'[`{command["command"]}`]({command["command"]}.md)', cell(command['summary'])] for command in commands]
    names = [f'{command["command"]}.md' for command in commands]
    write(out, 'commands/index.md', '# All commands\n\nWritten from `hloscope help --json`.\n\n' + table(['command', 'what it does'], rows) + '\n' + toctree('', names, hidden=True))
    return ['commands/index.md']


def write_limits(hloscope, out):
    rows = [[code(limit['name']), f'{limit["default"]:,}', f'{limit["hard_cap"]:,}', cell(f'{limit["unit"]} {limit["reason"]}')] for limit in table_of(hloscope, 'limits')]
    write(out, 'reference/limits.md', '# Limits\n\nWritten from `hloscope limits --json`; `--limit NAME=VALUE` of every command changes one, up to the maximum.\n\n'
          + table(['limit', 'default', 'maximum', 'what it bounds'], rows))
    return 'reference/limits.md'


def rows_of(root, path, macro):
    """The arguments of each row MACRO(…) of a table, strings without their quotes."""
    argument = r'"(?:[^"\\]|\\.)*"|[^",()]+'
    for row in re.finditer(rf'^{macro}\(((?:{argument}|,\s*)*)\)', read(os.path.join(root, path)), re.M):
        yield [part.strip().strip('"') for part in re.findall(argument, row[1]) if part.strip()]


CAPABILITIES = (('kNeedsPlugin', 'a plugin'), ('kNeedsDriver', "NVIDIA's driver"), ('kNeedsPython', 'a Python with jaxlib'), ('kRunsDumps', "a dump of XLA:GPU, or XLA's plugin"))


def write_platforms(root, out):
    rows = []
    for name, _, _, abilities, what in rows_of(root, 'core/replay/platforms.def', 'PLATFORM'):
        has = set(abilities.split(' | '))
        needs = ', '.join(text for flag, text in CAPABILITIES if flag in has) or 'nothing'
        rows.append([code(name), cell(what), needs, *('yes' if flag in has else 'no' for flag in ('kCaptures', 'kXlaFlags'))])
    write(out, 'reference/platforms.md', '# Platforms\n\nWritten from `core/replay/platforms.def`. How far each is tested: [scope](../scope.md).\n\n'
          + table(['platform', 'what it is', 'needs', 'captures values', 'takes flags of XLA'], rows))
    return 'reference/platforms.md'


def write_files(root, out):
    roles = [[code(name), ' '.join(map(code, patterns.split())), cell(description), code(flag)]
             for _, name, patterns, _, _, _, flag, _, description in rows_of(root, 'core/dump/listing/file_roles.def', 'FILE_ROLE')]
    kinds = [[code(name), cell(description)] for _, name, description in rows_of(root, 'core/dump/listing/file_kinds.def', 'FILE_KIND')]
    write(out, 'reference/files.md', '# Files of a dump\n\nWritten from `core/dump/listing/file_roles.def` and `file_kinds.def`.\n\n## By name\n\nThe patterns are of what follows `module_NNNN.NAME.`: '
          '`<point>` is a point of the pipeline, `<step>` a pass, `<n>` digits, `<any>` at least one character; the first row that fits counts.\n\n'
          + table(['role', 'names', 'what it has', 'what writes it'], roles) + '\n## By content\n\n' + table(['kind', 'what it is'], kinds))
    return 'reference/files.md'


def fields_of(schema, path=''):
    """(path, schema) of every field below an object, in order."""
    for name, inner in schema.get('properties', {}).items():
        yield from fields_of_value(f'{path}.{name}'.lstrip('.'), inner)


def fields_of_value(path, schema):
    yield path, schema
    yield from fields_of(schema, path)
    if 'additionalProperties' in schema:
        yield from fields_of_value(f'{path}.*', schema['additionalProperties'])
    if schema.get('items'):
        yield from list(fields_of_value(f'{path}[]', schema['items']))[0 if 'items' in schema['items'] else 1:]


def kinds_of(schema):
    kinds = [kind for kind in schema.get('type', []) if kind not in ('null', 'array')] if 'items' not in schema else []
    if 'items' in schema:
        return 'list of ' + kinds_of(schema['items'])
    return ' or '.join(kinds) or 'any'


def write_schemas(root, out):
    """A page of the fields of each command, as its schema has them."""
    names = [name.removesuffix('.json') for name in sorted(os.listdir(os.path.join(root, 'assets/schemas')))]
    counts = {}
    for name in names:
        schema = json.loads(read(os.path.join(root, f'assets/schemas/{name}.json')))
        rows = [[code(path), kinds_of(inner)] for path, inner in fields_of(schema)]
        counts[name] = len(rows)
        write(out, f'reference/json/{name}.md',
              f'# Fields of {name} --json\n\nOne object a line. Any field may be absent or null; a number that is not finite is a string. As a JSON schema: '
              f'`hloscope help {name} --schema`. What they mean: [fields of `--json`](../../json.md).\n\n' + table(['field', 'type'], rows))
    rows = [[f'[`{name}`](json/{name}.md)', str(counts[name])] for name in names]
    write(out, 'reference/schemas.md', '# JSON schemas\n\nWritten from `assets/schemas`, which `hloscope help COMMAND --schema` prints. `[]` stands for each element of a list, '
          '`*` for any name.\n\n' + table(['command', 'fields'], rows) + '\n' + toctree('', [f'json/{name}.md' for name in names], hidden=True))
    return 'reference/schemas.md'


def main(hloscope, root, out):
    generated = {'Commands': write_commands(hloscope, out),
                 'Reference': [write_platforms(root, out), write_files(root, out), write_limits(hloscope, out), write_schemas(root, out)]}
    Site(root, out).write(generated)


if __name__ == '__main__':
    main(*sys.argv[1:])
