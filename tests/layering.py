#!/usr/bin/env python3
"""Holds every source file to the room table of cmake/rooms.txt and to the rules of form.

  layering.py ROOT        one line per violation, `file:line: what, expected`; exit status 1 if there is any
  layering.py --table     the room table and the table of the folders inside rooms as Markdown, as docs/architecture.md has them
  layering.py --includes  how many includes each room has of each other, as Markdown
  layering.py --sizes     number, median and largest of files and functions
  layering.py --counts    lines, files to compile, the largest folder, files that name a platform, switches over opcodes
  layering.py --selftest  plants one violation of each kind in a scratch tree and expects its message
"""
import collections
import os
import re
import statistics
import subprocess
import sys
import tempfile

MAX_LINES = 800
MAX_FILES = 64
CODE = ('.h', '.cc', '.def', '.proto')
SCRIPT = ('.py', '.sh', '.cmake', 'CMakeLists.txt')
LOCAL_INCLUDE = re.compile(r'\s*#\s*include\s*"([^"]+)"')
OUTSIDE_INCLUDE = re.compile(r'\s*#\s*include\s*<([^>]+)>')
TARGET = re.compile(r'\bhloscope_(\w+)')
TYPE_OR_NAMESPACE = re.compile(r'\s*(namespace|struct|class|enum|union|using|public:|private:|protected:|extern)\b')
DEFINED_TYPE = re.compile(r'(?:struct|class) (?:\[\[\w+\]\] )?(\w+(?:::\w+)*)(?: final)?(?: :[^:;].*)? \{')
FUNCTION = re.compile(r'(?!\s|#|//|return\b|using\b|namespace\b|struct\b|class\b|enum\b|static_assert\b)[\w:<>,&*\s\[\]]*[\s&*>](\w+)\(')
NAMESPACE = re.compile(r'namespace ?([\w:]*) ?\{$')
# Written in pieces so that this file passes its own rules.
UNNAMED_WORK = re.compile(r'\b(%s)\b(?!\([^()\s][^()]*\))|\b(%s)\b' % ('TO' + 'DO', '|'.join(('FIX' + 'ME', 'XX' + 'X'))))
MACHINE_PATH = re.compile('/(%s)/' % '|'.join(('wo' + 'rk', 'ro' + 'ot', 'fa' + 'rm', 'tmp/' + 'bash_jobs', 'tmp/' + 'w')))
# Relative links of Markdown: [text](target), ![text](target).
LINK = re.compile(r'\]\((?!\w+:)([^)\s]+)\)')
# nlohmann::json under any alias; core/base/parse_json.h bounds the nesting of what it reads.
PARSES_JSON = re.compile(r'[Jj]son::(?:parse|accept|sax_parse)\(')
# Lines of the commands; strings in them are escaped by FormatText.
UNESCAPED_LINE = re.compile(r'(?:\bPrint(?:Out|Error)\(|\b(?:out|text|lines) \+= )fmt::format\(')
# Headers of the C library and of POSIX end in .h and have no folder of their own below these.
SYSTEM = re.compile(r'^(sys|linux|netinet|arpa)/|^[a-z0-9_]+$|^(unistd|fcntl|signal|poll|spawn|dlfcn|pthread|'
                    r'termios|time|errno|stdio|stdlib|stdint|stddef|string|math|dirent|sched|cpuid|immintrin|ucontext|execinfo|grp|malloc|pwd)\.h$')


def read_rows(root):
    """(rows of rooms, rows of folders inside rooms) as lists of four cells, in the order of cmake/rooms.txt."""
    rooms, folders = [], []
    with open(os.path.join(root, 'cmake/rooms.txt'), encoding='utf-8') as f:
        for line in f:
            if not line.startswith('#') and line.strip():
                row = [' '.join(cell.split()) for cell in line.split('|')]
                (folders if any(row[0].startswith(room[0] + '/') for room in rooms) else rooms).append(row)
    return rooms, folders


