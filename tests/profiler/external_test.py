#!/usr/bin/env python3
"""Other programs open the traces that hloscope writes, and count what it counts: XProf the XSpace, Perfetto's own messages and its trace processor
the .pftrace.

  external_test.py HLOSCOPE SAMPLES [PYTHON]

PYTHON is one of an environment with `perfetto` and `xprof` (scripts/setup traces; default .venv-traces/bin/python). The trace processor is no part
of the package `perfetto`: where `trace_processor_shell` is in PATH, SQL is asked too. What is not there is skipped by name; 77 where nothing is."""
import csv
import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))

PERFETTO = r'''
import collections, json, sys
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as perfetto
trace = perfetto.Trace()
trace.ParseFromString(open(sys.argv[1], 'rb').read())
names, open_on, count, total = {}, collections.defaultdict(list), collections.Counter(), 0
for packet in trace.packet:
    names.update((name.iid, name.name) for name in packet.interned_data.event_names)
    event = packet.track_event
    if event.type == event.TYPE_SLICE_BEGIN:
        open_on[event.track_uuid].append((packet.timestamp, names[event.name_iid]))
    elif event.type == event.TYPE_SLICE_END:
        begin, name = open_on[event.track_uuid].pop()
        count[name] += 1
        total += packet.timestamp - begin
    elif event.type == event.TYPE_INSTANT:
        count[names[event.name_iid]] += 1
print(json.dumps({'open': sum(map(len, open_on.values())), 'total': total, 'count': count}))
'''

XPROF = r'''
import json, sys
from xprof.convert import raw_to_tool_data as convert
result = {}
for tool in ('trace_viewer', 'hlo_stats', 'framework_op_stats', 'op_profile', 'overview_page'):
    data, _ = convert.xspace_to_tool_data([sys.argv[1]], tool, {})
    result[tool] = json.loads(data)
print(json.dumps(result))
'''


def convert(hloscope, source, target):
    subprocess.run([hloscope, 'profile', source, '-o', target], check=True, capture_output=True)
    return target


def ask(python, program, path):
    """What the program prints last, or None where what it imports is not there."""
    p = subprocess.run([python, '-c', program, path], capture_output=True, text=True)
    if 'ModuleNotFoundError' in p.stderr:
        return None
    assert p.returncode == 0, p.stderr
    return json.loads(p.stdout.splitlines()[-1])


def expected(hloscope, source, folder):
    """Of each name how many events there are, and the nanoseconds of all."""
    count, total = {}, 0
    with open(convert(hloscope, source, folder + '/t.csv'), newline='') as file:
        for row in csv.DictReader(file):
            if row['kind'] == 'event':
                count[row['name']] = count.get(row['name'], 0) + 1
                total += float(row['duration_ns'])
    return count, total


def check_perfetto(python, source, folder, hloscope):
    path = convert(hloscope, source, folder + '/t.pftrace')
    count, total = expected(hloscope, source, folder)
    found = ask(python, PERFETTO, path)
    if found is None:
        return 'skipped: perfetto is not installed'
    assert found['open'] == 0 and found['count'] == count, (found, count)
    # Times are rounded down to nanoseconds, at both ends.
    assert abs(found['total'] - total) <= sum(count.values()), (found['total'], total)
    shell = shutil.which('trace_processor_shell')
    if shell is None:
        return f'{sum(count.values())} events by its messages; SQL skipped: no trace_processor_shell in PATH'
    with open(folder + '/q.sql', 'w') as file:
        file.write('select count(*), sum(dur) from slice;')
    out = subprocess.run([shell, '-q', folder + '/q.sql', path], check=True, capture_output=True, text=True).stdout
    events, nanoseconds = out.splitlines()[-1].split(',')
    assert int(events) == sum(count.values()) and int(nanoseconds) == found['total'], out
    return f'{events} events by its messages and by SQL'


def check_xprof(python, source, folder, hloscope):
    """XProf says the same of what it wrote itself and of what we made of it."""
    ours = ask(python, XPROF, convert(hloscope, source, folder + '/ours.xplane.pb'))
    if ours is None:
        return 'skipped: xprof is not installed'
    original = folder + '/original.xplane.pb'
    with open(original, 'wb') as file:
        file.write(subprocess.run(['gzip', '-dc', source], check=True, capture_output=True).stdout)
    theirs = ask(python, XPROF, original)

    def events(result):
        return sorted((e['name'], round(e['ts'], 3), round(e.get('dur', 0), 3)) for e in result['trace_viewer']['traceEvents'] if e.get('ph') == 'X')
    assert events(ours) == events(theirs)
    for tool in ('hlo_stats', 'framework_op_stats', 'op_profile'):
        assert ours[tool] == theirs[tool], tool
    return f'{len(events(ours))} events in its trace viewer, the same tables of operations'


def main(hloscope, samples, python=os.path.join(HERE, '..', '..', '.venv-traces', 'bin', 'python')):
    if not os.path.exists(python):
        print('skipped: no environment with perfetto and xprof; scripts/setup traces makes it')
        return 77
    source = os.path.join(samples, 'conv_net', 'conv_net.xplane.pb.gz')
    with tempfile.TemporaryDirectory() as folder:
        answers = {check.__name__: check(python, source, folder, os.path.abspath(hloscope)) for check in (check_perfetto, check_xprof)}
    for name, answer in answers.items():
        print(f'{name}: {answer}')
    return 77 if all(answer.startswith('skipped') for answer in answers.values()) else 0


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
