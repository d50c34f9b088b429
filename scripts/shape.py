#!/usr/bin/env python3
"""Prints what the shape of the source is measured by, one `name: figure` a line: `scripts/shape.py [FOLDER]`, by default this checkout.

Lines are those of .h, .cc, .def and .proto files, without tests. Everything is counted from the text with the same patterns
for every commit, so that two checkouts can be compared; a pattern may miss a form that nobody has used yet."""
import collections
import os
import re
import subprocess
import sys

CODE = ('.h', '.cc', '.def', '.proto')
ROOMS = ('core', 'profiler', 'viewer', 'app')
# What one addition of each kind names: the files that hold the name of a finished one had to be touched for it.
ADDITIONS = {
    'elementwise opcode (tan)': r'\bkTan\b|OPCODE\(kTan|\btan\b.*\bOp',
    'platform (gpu-sim)': r'"gpu-sim"|PLATFORM\(gpu_sim',
    'element type (f8e4m3)': r'\bkF8E4M3\b|\bF8E4M3\b',
    'pass (manual-region-decomposition)': r'manual-region-decomposition|ManualRegionDecomposition|DecomposeManualRegions',
    'custom call (TopK)': r'"TopK"',
    'dump file role (memory report)': r'memory-usage-report|kMemoryReport',
    'command (limits)': r'LimitsCommand|MakeLimits|COMMAND\(limits|"limits"',
    'option of run (edge-values)': r'\bedge_values\b|edge-values',
    'view (memory)': r'\bMemoryView\b|VIEW\(memory|kMemoryView',
    'importer (Nsight)': r'\bNsightReader\b|nsight_reader|ReadNsight',
}
# Enumerators of hlo::Opcode, the rows of its table.
OPCODES = set()
STRUCT = re.compile(r'^\s*(?:struct|class) (?:\[\[\w+\]\] )?(\w+)(?: final)?(?: : [^{;]*)?\s*\{')
MEMBER = re.compile(r'^\s+(?!using|return|static|friend|typedef|template|explicit|virtual|//|constexpr|enum|struct|class|public|private|protected|case|if|for)'
                    r'[\w:<>,&*\s\[\]()]+[\s&*>](\w+(?:\s*(?:=[^,;]*|\{[^,;]*\}))?(?:, \w+(?:\s*(?:=[^,;]*|\{[^,;]*\}))?)*);(?:\s*//.*)?$')


def read_files(root):
    """{name: lines} of the tracked source files."""
    listed = subprocess.run(['git', '-C', root, 'ls-files', '-z'], capture_output=True, check=True).stdout.decode().split('\0')
    files = {}
    for name in listed:
        if name.endswith(CODE) and name.startswith(ROOMS):
            with open(os.path.join(root, name), encoding='utf-8', errors='replace') as f:
                files[name] = f.read().split('\n')[:-1]
    return files


def body_of(lines, start):
    """The lines of a braced body whose head is line `start`."""
    depth, body = 0, []
    for line in lines[start:]:
        code = line.split('//')[0]
        depth += code.count('{') - code.count('}')
        body.append(line)
        if depth <= 0:
            return body
    return body


def members_of(body):
    """The data members of a struct or class, those of nested ones and of function bodies left out."""
    names, depth, statement = [], 0, ''
    for line in body:
        code = line.split('//')[0].rstrip()
        before = depth
        depth += code.count('{') - code.count('}')
        if before != 1 or depth != 1:
            statement = ''
            continue
        statement = f'{statement} {code.strip()}' if statement else code
        if not code.endswith((';', ':', '{', '}')):
            continue
        found = MEMBER.match(' ' + statement) if '(' not in statement.split('=')[0] or 'function<' in statement else None
        if found:
            names += [n.split('=')[0].split('{')[0].strip() for n in re.split(r',\s*(?=\w+)', found[1])]
        statement = ''
    return names