def reach_of(direct):
    """{name: what it may include, itself and transitively}."""
    table = {}
    for name in direct:
        reach, work = set(), [name]
        while work:
            n = work.pop()
            if n not in reach:
                reach.add(n)
                work += direct.get(n, [])
        table[name] = reach
    return table


def read_table(root):
    """{room: (rooms it may include, itself and transitively, without those behind a -; outside header prefixes)} in the table's order."""
    rooms, _ = read_rows(root)
    reach = reach_of({row[0]: [other for other in row[2].split() if other[0] != '-'] for row in rooms})
    hidden = {row[0]: {other[1:] for other in row[2].split() if other[0] == '-'} for row in rooms}
    return {row[0]: (reach[row[0]] - hidden[row[0]], row[3].split()) for row in rooms}


def read_folders(root):
    """{folder: (its room, folders of the room it may include)}; `ROOM/.` are the files directly in the room."""
    rooms, folders = read_rows(root)
    table = {}
    for room, *_ in rooms:
        own = {row[0]: [f'{room}/{other}' for other in row[2].split()] for row in folders if row[0].startswith(room + '/')}
        for folder, reach in reach_of(own).items():
            table[folder] = (room, reach)
    return table


def folder_of(name, folders):
    """The row of the folder that a file is in, or None where its room has no folders."""
    here = os.path.dirname(name)
    return here if here in folders else here + '/.' if here + '/.' in folders else None


def check_folders(root, names, folders):
    """Rows that make a circle, folders without a row, and folders too full to find something in."""
    for folder, (room, reach) in folders.items():
        for other in sorted(reach):
            if other not in folders:
                yield f'cmake/rooms.txt:1: {folder} may include {other}, which is no row of the table'
            elif folder < other and folder in folders[other][1]:
                yield f'cmake/rooms.txt:1: {folder} and {other} may include each other, expected one direction'
    rooms = {room for room, _ in folders.values()}
    held = collections.defaultdict(list)
    for name in names:
        if name.endswith(CODE):
            held[os.path.dirname(name)].append(name)
    for here, files in held.items():
        if any(here.startswith(room + '/') or here == room for room in rooms) and not folder_of(files[0], folders):
            yield f'{files[0]}:1: cmake/rooms.txt has no row for its folder'
        if len(files) > MAX_FILES:
            yield f'{here}:1: {len(files)} files in one folder, expected at most {MAX_FILES}'


def list_files(root):
    """Tracked and new files, or every file where there is no git."""
    try:
        out = subprocess.run(['git', '-C', root, 'ls-files', '-co', '--exclude-standard', '-z'], capture_output=True, check=True)
        names = out.stdout.decode().split('\0')
    except (OSError, subprocess.CalledProcessError):
        names = []
        for folder, folders, files in os.walk(root):
            folders[:] = [d for d in folders if d not in ('build', '.git', '.venv', '.cache', '__pycache__')]
            names += [os.path.relpath(os.path.join(folder, f), root) for f in files]
    return sorted(n for n in set(names) if n and os.path.isfile(os.path.join(root, n)))


def room_of(name, table):
    inside = [r for r in table if name.startswith(r + '/')]
    return max(inside, key=len) if inside else None


def target_room(target, table):
    """The room whose library `hloscope_TARGET` is, or None."""
    return next((r for r in table if r.split('/')[-1] == target), None)


def check_include(room, line, table):
    reach, outside = table[room]
    local, angle = LOCAL_INCLUDE.match(line), OUTSIDE_INCLUDE.match(line)
    if not local and not angle:
        return None
    header = (local or angle)[1]
    other = room_of(header, table)
    if other and other not in reach:
        return f'{room} includes {other}, which cmake/rooms.txt does not allow'
    if other or header.startswith(('fmt/', 'generated/', *outside)) or (angle and SYSTEM.match(header)):
        return None
    if '/' not in header and local:
        return f'"{header}" is in no room, expected its path from the root'
    return f'{room} includes {header}, which cmake/rooms.txt does not allow'


