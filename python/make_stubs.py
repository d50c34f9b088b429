"""make_stubs.py PROGRAM: the stub __init__.pyi of the package, with a signature for every command of `PROGRAM help --json`."""

import keyword
import os
import sys
from pathlib import Path

HEAD = '''"""Written by python/make_stubs.py from `hloscope help --json`."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Union

from hloscope._api import call as call
from hloscope._commands import commands as commands
from hloscope._errors import BadInput as BadInput, Died as Died, HloscopeError as HloscopeError, Unsupported as Unsupported
from hloscope._map import MapItem as MapItem, map as map
from hloscope._program import program as program
from hloscope._ray import RayExecutor as RayExecutor
from hloscope._record import record as record
from hloscope._results import BundleResult as BundleResult, CompareResult as CompareResult, DivergeResult as DivergeResult
from hloscope._results import InfoResult as InfoResult, Output as Output, Problem as Problem, ProfileResult as ProfileResult
from hloscope._results import ReduceResult as ReduceResult, Result as Result, RunResult as RunResult, VerifyResult as VerifyResult
from hloscope._viewer import open as open

__version__: str

_Path = Union[str, os.PathLike[str]]
_Paths = Union[_Path, Sequence[_Path]]

'''
TYPES = {'flag': 'bool', 'integer': 'int', 'number': 'float', 'string': '_Path', 'list': '_Paths'}


def type_of(option, arrays):
    if option.keyword in arrays:
        return 'Any'
    if option.choices and option.type == 'string':
        return 'Literal[%s]' % ', '.join(f'"{choice}"' for choice in option.choices)
    if '=' in option.value and option.type in ('string', 'list'):
        return '_Paths | Mapping[str, Any]'
    # What may be repeated is not known of an option that a function reads; a list gives each of its values.
    return TYPES[option.type] if option.type != 'string' else '_Paths'


def signature(command, arrays, short, kinds):
    rows = {}
    for option in command.options:
        name = option.keyword
        if option.positional or option.name == '--json':
            continue
        if '*' in name:
            rows['xla_flags'] = 'Mapping[str, Any]'
            continue
        name = name + '_' if keyword.iskeyword(name) else name
        rows[name] = type_of(option, arrays)
    for brief, name in short.items():
        option = command.option(name)
        if option is not None and brief not in rows:
            rows[brief] = type_of(option, arrays)
    keywords = ''.join(f'    {name}: {kind} | None = ...,\n' for name, kind in sorted(rows.items()))
    first = 'module: Any, *arrays: Any' if command.name == 'run' else '*given: Any'
    result = kinds[command.name].__name__ if command.name in kinds else 'Result'
    return (f'def {command.name}(\n    {first},\n    errors: Literal["raise", "return"] = ...,\n    timeout: float | None = ...,\n{keywords}'
            f') -> {result}:\n    """{command.summary}"""\n\n')


def stubs():
    from hloscope._api import ARRAYS, function_names
    from hloscope._commands import SHORT, commands
    from hloscope._results import KINDS
    return HEAD + ''.join(signature(commands()[name], ARRAYS, SHORT, KINDS) for name in function_names())


if __name__ == '__main__':
    os.environ['HLOSCOPE_PROGRAM'] = sys.argv[1]
    sys.path.insert(0, str(Path(__file__).parent))
    sys.stdout.write(stubs())