def count_switches(lines):
    """Switch statements whose first case is an opcode, by its full name or, behind `using enum`, by its own."""
    count, waiting, short = 0, False, False
    everywhere = any(re.match(r'using enum (?:hlo::)?Opcode;', line) for line in lines)
    for line in lines:
        # Said within a function, it is in force to the end of that.
        short = everywhere or (short or re.search(r'\busing enum (?:hlo::)?Opcode;', line) is not None) and not line.startswith('}')
        waiting = waiting or re.search(r'\bswitch \(', line) is not None
        if waiting and re.search(r'\bcase\b', line):
            name = re.search(r'\bcase (?:(?:hlo::)?(Opcode)::)?(k\w+)', line)
            count += name is not None and (name[1] is not None or short and name[2] in OPCODES)
            waiting = False
    return count


def main(root):
    files = read_files(root)
    OPCODES.update(re.findall(r'^\s*OPCODE\((k\w+)', '\n'.join(files.get('core/hlo/opcodes.def', [])), re.M))
    rooms = collections.Counter()
    for name, lines in files.items():
        parts = name.split('/')
        rooms[parts[0] + ('/' + parts[1] if parts[0] == 'core' and len(parts) > 2 else '')] += len(lines)
    for room, count in sorted(rooms.items()):
        print(f'lines in {room}: {count}')
    for room in ROOMS:
        print(f'lines in {room} together: {sum(n for r, n in rooms.items() if r.split("/")[0] == room)}')
    print(f'lines in all rooms: {sum(rooms.values())}')
    print(f'files over 400 lines: {sum(len(lines) > 400 for lines in files.values())}')
    print(f'.def files: {sum(name.endswith(".def") for name in files)}, in core {sum(name.endswith(".def") and name.startswith("core") for name in files)}')
    code = {name: lines for name, lines in files.items() if not name.endswith(('.def', '.proto'))}
    print(f'switches over opcodes: {sum(count_switches(lines) for lines in code.values())}')
    text = {name: '\n'.join(lines) for name, lines in code.items()}
    leaves = [n for n, t in text.items() for _ in re.finditer(r'\b(?:size_t|int64_t) (?:\w+::)?(?:LeafCount|LeavesOf)\([^;{]*\) (?:const )?\{', t)]
    print(f'definitions of leaf counting: {len(leaves)}')
    structs = {}
    for name, lines in code.items():
        for number, line in enumerate(lines):
            found = STRUCT.match(line)
            if found:
                kind = 'class' if re.match(r'\s*class', line) else 'struct'
                structs[f'{name}:{found[1]}'] = (kind, members_of(body_of(lines, number)))
    both = [n for n, (_, members) in structs.items() if 'threads' in members and any(re.match('deadline|stop|memory', m) for m in members)]
    print(f'option structs with threads and a deadline, stop or memory: {len(both)} {" ".join(sorted(n.split(":")[1] for n in both))}')
    for kind in ('struct', 'class'):
        largest = max((n for n in structs if structs[n][0] == kind), key=lambda n: len(structs[n][1]))
        print(f'members of the largest {kind}: {len(structs[largest][1])} {largest}')
    pairs = [n for n, t in text.items() for _ in re.finditer(r'^void (?:Put|Write)\w*\((?:Value|Byte)\w*Writer& \w+,', t, re.M)]
    print(f'structs serialised by hand (a writer and a reader function each): {len(pairs)}')
    copies = sum(len(re.findall(r'\b(?:debug::)?Run(?:Request|Spec) \w+ = (?!\{)[\w.()>-]+;|\bRun(?:Request|Spec) \w+\((?!std::move)[\w.>()-]*(?:request|spec)\w*(?:\(\))?\);', t)) for t in text.values())
    print(f'copies of a run request that are then changed: {copies}')
    for what, pattern in ADDITIONS.items():
        named = [n for n, lines in files.items() if re.search(pattern, '\n'.join(lines))]
        print(f'files that name one {what}: {len(named)}')


if __name__ == '__main__':
    main(sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