def check_folder_include(name, line, folders):
    """An include of another folder of the same room that the table does not allow."""
    local = LOCAL_INCLUDE.match(line)
    folder, other = folder_of(name, folders), local and folder_of(local[1], folders)
    if folder and other and folders[folder][0] == folders[other][0] and other not in folders[folder][1]:
        yield f'{folder} includes {other}, which cmake/rooms.txt does not allow'


def check_line(name, room, line, table, folders):
    """What is wrong with one line of a text file."""
    if name.endswith(CODE) and room:
        wrong = check_include(room, line, table)
        if wrong:
            yield wrong
        yield from check_folder_include(name, line, folders)
        if room != 'tests' and PARSES_JSON.search(line):
            yield 'json::parse takes any nesting, expected ParseJson of core/base/parse_json.h'
    if name.startswith(('app/reports/', 'app/commands/command_', 'app/commands/info_')) and UNESCAPED_LINE.search(line):
        yield 'fmt::format writes line breaks of names into a line, expected FormatText of core/base/format_text.h'
    if os.path.basename(name) == 'CMakeLists.txt' and room and room != 'tests':
        for target in TARGET.findall(line):
            other = target_room(target, table)
            if other and other not in table[room][0]:
                yield f'{room} links hloscope_{target}, which cmake/rooms.txt does not allow'
    if name.endswith(CODE + SCRIPT + ('.md',)):
        word = UNNAMED_WORK.search(line)
        if word:
            yield f'"{word[0]}" does not say where the work is described, expected TO' 'DO(name of the issue or page)'
    path = MACHINE_PATH.search(line)
    if path:
        yield f'"{path[0]}" is a path of one machine, expected a relative path'


def check_registered(root, names):
    """A test that no line of tests/CMakeLists.txt names is never run."""
    with open(os.path.join(root, 'tests/CMakeLists.txt'), encoding='utf-8') as f:
        registered = f.read()
    for name in names:
        if name.startswith('tests/') and name.endswith(('_test.cc', '_test.py')) and name.removeprefix('tests/') not in registered:
            yield f'{name}:1: tests/CMakeLists.txt does not name this test, so nothing runs it'


def defined_types(lines):
    """(line number, name with its namespaces) of the classes and structs that other files see by that name."""
    open_namespaces = []
    for number, line in enumerate(lines, 1):
        space = NAMESPACE.match(line)
        if space:
            open_namespaces.append(space[1])
        elif line.startswith('}  // namespace') and open_namespaces:
            open_namespaces.pop()
        else:
            found = DEFINED_TYPE.match(line)
            if found and all(open_namespaces):
                yield number, '::'.join([*open_namespaces, found[1]])


def check_one_definition(root, names):
    """A type defined in two files: the linker takes one constructor or destructor for both, and memory is damaged."""
    where = {}
    for name in names:
        if not name.endswith(CODE):
            continue
        with open(os.path.join(root, name), encoding='utf-8', errors='replace') as f:
            for number, defined in defined_types(f):
                if where.setdefault(defined, name) != name:
                    yield f'{name}:{number}: {defined} is defined in {where[defined]} too, expected another name or an unnamed namespace'


def check_hidden_names(root, names):
    """Files of a folder are compiled together: a function of one file's own would stand before that of core/base in all."""
    sources = {}
    for name in names:
        if name.endswith(('.h', '.cc')) and not name.startswith('tests/'):
            with open(os.path.join(root, name), encoding='utf-8', errors='replace') as f:
                sources[name] = f.read().split('\n')
    base = {found[1]: name for name, lines in sources.items() if name.startswith('core/base/') and name.endswith('.h')
            for line in lines if (found := FUNCTION.match(line))}
    for name, lines in sources.items():
        is_own = False
        for number, line in enumerate(lines, 1):
            if line == 'namespace {':
                is_own = True
            elif line == '}  // namespace':
                is_own = False
            found = FUNCTION.match(line) if is_own and name.endswith('.cc') else None
            if found and found[1] in base:
                yield f'{name}:{number}: {found[1]} hides that of {base[found[1]]} from the files of this folder, expected another name'


