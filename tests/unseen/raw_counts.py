"""Counts of a dump from its texts alone, with regular expressions: what `hloscope info --json` and the window are held to.

Nothing here comes from hloscope: what runs where follows from opcodes and names in the HLO text that XLA compiled, of GPUs from XLA's own list
of thunks; bytes from its buffer assignment and live ranges."""
import collections
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'dump'))
from raw_facts import text_of  # noqa: E402

# They name, wrap or order values: no code, no operation.
NAMING = {'parameter', 'constant', 'tuple', 'get-tuple-element', 'bitcast', 'after-all', 'opt-barrier', 'optimization-barrier', 'add-dependency', 'domain',
          'get-dimension-size', 'partition-id', 'replica-id'}
RUNS_BODY = {'while', 'call', 'conditional', 'async-start', 'async-done', 'async-update'}
COLLECTIVES = {'all-reduce', 'all-gather', 'all-to-all', 'collective-permute', 'reduce-scatter', 'collective-broadcast', 'ragged-all-to-all'}
LIBRARIES = {'dot', 'convolution', 'fft', 'triangular-solve', 'cholesky', 'ragged-dot', 'sort'}  # XLA's own sort, too
HOST = {'infeed', 'outfeed', 'send', 'recv', 'send-done', 'recv-done'}
CALLS = re.compile(r'\b(?:calls|to_apply|body|condition|true_computation|false_computation|called_computations|branch_computations)=(\{[^}]*\}|%?[\w.\-]+)')
NAME = re.compile(r'%?([\w.\-]+)')
Instruction = collections.namedtuple('Instruction', 'name opcode rest called op_name')


def skip_shape(text):
    """What is after a shape: a tuple in brackets, or a word up to a blank."""
    if not text.startswith('('):
        return text[text.index(' ') + 1:]
    depth = 0
    for at, c in enumerate(text):
        depth += (c == '(') - (c == ')')
        if depth == 0:
            return text[at + 2:]
    return ''


def parse(text):
    """{computation: [Instruction]} and the name of the entry."""
    computations, entry, current = {}, None, None
    for line in text.split('\n'):
        if line.endswith('{') and not line.startswith((' ', 'HloModule')) and ('->' in line or line.startswith('ENTRY')):
            head = re.match(r'(ENTRY )?%?([\w.\-<>]+)', line)
            current = computations.setdefault(head[2], [])
            entry = head[2] if head[1] else entry
        elif line.startswith('}'):
            current = None
        elif current is not None and (found := re.match(r'\s+(?:ROOT )?%?([\w.\-]+) = (.*)', line)):
            rest = skip_shape(re.sub(r'/\*.*?\*/', '', found[2]))
            opcode = re.match(r'([a-z][\w\-]*)\(', rest)
            if opcode is None:
                continue
            attributes = re.sub(r'"(?:[^"\\]|\\.)*"', '""', rest)
            called = [name for group in CALLS.findall(attributes) for name in NAME.findall(group)]
            op_name = re.search(r'op_name="([^"]*)"', rest)
            current.append(Instruction(found[1], opcode[1], rest, called, op_name[1] if op_name else ''))
    return computations, entry


def running(computations, entry):
    """Instructions of what runs by itself: the entry, and bodies that it runs."""
    pending, seen = [entry], {entry}
    while pending:
        for each in computations[pending.pop()]:
            yield each
            if each.opcode in RUNS_BODY and not is_small_call(each):
                for name in each.called:
                    if name in computations and name not in seen:
                        seen.add(name)
                        pending.append(name)


def is_operation(each):
    return each.opcode not in NAMING and not (each.opcode in RUNS_BODY and each.called)


def target_of(each):
    found = re.search(r'custom_call_target="([^"]*)"', each.rest)
    return found[1] if found else ''


def is_small_call(each):
    """XLA:CPU compiles the computation as one kernel."""
    return each.opcode == 'call' and 'xla_cpu_small_call="true"' in each.rest


def lane_of(each, compiled=frozenset()):
    """Of an instruction that XLA:CPU compiled; `compiled`: the names that object files bear."""
    if is_small_call(each) or (each.opcode == 'dot' and f'{each.name}_elemental_kernel_module' in compiled):
        return 'kernels'
    if each.opcode in ('partition-id', 'replica-id'):
        return 'copies'  # a thunk that writes the number
    if each.opcode in NAMING or each.opcode in RUNS_BODY:
        return None
    base = re.sub(r'-(start|done)$', '', each.opcode)
    if base in COLLECTIVES:
        return 'collectives' if not each.opcode.endswith('-done') else None
    if each.opcode in HOST or (each.opcode == 'custom-call' and 'callback' in target_of(each)):
        return 'host'
    if base == 'copy':
        return 'copies' if not each.opcode.endswith('-done') else None
    if each.opcode in LIBRARIES or each.opcode == 'custom-call':
        return 'libraries'
    if each.opcode == 'fusion' and ('__ynn_fusion' in each.rest or '__onednn_fusion' in each.rest):
        return 'libraries'
    return 'kernels'


THUNK = re.compile(r'^\s*(?:\d+:)?\s*k(\w+)\b')
THUNK_LANES = (('collectives', r'AllReduce|AllGather|AllToAll|ReduceScatter|CollectivePermute|CollectiveBroadcast|NvshmemAllReduce|RaggedAllToAll|CollectiveKernel'),
               ('libraries', r'Gemm|CublasLt|Convolution|CustomCall|Fft|TriangularSolve|Cholesky|Norm|CuDnn|SelectK|Sort'),
               ('host', r'HostExecute|Infeed|Outfeed|Send|Recv|HostSend|HostRecv'), ('copies', r'Copy|DynamicSliceCopy|D2DCopy|Memset|Memzero'),
               ('kernels', r'Kernel|CustomKernel|TritonKernel'))


