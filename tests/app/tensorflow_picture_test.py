#!/usr/bin/env python3
"""`hloscope show` of TensorFlow graphs: its nodes as text and JSON, and the picture of its clusters.

  tensorflow_picture_test.py HLOSCOPE TESTS/DUMP"""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import unittest
import xml.etree.ElementTree as ET

from command_tests import FolderTest

HLOSCOPE, DATA = os.path.abspath(sys.argv[1]), sys.argv[2]
GRAPHS = sorted(glob.glob(os.path.join(DATA, 'tensorflow', '*', '*.pbtxt')))
SVG = '{http://www.w3.org/2000/svg}'


def show(*arguments):
    done = subprocess.run([HLOSCOPE, 'show', *arguments], capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


def message(name, *fields):
    """A message as TensorFlow prints it, a field or brace a line."""
    return name + ' {\n' + ''.join(field if field.endswith('\n') else field + '\n' for field in fields) + '}\n'


def node(name, op, device='', inputs=(), cluster='', shape=None):
    fields = [f'name: "{name}"', f'op: "{op}"', *(f'input: "{one}"' for one in inputs)]
    if device:
        fields.append(f'device: "{device}"')
    fields.append(message('attr', 'key: "T"', message('value', 'type: DT_FLOAT')))
    if cluster:
        fields.append(message('attr', 'key: "_XlaCluster"', message('value', f's: "{cluster}"')))
    if shape is not None:
        dims = message('shape', *(message('dim', f'size: {size}') for size in shape))
        fields.append(message('attr', 'key: "_output_shapes"', message('value', message('list', dims))))
    return message('node', *fields)


def drawn(svg):
    """(titles of frames, titles of boxes, orange boxes, other texts) of a picture."""
    frames, boxes, orange, texts = [], [], [], []
    root = ET.fromstring(svg)
    for group in root.iter(SVG + 'g'):
        title = group.find(SVG + 'title')
        if title is None:
            continue
        (frames if 'XLA compiles it as one program' in title.text else boxes).append(title.text)
        if group.find(SVG + 'rect').get('stroke') == '#d9760a':
            orange.append(title.text)
    for text in root.iter(SVG + 'text'):
        texts.append(''.join(text.itertext()))
    return frames, boxes, orange, texts


class Pictures(FolderTest):
    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text)
        return path

    def test_all_graphs(self):
        """Each node of a real graph is in the picture once; what is orange has the reason that --format json gives."""
        self.assertGreater(len(GRAPHS), 20)
        for path in GRAPHS:
            with self.subTest(path):
                status, out, _ = show('--format', 'json', path)
                self.assertEqual(status, 0)
                nodes = json.loads(out)['nodes']
                status, svg, _ = show('--format', 'svg', path)
                self.assertEqual(status, 0)
                frames, boxes, orange, _ = drawn(svg)
                self.assertEqual(len(boxes), len(nodes))
                self.assertEqual({title.split(':', 1)[0] for title in frames}, {one['cluster'] for one in nodes if one['cluster']})
                why = {one['node']: one['reason'] for one in nodes if one['reason']}
                for title in orange:
                    name = title.split(' (', 1)[0]
                    self.assertTrue(why[name], title)
                    self.assertIn(why[name], title)
                status, text, _ = show(path)
                self.assertEqual((status, len(re.findall(r'(?m)^\S+ \(\w+\)', text))), (0, len(nodes)))
                # Each line has all that JSON has of its node.
                lines = dict(re.findall(r'(?m)^(\S+) (\(\w+\).*)', text))
                for one in nodes:
                    for key in ('reason', 'evidence', 'fix'):
                        self.assertIn(one[key], lines[one['node']])

    def test_info_of_a_graph(self):
        """What `info` counts in a graph opened alone is what `show` lists; nothing is said of auto-clustering before marking."""
        for path in GRAPHS:
            with self.subTest(path):
                nodes = json.loads(show('--format', 'json', path)[1])['nodes']
                done = subprocess.run([HLOSCOPE, 'info', '--json', path], capture_output=True, text=True, timeout=120)
                self.assertEqual(done.returncode, 0, done.stderr)
                told = json.loads(done.stdout)
                clustered = [one for one in nodes if one['cluster']]
                self.assertEqual((told['nodes'], told['nodes_in_clusters']), (len(nodes), len(clustered)))
                self.assertEqual(sum(told['operations'].values()), len(nodes))
                self.assertEqual({one['name'] for one in told['clusters']}, {one['cluster'] for one in clustered})
                self.assertLessEqual({one['node'] for one in told['unclustered']}, {one['node'] for one in nodes})
                text = subprocess.run([HLOSCOPE, 'info', path], capture_output=True, text=True, timeout=120).stdout
                self.assertIn(f'{len(nodes)} node', text)
                self.assertNotIn('auto-clustering did not look', text)
                for one in told['unclustered']:
                    self.assertIn(one['reason'], text)

    def test_borders_and_lanes(self):
        cpu, gpu = ('/job:localhost/replica:0/task:0/device:' + one for one in ('CPU:0', 'GPU:0'))
        graph = self.write('mark_for_compilation_1.pbtxt', node('x', '_Arg', gpu, shape=[256, 4]) + node('net/mul', 'Mul', gpu, ['x', 'x'], 'cluster_0', [256, 4])
                           + node('net/exp', 'Exp', gpu, ['net/mul'], 'cluster_0', [256, 4]) + node('say', 'AsString', cpu, ['net/exp'])
                           + node('y', '_Retval', gpu, ['net/exp']))
        _, svg, _ = show('--format', 'svg', graph)
        frames, boxes, orange, texts = drawn(svg)
        self.assertEqual((len(frames), len(boxes), len(orange)), (1, 5, 1))
        self.assertTrue(frames[0].startswith('cluster_0: 2 nodes on GPU:0'), frames)
        self.assertIn('strings', orange[0])
        # x goes in twice, to one box: its bytes are those of each value that crosses.
        self.assertEqual(sorted(one for one in texts if one.endswith(' kB') or one.endswith(' B')), ['4.10 kB', '8.19 kB', 'copied 4.10 kB'])
        self.assertEqual([one for one in texts if re.match(r'[CG]PU:0 ', one)], ['CPU:0 1 node', 'GPU:0 4 nodes'])
        before = self.write('before.pbtxt', node('x', '_Arg', gpu) + node('net/mul', 'Mul', gpu, ['x', 'x']))
        self.assertNotIn('auto-clustering', show(before)[1])  # nothing was marked yet
        _, svg, _ = show('--format', 'svg', before, '--other', graph)
        self.assertEqual([one.split(':')[0] for one in drawn(svg)[3] if '.pbtxt' in one], ['before.pbtxt', 'mark_for_compilation_1.pbtxt'])

    def test_each_value_has_its_own_size(self):
        """Two results of one node that go to another: the sum of both, not twice the first."""
        split = node('split', 'Split', inputs=['x']).removesuffix('}\n') + message('attr', 'key: "_output_shapes"', message(
            'value', message('list', message('shape', message('dim', 'size: 8')), message('shape', message('dim', 'size: 2'))))) + '}\n'
        graph = self.write('mark_for_compilation_1.pbtxt', node('x', '_Arg', shape=[10]) + split + node('sum', 'AddN', '', ['split', 'split:1'], 'cluster_0', [8]))
        status, out, _ = show('--format', 'json', graph)
        self.assertEqual(sorted(one['bytes'] for one in json.loads(out)['borders']), [8, 32])
        status, svg, _ = show('--format', 'svg', graph)
        self.assertIn('40 B', drawn(svg)[3])

    def test_losses_are_told(self):
        """Whatever shows a graph says what it could not read of it, with the place."""
        text = 'node { name: "a" op: "Relu" attr { key: "T" value { type: DT_FLOAT } } colour: 7 }\nversions { }\n'
        graph = self.write('g.pbtxt', text)
        wanted = f'{graph}:1:72: node a: NodeDef has no field colour'
        for form in ('hlo', 'svg'):
            status, _, err = show('--format', form, graph)
            self.assertEqual((status, wanted in err), (0, True), err)
        status, out, _ = show('--format', 'json', graph)
        self.assertEqual([wanted in one for one in json.loads(out)['warnings']], [True])
        done = subprocess.run([HLOSCOPE, 'info', '--json', '--no-cache', self.folder], capture_output=True, text=True, timeout=120)
        self.assertTrue(any('g.pbtxt:1:72: node a: NodeDef has no field colour' in one for one in json.loads(done.stdout)['warnings']), done.stdout)

    def test_one_reading(self):
        """A graph from a pipe, which can be read once, is drawn as the file is; so is a module."""
        with open(GRAPHS[0], encoding='utf-8') as file:
            piped = subprocess.run([HLOSCOPE, 'show', '--format', 'json', '-'], stdin=file, capture_output=True, text=True, timeout=120)
        self.assertEqual(piped.returncode, 0, piped.stderr)
        whole, read = json.loads(show('--format', 'json', GRAPHS[0])[1]), json.loads(piped.stdout)
        self.assertEqual((whole.pop('file'), read.pop('file')), (GRAPHS[0], '-'))
        self.assertEqual(read, whole)
        if shutil.which('strace'):
            for path in (GRAPHS[0], self.write('m.hlo', 'HloModule m\n\nENTRY e {\n  ROOT p = f32[] parameter(0)\n}\n')):
                log = os.path.join(self.folder, 'calls')
                subprocess.run(['strace', '-f', '-e', 'trace=open,openat', '-o', log, HLOSCOPE, 'show', path], stdout=subprocess.DEVNULL, timeout=120)
                with open(log, encoding='utf-8') as file:
                    self.assertEqual(sum(f'"{path}"' in line for line in file), 1, path)

    def test_large_graphs_are_folded(self):
        text = node('x', '_Arg', shape=[4])
        last = 'x'
        for layer in range(60):
            for k in range(20):
                text += node(f'model/layer_{layer}/op_{k}', 'Exp', '', [last], 'cluster_1' if layer < 30 else '', [4])
                last = f'model/layer_{layer}/op_{k}'
        path = self.write('mark_for_compilation_1.pbtxt', text)
        _, svg, _ = show('--format', 'svg', path)
        frames, boxes, _, texts = drawn(svg)
        self.assertTrue(frames[0].startswith('cluster_1: 600 nodes'), frames)
        self.assertEqual(len(boxes), 62)  # the first node outside has a reason of its own
        self.assertIn('boxes are scopes where nodes are too many', ' '.join(texts))
        self.assertEqual(sum(one.startswith('20 nodes, 20 Exp') for one in texts), 59)

    def test_titles_of_long_scopes(self):
        """Parts that have no room are left out, of one that is too long itself the middle: no parent is made up."""
        for scope, wanted in (('s' * 40, r's+…s+'), ('outer/of/many/parts/' + 'a' * 12, '…/of/many/parts/' + 'a' * 12)):
            text = ''.join(node(f'{scope}/op_{k}', 'Exp', '', [], 'cluster_1', [4]) for k in range(100))
            _, svg, _ = show('--format', 'svg', self.write('mark_for_compilation_1.pbtxt', text))
            _, boxes, _, texts = drawn(svg)
            self.assertEqual(len(boxes), 1)
            self.assertTrue(any(re.fullmatch(wanted, one) for one in texts), texts)

    def test_the_legend(self):
        """That of the window: nodes before marking are in it where there are some."""
        _, svg, _ = show('--format', 'svg', self.write('before.pbtxt', node('x', '_Arg') + node('net/mul', 'Mul', '', ['x', 'x'])))
        _, marked, _ = show('--format', 'svg', self.write('mark_for_compilation_1.pbtxt', node('x', '_Arg') + node('net/mul', 'Mul', '', ['x', 'x'], 'cluster_0')))
        rows = ['a cluster, which XLA compiles, and values across its boundary', 'outside all clusters, and why', 'constants, arguments, results, copies',
                'copied between devices', 'in no cluster, as before marking']
        self.assertEqual([one for one in drawn(svg)[3] if one in rows], rows)
        self.assertEqual([one for one in drawn(marked)[3] if one in rows], rows[:4])

    def test_what_it_does_not_do(self):
        graph = GRAPHS[0]
        status, _, err = show('--format', 'html', graph)
        self.assertEqual(status, 2)
        self.assertIn('no html of a TensorFlow graph', err)
        status, _, err = show('--other', graph, graph)
        self.assertEqual(status, 2)
        self.assertIn('expected --format svg', err)
        status, _, err = show('--around', 'x', graph)
        self.assertEqual(status, 2)
        self.assertIn('is a TensorFlow graph', err)
        module = self.write('m.hlo', 'HloModule m\n\nENTRY e {\n  ROOT p = f32[] parameter(0)\n}\n')
        status, _, err = show('--format', 'svg', '--other', graph, module)
        self.assertEqual(status, 2)
        self.assertIn('--other is of TensorFlow graphs', err)
        status, _, err = show('--format', 'svg', '--other', module, graph)
        self.assertEqual(status, 2)
        self.assertIn('no graph of TensorFlow', err)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