def check_form(name, lines, has_header):
    """What is wrong with a source file as a whole. The purpose of a .cc file with a header of its own is said there."""
    if not name.endswith(CODE + SCRIPT):
        return
    if len(lines) > MAX_LINES:
        yield f'{len(lines)} lines, expected at most {MAX_LINES}'
    first = lines[1:2] if lines and lines[0].startswith('#!') else lines[:1]
    sign = ('//',) if name.endswith(CODE) else ('#', '"""')
    is_said = has_header and ''.join(lines[:1]).startswith('#include "')
    if not is_said and (not first or not first[0].startswith(sign) or len(first[0].strip('#/" ')) < 10):
        yield 'the first line is not a comment that says the purpose of the file'


def check_tables(root):
    """The tables of docs/architecture.md that differ from cmake/rooms.txt."""
    page = 'docs/architecture.md'
    if not os.path.exists(os.path.join(root, page)):
        return
    with open(os.path.join(root, page), encoding='utf-8') as f:
        text = f.read()
    for what, markdown in zip(('room table', 'table of folders'), markdown_tables(root)):
        if markdown not in text:
            yield f'{page}:1: the {what} differs from cmake/rooms.txt, expected the output of tests/layering.py --table'


def anchors_of(text):
    """The anchors that GitHub gives the headings of a page."""
    headings = [line.lstrip('#').strip().lower() for line in text.split('\n') if re.match('#+ ', line)]
    return {re.sub(r'[^\w\- ]', '', heading).replace(' ', '-') for heading in headings}


def check_links(root, names):
    """Relative links of Markdown pages that lead to no file, or to no heading of a page."""
    for name in names:
        if not name.endswith('.md'):
            continue
        with open(os.path.join(root, name), encoding='utf-8') as f:
            text = f.read()
        for number, line in enumerate(text.split('\n'), 1):
            for target in LINK.findall(re.sub('`[^`]*`', '', line)):
                path, _, anchor = target.partition('#')
                page = os.path.normpath(os.path.join(root, os.path.dirname(name), path)) if path else os.path.join(root, name)
                if not os.path.exists(page):
                    yield f'{name}:{number}: the link {target} leads to no file'
                elif anchor and page.endswith('.md'):
                    with open(page, encoding='utf-8') as f:
                        if anchor not in anchors_of(f.read()):
                            yield f'{name}:{number}: the link {target} leads to no heading'


def violations(root):
    table = read_table(root)
    names = list_files(root)
    folders = read_folders(root)
    yield from check_registered(root, names)
    yield from check_folders(root, names, folders)
    yield from check_one_definition(root, names)
    yield from check_hidden_names(root, names)
    yield from check_tables(root)
    yield from check_links(root, names)
    for name in names:
        with open(os.path.join(root, name), 'rb') as f:
            lines = f.read().decode('utf-8', 'replace').split('\n')
        if lines and not lines[-1]:
            lines.pop()
        room = room_of(name, table)
        for wrong in check_form(name, lines, name.endswith('.cc') and name.removesuffix('.cc') + '.h' in names):
            yield f'{name}:1: {wrong}'
        for number, line in enumerate(lines, 1):
            for wrong in check_line(name, room, line, table, folders):
                yield f'{name}:{number}: {wrong}'