def thunks_of(text):
    """Of XLA:GPU's list of thunks: how many of each lane."""
    counts = collections.Counter()
    for line in text.split('\n'):
        found = THUNK.match(line)
        for lane, kinds in THUNK_LANES:
            if found and re.fullmatch(rf'(?:{kinds})(?:Thunk|Cmd|Start)?', found[1]):
                counts[lane] += 1
                break
    return counts


def moves_to_host_memory(text):
    """Copies between the memories of device and host, S(5)."""
    in_host, moves = {}, 0
    for line in text.split('\n'):
        name, made, rest = line.strip().removeprefix('ROOT ').partition(' = ')
        if not made:
            continue
        shape = rest.split(' copy-start(')[0].split(' copy(')[0]
        in_host[name.lstrip('%')] = 'S(5)' in skip_before(rest)
        if ' copy-start(' in rest:
            moves += shape.count('S(5)') == 1
        elif ' copy(' in rest:
            operand = NAME.match(rest.split(' copy(')[1])
            moves += ('S(5)' in shape) != in_host.get(operand[1], False)
    return moves


def skip_before(text):
    """The shape that stands first."""
    return text[:len(text) - len(skip_shape(text))] if ' ' in text else text


def union(spans):
    total, end = 0, -1
    for low, high in sorted(spans):
        total += max(0, high - max(low, end))
        end = max(end, high)
    return total


def live_peak(assignment, ranges):
    """The most bytes that are live at one point: values at the same place count once."""
    places, allocation = {}, None
    for line in assignment.split('\n'):
        if found := re.match(r'allocation (\d+):', line):
            allocation = int(found[1])
        elif found := re.match(r' value: <\d+ (\S+)(?: \(phi\))? @\d+> \(size=(\d+),offset=(\d+)\)', line):
            places.setdefault(found[1].removesuffix('{}'), []).append((allocation, int(found[3]), int(found[3]) + int(found[2])))
    events = []
    for name, low, high in re.findall(r'^    (\S+?)(?:\{\})?:(\d+)-(\d+)$', ranges, re.M):
        for place in set(places.get(name, ())):
            events.append((int(low), int(high), place))
    peak = 0
    for point in sorted({low for low, _, _ in events}):
        live = collections.defaultdict(list)
        for low, high, (where, begin, end) in events:
            if low <= point <= high:
                live[where].append((begin, end))
        peak = max(peak, sum(map(union, live.values())))
    return peak


def counts_of(folder):
    """For each module id of a folder of one compilation each: the counts, as `info --json` names them."""
    counts = {}
    names = sorted(os.listdir(folder))
    for name in names:
        found = re.match(r'module_(\d{4,})\.(.*)\.before_optimizations\.txt$', name)
        if not found:
            continue
        stem = f'module_{found[1]}.{found[2]}'
        finals = [n for n in names if n.startswith(stem + '.') and re.search(r'(?:cpu|gpu)_after_optimizations\.txt$', n)]
        if not finals:
            continue
        first, entry = parse(text_of(os.path.join(folder, name)))
        last, last_entry = parse(text_of(os.path.join(folder, finals[0])))
        fact = counts[int(found[1])] = collections.Counter({key: 0 for key in ('kernels', 'libraries', 'copies', 'collectives', 'host', 'host_memory')})
        fact['name'] = found[2]
        fact['instructions'] = sum(map(len, last.values()))
        fact['operations'] = sum(map(is_operation, running(first, entry)))
        thunks = os.path.join(folder, stem + '.thunk_sequence.txt')
        fact['by_thunks'] = os.path.exists(thunks)
        compiled = {n[len(stem) + 10:-2] for n in names if n.startswith(stem + '.obj-file.')}
        ran = list(running(last, last_entry))
        for each in ran:
            if not fact['by_thunks'] and lane_of(each, compiled):
                fact[lane_of(each, compiled)] += 1
        if fact['by_thunks']:
            fact.update(thunks_of(text_of(thunks)))
            # A kernel of XLA's own behind a custom call.
            own = sum(target_of(each).startswith('__gpu$TopK') for each in ran)
            fact['libraries'] -= own
            fact['kernels'] += own
        fact['host_memory'] = moves_to_host_memory(text_of(os.path.join(folder, finals[0])))
        fact['copies'] -= fact['host_memory']
        fact['most_in_a_fusion'] = max([sum(map(is_operation, last[each.called[0]])) for each in ran if each.opcode == 'fusion'], default=0)
        stem = os.path.join(folder, finals[0][:-len('.txt')])
        assignment = text_of(stem + '-buffer-assignment.txt')
        fact['bytes'] = sum(map(int, re.findall(r'^allocation \d+: size (\d+)', assignment, re.M)))
        fact['live_peak'] = live_peak(assignment, text_of(stem + '-live-range.txt')) if os.path.exists(stem + '-live-range.txt') else None
        scopes = collections.Counter(scope_of(each) for each in running(first, entry) if is_operation(each))
        fact['scopes'] = scopes.most_common(3)
    return counts


def scope_of(each):
    """The outermost named part of where an operation was written, without the functions around it."""
    parts = [part for part in each.op_name.split('/') if not re.match(r'(?:p?jit|main)\b', part)]
    return re.sub(r'^(?:\w+\()*|\)*$', '', parts[0]) if len(parts) > 1 else ''
