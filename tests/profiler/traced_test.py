#!/usr/bin/env python3
"""Times of instructions in traces of five programs of JAX for the CPU (traced_programs.py), held to what XProf says and to sums that are made here
of the bytes of the XSpace: counts and totals by instruction are equal to the picosecond, and at least 99 % of the time of XLA's thunks belongs to
instructions.

  traced_test.py HLOSCOPE [PYTHON [READERS]]

PYTHON has JAX (scripts/setup samples; default .venv/bin/python), READERS has xprof (scripts/setup traces; default .venv-traces/bin/python). XProf's
tables of operations (hlo_stats, framework_op_stats, op_profile) hold nothing of a CPU: what it says is in its trace viewer, by name of module and
instruction. It leaves the number of the program out, so modules of one name are told apart by the sums made here alone. 77 where JAX is missing."""
import collections
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = ('mlp', 'transformer', 'convolution', 'sort_and_scatter', 'interleaved')
EXECUTOR = 'ThunkExecutor::Execute'
Event = collections.namedtuple('Event', 'start end key')  # picoseconds; key: program, module, instruction, or EXECUTOR

XPROF = r'''
import collections, json, sys
from xprof.convert import raw_to_tool_data as convert
tools = {}
for tool in ('trace_viewer', 'hlo_stats', 'framework_op_stats', 'op_profile'):
    data, _ = convert.xspace_to_tool_data([sys.argv[1]], tool, {})
    tools[tool] = json.loads(data)
times = collections.defaultdict(list)
for event in tools['trace_viewer']['traceEvents']:
    arguments = event.get('args') or {}
    if event.get('ph') == 'X' and 'hlo_op' in arguments:
        times[arguments.get('hlo_module', ''), arguments['hlo_op']].append(round(event.get('dur', 0) * 1e6))
host = [row['c'][1]['v'] for row in tools['framework_op_stats'][0]['rows']]
rows = len(tools['hlo_stats']['rows']) + sum(kind != 'Host' for kind in host) + len(tools['op_profile']['byProgram']['children'])
print(json.dumps({'times': [[*key, len(durations), sum(durations)] for key, durations in times.items()], 'rows': rows}))
'''