def markdown_tables(root):
    """The table of the rooms and that of the folders inside them."""
    rooms, folders = read_rows(root)
    first = ['| room | what it is for | may include, with all that those may include | headers from outside |', '|---|---|---|---|']
    first += [f'| `{room}` | {purpose} | {others or "–"} | {headers or "–"} |' for room, purpose, others, headers in rooms]
    second = ['| folder | what it is for | may include of its room, with all that those may include |', '|---|---|---|']
    second += [f'| `{folder}` | {purpose} | {others or "–"} |' for folder, purpose, others, *_ in folders]
    return '\n'.join(first), '\n'.join(second)


def print_includes(root):
    table = read_table(root)
    count = collections.Counter()
    for name in list_files(root):
        room = room_of(name, table)
        if room and name.endswith(CODE):
            with open(os.path.join(root, name), encoding='utf-8', errors='replace') as f:
                includes = [LOCAL_INCLUDE.match(line) for line in f]
            count.update((room, room_of(i[1], table)) for i in includes if i)
    rooms = [r for r in table if count[r, r] or any(count[r, other] for other in table)]
    print('| of ↓ in → | ' + ' | '.join(rooms) + ' |\n|---' + '|---' * len(rooms) + '|')
    for other in rooms:
        print(f'| {other} | ' + ' | '.join(str(count[room, other] or '') for room in rooms) + ' |')


def functions(lines):
    """(line number, lines) of each function: our format closes a brace at the indent at which its statement began."""
    start, header = None, False
    for number, line in enumerate(lines, 1):
        indent = len(line) - len(line.lstrip(' '))
        if start is None and indent in (0, 2) and line[indent:indent + 1] not in ('', '}', '#', '/', ' ') and not TYPE_OR_NAMESPACE.match(line):
            start, depth = number, indent
        if start is None:
            continue
        header = header or (') ' in line and line.endswith('{'))
        if line.startswith(' ' * depth + '}') and line[depth:depth + 1] == '}':
            if header:
                yield start, number - start + 1
            start, header = None, False
        elif line.endswith(';') and indent == depth or (number > start and not line.strip()) and not header:
            start, header = None, False


def print_sizes(root):
    """Number, median and largest of files and functions, without the tests; how many functions are over 40 lines."""
    files, bodies = {}, {}
    for name in list_files(root):
        if name.endswith(CODE) and not name.startswith('tests/'):
            with open(os.path.join(root, name), encoding='utf-8', errors='replace') as f:
                lines = f.read().split('\n')[:-1]
            files[name] = len(lines)
            if not name.endswith('.def'):
                bodies.update({f'{name}:{start}': size for start, size in functions(lines)})
    for what, sizes, bound in (('files', files, 400), ('functions', bodies, 40)):
        largest = sorted(sizes, key=sizes.get)[-5:][::-1]
        print(f'{len(sizes)} {what}, median {statistics.median(sizes.values()):.0f} lines, {sum(n > bound for n in sizes.values())} over {bound}; largest: '
              + ', '.join(f'{n} ({sizes[n]})' for n in largest))
    print(f'{sum(files.values())} lines without tests')


def count_switches(lines):
    """How many switch statements of a file have an opcode as their first case."""
    count, waiting = 0, False
    for line in lines:
        waiting = waiting or re.search(r'\bswitch \(', line) is not None
        if waiting and re.search(r'\bcase\b', line):
            count += 'Opcode::k' in line
            waiting = False
    return count


def print_counts(root):
    """What the shape of the house is measured by, without the tests."""
    table = read_table(root)
    names = [n for n in list_files(root) if n.endswith(CODE) and room_of(n, table) not in (None, 'tests')]
    lines = {}
    for name in names:
        with open(os.path.join(root, name), encoding='utf-8', errors='replace') as f:
            lines[name] = f.read().split('\n')[:-1]
    folder, files = collections.Counter(os.path.dirname(n) for n in names).most_common(1)[0]
    platforms = [n for n in names if re.search('"?xla-[cg]pu', '\n'.join(lines[n]))]
    switches = {n: count_switches(lines[n]) for n in names if not n.endswith('.def')}
    print(f'{sum(map(len, lines.values()))} lines in {len(names)} files, {sum(n.endswith(".cc") for n in names)} to compile')
    print(f'largest folder: {folder}, {files} files')
    print(f'{len(platforms)} files name xla-cpu or xla-gpu: {" ".join(platforms)}')
    print(f'{sum(switches.values())} switches over opcodes in {sum(n > 0 for n in switches.values())} files')


def selftest(root):
    """One scratch tree per kind of violation; each must give exactly one message with the words expected."""
    with open(os.path.join(root, 'cmake/rooms.txt'), encoding='utf-8') as f:
        rooms = f.read()
    purpose = '// What this file is for.\n'
    cases = [
        ('core/hlo/a.h', purpose + '#include "core/base/result.h"\n', None),
        ('core/eval/a.h', purpose + '#include "core/base/result.h"\n', None),
        ('core/base/a.h', purpose + '#include "core/hlo/module.h"\n', 'core/base includes core/hlo'),
        ('core/dump/a.cc', purpose + '#include "core/eval/a.h"\n', 'core/dump includes core/eval'),
        ('core/hlo/a.cc', purpose + '#include "module.h"\n', 'is in no room'),
        ('core/eval/a.cc', purpose + '#include <vector>\n#include <sys/stat.h>\n#include <fmt/format.h>\n', None),
        ('core/dump/a.cc', purpose + 'auto a = ParseJson(text);\n', None),
        ('core/dump/a.cc', purpose + 'auto a = OrderedJson::parse(text);\n', 'json::parse takes any nesting'),
        ('app/reports/a.cc', purpose + 'void A() { out += fmt::format("{}\\n", name); }\n', 'expected FormatText'),
        ('app/reports/a.cc', purpose + 'void A() { out += FormatText("{}\\n", name); }\n', None),
        ('core/eval/b.cc', purpose + '#include <google/protobuf/message.h>\n', 'core/eval includes google'),
        ('viewer/frame/a.cc', purpose + '#include "core/debug/run/run_module.h"\n', None),
        ('viewer/frame/a.cc', purpose + '#include "core/eval/a.h"\n', 'viewer includes core/eval'),
        ('core/eval/b.cc', purpose + '#include "fmt/format.h"\n#include "llvm/IR/Module.h"\n', 'core/eval includes llvm/IR/Module.h'),
        ('core/hlo/text/a.cc', purpose + '#include "core/hlo/module.h"\n#include "core/hlo/text/b.h"\n', None),
        ('core/hlo/text/a.cc', purpose + '#include "core/hlo/verify/verifier.h"\n', 'core/hlo/text includes core/hlo/verify'),
        ('core/hlo/a.cc', purpose + '#include "core/hlo/text/render.h"\n', 'core/hlo/. includes core/hlo/text'),
        ('core/eval/a.cc', purpose + '#include "core/hlo/text/render.h"\n', None),
        ('core/hlo/more/a.cc', purpose, 'no row for its folder'),
        ('cmake/rooms.txt', rooms + 'core/a||b|\ncore/a/b||c\ncore/a/c||b\n', 'may include each other'),
        ('core/hlo/CMakeLists.txt', '# The hlo room.\nadd(hloscope_hlo LIBS hloscope_base)\n', None),
        ('core/hlo/CMakeLists.txt', '# The hlo room.\nadd(hloscope_hlo LIBS hloscope_eval)\n', 'core/hlo links hloscope_eval'),
        ('core/hlo/a.cc', purpose + '\n' * MAX_LINES, f'{MAX_LINES + 1} lines'),
        ('core/hlo/a.cc', purpose + '\n' * (MAX_LINES - 1), None),
        ('core/hlo/a.cc', '#include <vector>\n', 'the first line'),
        ('core/base/quote.cc', '#include "core/base/quote.h"\n', None),
        ('core/base/quote.cc', '\n#include "core/base/quote.h"\n', 'the first line'),
        ('scripts/a.sh', '#!/bin/sh\n# Says what it is for.\n', None),
        ('scripts/a.sh', '#!/bin/sh\nset -e\n', 'the first line'),
        ('core/hlo/a.cc', purpose + '// TO' + 'DO: later\n', 'does not say where the work is described'),
        ('core/hlo/a.cc', purpose + '// TO' + 'DO(): later\n', 'does not say where the work is described'),
        ('core/hlo/a.cc', purpose + '// FIX' + 'ME(glossary): later\n', 'does not say where the work is described'),
        ('core/hlo/a.cc', purpose + '// TO' + 'DO(issue 42): a stub with a placeholder\n', None),
        ('README.md', 'a XX' + 'X of a page\n', 'does not say where the work is described'),
        ('README.md', 'a stub of a page, not implemented yet\n', None),
        ('README.md', '# A b.c\n[the table](cmake/rooms.txt) ![top](#a-bc) [site](https://example.org) `[no](link)`\n', None),
        ('docs/a.md', '[up](../README.md)\n', 'docs/a.md:1: the link ../README.md leads to no file'),
        ('docs/a.md', '# Title\n\n[down](#titel)\n', 'docs/a.md:3: the link #titel leads to no heading'),
        ('docs/architecture.md', markdown_tables(root)[0] + '\n', 'the table of folders differs'),
        ('docs/architecture.md', '\n'.join(markdown_tables(root)) + '\n', None),
        ('tests/hlo/a_test.cc', purpose, None),
        ('tests/hlo/b_test.cc', purpose, 'tests/CMakeLists.txt does not name'),
        ('core/hlo/a.h', purpose + 'namespace a {\nnamespace {\nstruct B {\n}  // namespace\nstruct B;\n', None),
        ('core/hlo/a.h', purpose + 'namespace a {\nstruct Twice {\n', 'a::Twice is defined in core/eval/twice.h too'),
        ('core/eval/a.cc', purpose + 'namespace a {\nnamespace {\nstd::string Quote(int a) {\n', 'Quote hides that of core/base/quote.h'),
        ('core/eval/a.cc', purpose + 'namespace a {\nstd::string Quote(int a) {\n', None),
        ('samples/a.txt', 'made in /wo' + 'rk/main\n', 'a path of one machine'),
    ]
    failed = 0
    for name, text, expected in cases:
        with tempfile.TemporaryDirectory() as scratch:
            twice = purpose + 'namespace a {\nclass Twice {\n'
            quote = purpose + 'namespace b {\nstd::string Quote(int a);\n'
            for path, content in (('core/eval/twice.h', twice), ('core/base/quote.h', quote), ('cmake/rooms.txt', rooms), ('tests/CMakeLists.txt', '# The tests: hlo/a_test.cc\n'), (name, text)):
                os.makedirs(os.path.join(scratch, os.path.dirname(path)), exist_ok=True)
                with open(os.path.join(scratch, path), 'w', encoding='utf-8') as f:
                    f.write(content)
            found = list(violations(scratch))
        good = not found if expected is None else len(found) == 1 and expected in found[0] and found[0].startswith(name)
        if not good:
            failed += 1
            print(f'{name}: expected {expected or "nothing"}, found {found}')
    print(f'{len(cases) - failed} of {len(cases)} cases as expected')
    return 1 if failed else 0


def main(arguments):
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    if arguments == ['--table']:
        return print('\n\n'.join(markdown_tables(root)))
    if arguments == ['--includes']:
        return print_includes(root)
    if arguments == ['--sizes']:
        return print_sizes(root)
    if arguments == ['--counts']:
        return print_counts(root)
    if arguments == ['--selftest']:
        return selftest(root)
    found = list(violations(arguments[0] if arguments else root))
    for line in found:
        print(line)
    print(f'{len(found)} violations' if found else 'every file keeps to the room table and the rules of form')
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