def fields(data):
    """(number, value) of a message: integers, and bytes."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        tag = varint()
        if tag & 7 == 0:
            yield tag >> 3, varint()
            continue
        size = {1: 8, 5: 4}.get(tag & 7)
        size = varint() if size is None else size
        yield tag >> 3, data[at:at + size]
        at += size


def table(entries):
    """Names by number, of a map of metadata, and stats of those that have some."""
    names, stats = {}, {}
    for entry in entries:
        value = dict(fields(entry)).get(2, b'')
        parts = list(fields(value))
        number = dict(parts).get(1, 0)
        names[number] = dict(parts).get(2, b'').decode()
        stats[number] = [stat for field, stat in parts if field == 5]
    return names, stats


def stats_of(stats, names):
    found = {}
    for stat in stats:
        parts = dict(fields(stat))
        name = names.get(parts.get(1))
        for field in (3, 4, 5, 7):  # unsigned, signed, text, the name of another stat
            if field in parts:
                found[name] = {5: lambda v: v.decode(), 7: names.get}.get(field, int)(parts[field])
    return found


def lines_of(space):
    """The events of XLA in each line of an XSpace."""
    for number, plane in fields(space):
        if number != 1:
            continue
        parts = list(fields(plane))
        names, stats = table([value for field, value in parts if field == 4])
        stat_names, _ = table([value for field, value in parts if field == 5])
        for line in (value for field, value in parts if field == 3):
            line_parts = list(fields(line))
            begin = 1000 * dict(line_parts).get(3, 0)
            events = []
            for event in (value for field, value in line_parts if field == 4):
                event_parts = list(fields(event))
                plain = dict(event_parts)
                own = stats_of(stats[plain[1]] + [value for field, value in event_parts if field == 4], stat_names)
                start = begin + plain.get(2, 0)
                if 'hlo_op' in own:
                    events.append(Event(start, start + plain.get(3, 0), (own.get('program_id', -1), own.get('hlo_module', ''), own['hlo_op'])))
                elif names[plain[1]] == EXECUTOR:
                    events.append(Event(start, start + plain.get(3, 0), EXECUTOR))
            yield events


def sums_of(space):
    """By instruction [executions, total, self], and what executors took outside of instructions. Each stretch of time between two begins or ends
    belongs to the instruction that began last, of those that are not over."""
    sums, outside = collections.defaultdict(lambda: [0, 0, 0]), 0
    for events in lines_of(space):
        for event in events:
            if event.key != EXECUTOR:
                sums[event.key][0] += 1
                sums[event.key][1] += event.end - event.start
        events.sort(key=lambda event: (event.start, -event.end))
        times = sorted({time for event in events for time in (event.start, event.end)})
        running, following = [], 0
        for time, next_time in zip(times, times[1:]):
            while following < len(events) and events[following].start <= time:
                running.append(events[following])
                following += 1
            running = [event for event in running if event.end > time]
            inner = [event for event in running if event.key != EXECUTOR]
            if inner:
                sums[inner[-1].key][2] += next_time - time
            elif running:
                outside += next_time - time
    return sums, outside


def picoseconds(nanoseconds):
    return round(1000 * nanoseconds)


def length(size):
    data = bytearray()
    while size > 127:
        data.append(size & 127 | 128)
        size >>= 7
    return bytes(data) + bytes([size])


def without_modules(space):
    """The XSpace without the plane that carries the modules."""
    planes = [value for number, value in fields(space) if number == 1]
    return b''.join(b'\x0a' + length(len(plane)) + plane for plane in planes if dict(fields(plane)).get(2) != b'/host:metadata')


def profiled(hloscope, trace, folder):
    """What `profile` says of the trace, with the dump beside."""
    out = subprocess.run([hloscope, 'profile', trace, '--module', f'{folder}/dump', '--json'], check=True, capture_output=True).stdout
    said = json.loads(out)
    return said, {(i['program'], i['module'], i['instruction']): [i['count'], picoseconds(i['total_ns']), picoseconds(i['self_ns'])]
                  for i in said['instructions']}


def check(name, hloscope, python, readers, folder):
    subprocess.run([python, os.path.join(HERE, 'traced_programs.py'), name, folder], check=True, capture_output=True)
    trace, = glob.glob(f'{folder}/trace/plugins/profile/*/*.xplane.pb')
    said, ours = profiled(hloscope, trace, folder)
    with open(trace, 'rb') as file:
        space = file.read()
    sums, outside = sums_of(space)
    work = sum(own for _, _, own in sums.values())
    attributed = sum(own for _, _, own in ours.values())
    assert sums and attributed >= 0.99 * work, (name, attributed, work)
    assert picoseconds(said['work_ns']) == work and picoseconds(said['between_ns']) == outside, (name, said['between_ns'], outside)
    known = {key: value for key, value in sums.items() if key in ours}
    assert known == ours, (name, [(key, ours[key], known.get(key)) for key in ours if ours[key] != known.get(key)])
    line = f'{name}: {sum(s[0] for s in sums.values())} executions of {len(sums)} instructions in {len({key[:2] for key in sums})} modules, ' \
           f'{work / 1e9:.2f} ms; {100 * attributed / work:.2f} % attributed; executors took {outside / 1e6:.0f} us outside of instructions'
    # The dump alone says which instructions there are, by the numbers in its names; a trace in JSON has none, so modules of one name are told
    # apart only where no other has the instruction.
    with open(f'{folder}/bare.xplane.pb', 'wb') as file:
        file.write(without_modules(space))
    assert profiled(hloscope, file.name, folder)[1] == ours, name
    packed, = glob.glob(f'{folder}/trace/plugins/profile/*/*.trace.json.gz')
    chrome, by_json = profiled(hloscope, shutil.copy(packed, f'{folder}/bare.trace.json.gz'), folder)
    if len({key[1] for key in ours}) == len({key[:2] for key in ours}):
        assert chrome['share'] >= 0.99 and {key[1:]: value for key, value in by_json.items()} == {key[1:]: value for key, value in ours.items()}, name
    if readers is None:
        return line + '; XProf skipped'
    out = subprocess.run([readers, '-c', XPROF, trace], capture_output=True, text=True)
    assert out.returncode == 0, out.stderr
    xprof = json.loads(out.stdout.splitlines()[-1])
    assert xprof['rows'] == 0, 'XProf has tables of operations of a CPU now: compare them too'
    by_name = collections.defaultdict(lambda: [0, 0])
    for (_, module, instruction), (count, total, _) in ours.items():
        by_name[module, instruction][0] += count
        by_name[module, instruction][1] += total
    theirs = {(module, instruction): [count, total] for module, instruction, count, total in xprof['times']}
    assert theirs == by_name, (name, [(key, value, theirs.get(key)) for key, value in by_name.items() if value != theirs.get(key)])
    return line + f'; XProf says the same of {len(theirs)} names'


def main(hloscope, python=os.path.join(HERE, '..', '..', '.venv', 'bin', 'python'),
         readers=os.path.join(HERE, '..', '..', '.venv-traces', 'bin', 'python')):
    if not os.path.exists(python) or subprocess.run([python, '-c', 'import jax'], capture_output=True).returncode != 0:
        print('skipped: no environment with JAX; scripts/setup samples makes it')
        return 77
    readers = os.path.abspath(readers) if os.path.exists(readers) else None
    for name in PROGRAMS:
        with tempfile.TemporaryDirectory() as folder:
            print(check(name, os.path.abspath(hloscope), os.path.abspath(python), readers, folder), flush=True)
    return 0


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
