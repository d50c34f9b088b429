#!/usr/bin/env python3
"""`hloscope explain` on files, standard input and folders, and what `info` says of TensorFlow's graphs and of logs.

  explain_test.py HLOSCOPE TESTS/DUMP"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

HLOSCOPE, DATA = sys.argv[1], sys.argv[2]
ERRORS = os.path.join(DATA, 'errors')
GRAPHS = os.path.join(DATA, 'tensorflow')


def run(*arguments, text=None):
    done = subprocess.run([HLOSCOPE, *arguments], input=text, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


def objects(out):
    return [json.loads(line) for line in out.splitlines()]


class Explain(unittest.TestCase):
    def test_an_object_an_error(self):
        status, out, _ = run('explain', '--json', os.path.join(ERRORS, 'string_type.txt'))
        error = objects(out)[0]
        self.assertEqual(status, 0)
        for key, value in dict(kind='unsupported_op', node='AsString', op='AsString', device='XLA_CPU_JIT', line=9).items():
            self.assertEqual(error[key], value)
        self.assertIn('strings', error['reason'])
        self.assertIn('jit_compile', error['fix'])

    def test_standard_input_and_words(self):
        with open(os.path.join(ERRORS, 'grad_loop.txt'), encoding='utf-8') as f:
            status, out, _ = run('explain', '-', text=f.read())
        self.assertEqual(status, 0)
        self.assertIn('train.py:233: tensor_array_size', out)
        self.assertIn('fix: give tf.while_loop maximum_iterations', out)

    def test_a_log_of_compilations(self):
        log = os.path.join(os.path.dirname(DATA), 'debug', 'recompile', '{}', 'stderr.log')
        for framework in ('jax', 'tensorflow', 'torch'):
            status, out, _ = run('explain', '--json', log.format(framework))
            again = [one for one in objects(out) if one['kind'] == 'compiled_again']
            self.assertEqual(status, 0)
            self.assertGreater(len(again), 5, framework)
            for one in again:
                self.assertTrue(one['reason'] and one['fix'] and one['in_line'] > 0, one)
        out = run('explain', log.format('jax'))[1]
        self.assertRegex(out, r'\.py:\d+: compiled_again, node shape_a: the shape of argument `\w+` changed from ')

    def test_nothing_known(self):
        status, out, err = run('explain', '--json', '-', text='all is well\n')
        self.assertEqual((status, objects(out)[0]['status'], objects(out)[0]['file']), (1, 'nothing_found', '-'))
        self.assertIn('no error text', err)
        self.assertEqual(run('explain', 'no/such/file')[0], 2)
        # Of several none is passed over, and the worst status is that of all.
        known = os.path.join(ERRORS, 'string_type.txt')
        with tempfile.TemporaryDirectory() as folder:
            well, empty = os.path.join(folder, 'well.txt'), os.path.join(folder, 'empty')
            os.mkdir(empty)
            with open(well, 'w', encoding='utf-8') as file:
                file.write('all is well\n')
            status, out, err = run('explain', '--json', well, known, empty)
            self.assertEqual((status, [one['in'] for one in objects(out)]), (1, [well, known, empty]))
            status, out, err = run('explain', well, known, 'no/such/file')
            self.assertEqual(status, 2)
            self.assertIn(f'{well}: no error text', err)
            self.assertIn('AsString', out)

    def test_binary_files_are_named(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, data, words in (('a.npz', b'PK\x03\x04' + bytes(range(256)), 'is a zip archive (npz, pyz), not the text of an error'),
                                      ('a.npy', b'\x93NUMPY' + bytes(range(256)), 'is a NumPy array, not the text'),
                                      ('rest', bytes(range(256)), 'is a binary file, not the text')):
                with open(os.path.join(folder, name), 'wb') as file:
                    file.write(data)
                status, out, err = run('explain', os.path.join(folder, name))
                self.assertEqual((status, out), (2, ''), name)
                self.assertIn(f'{name}: {words}', err)
                self.assertNotIn('\\x', err)

    def test_a_module_is_no_text_of_an_error(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, 'm.hlo')
            with open(path, 'w', encoding='utf-8') as file:
                file.write('HloModule m\n\nENTRY e {\n  ROOT x = f32[4] parameter(0)\n}\n')
            status, out, err = run('explain', path)
            self.assertEqual((status, out), (2, ''))
            self.assertIn('not the text of an error', err)
            self.assertIn(f'`hloscope info {path}` and `hloscope open {path}` show it; `hloscope run {path} 2>error.txt` keeps the error', err)

    def test_unknown_texts_say_what_was_read(self):
        text = 'Traceback (most recent call last):\n  File "t.py", line 1, in <module>\nRuntimeError: the carburettor is stuck\n'
        answer = objects(run('explain', '--json', '-', text=text)[1])[0]
        self.assertEqual((answer['read'], answer['read_line'], answer['nearest_kind']), ('RuntimeError: the carburettor is stuck', 3, ''))
        text = 'F0000 something.cc:3] NVPTX: the version of PTX is not one that supports the target sm_77\n'
        _, out, err = run('explain', '--json', '-', text=text)
        answer = objects(out)[0]
        self.assertEqual((answer['status'], answer['nearest_kind']), ('nothing_found', 'ptx_target'))
        self.assertIn('another one: ', err)
        # What a pattern leaves open is no text for people.
        err = run('explain', '-', text='ValueError: Length of slice indices is no match of the number of operand dimensions\n')[2]
        self.assertIn('another one: Length of slice indices must match number of operand dimensions (… vs (…)) (shape_mismatch)', err)

    def test_the_end_of_a_process(self):
        """It is told where no error stands shortly before it, and none that ends a process."""
        end, caught = 'Segmentation fault (core dumped)\n', 'XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 37.25GiB.\n'
        fatal = 'F0000 00:00:1795812101.707551    2744 parse_flags_from_env.cc:234] Unknown flag in XLA_FLAGS: --xla_dump_buffers\n'
        for first, steps, kinds in ((caught, 0, ['out_of_memory']), (caught, 20, ['out_of_memory']), (caught, 300, ['out_of_memory', 'crash']),
                                    (fatal, 300, ['unknown_flag']), ('', 300, ['crash'])):
            text = first + ''.join(f'step {k}, loss 0.5\n' for k in range(steps)) + end
            self.assertEqual([one['kind'] for one in objects(run('explain', '--json', '-', text=text)[1])], kinds, (first, steps))

    def test_informational_logs_have_no_error(self):
        log = ('WARNING: All log messages before absl::InitializeLog() is called are written to STDERR\n'
               'I0000 00:00:1700000000.1 7 port.cc:153] oneDNN custom operations are on. You may see slightly different numerical results\n'
               '2024-07-17 08:35:45.348873: I tensorflow/core/platform/cpu_feature_guard.cc:210] This binary is optimized to use available CPU instructions\n'
               'To enable the following instructions: AVX2 FMA, in other operations, rebuild TensorFlow with the appropriate compiler flags.\n')
        status, out, err = run('explain', '--json', '-', text=log)
        answer = objects(out)[0]
        self.assertEqual((status, answer['error']), (1, 'no line of it is an error (2 informational lines)'))
        self.assertEqual((answer['read'], answer['nearest_kind'], answer['nearest_text']), ('', '', ''))

    def test_lines_of_informational_messages(self):
        """What follows a message of level I belongs to it, and what the program prints is no error."""
        log = ("I0000 00:00:1796059553.132048   20408 compilability_check_util.cc:62] Found uncompilable node c (op _EagerConst): No registered "
               "'_EagerConst' OpKernel for XLA_CPU_JIT devices compatible with node {{node _EagerConst}}\n"
               "\t (OpKernel was found, but attributes didn't match) Requested Attributes: T=DT_STRING\n")
        answer = objects(run('explain', '--json', '-', text=log)[1])[0]
        self.assertEqual((answer['error'], answer['read']), ('no line of it is an error (1 informational line)', ''))
        answer = objects(run('explain', '--json', '-', text=log + 'norm 24.8354397\n')[1])[0]
        self.assertEqual((answer['error'], answer['read']),
                         ('no line of it looks like an error (1 informational line and 1 line that the program seems to print)', ''))
        printed = ("epoch 0 {'accuracy': 0.25, 'mean_squared_error': 1.0975}\n4/4 - 1s - 250ms/step - accuracy: 0.2500 - loss: 1.0975\n[1.0975, 0.25]\n"
                   'tf.Tensor(24.8, shape=(), dtype=float32)\n(5, 3)\nmean_absolute_error: 0.31\n')
        answer = objects(run('explain', '--json', '-', text=log + printed)[1])[0]
        self.assertEqual((answer['error'], answer['read']),
                         ('no line of it looks like an error (1 informational line and 6 lines that the program seems to print)', ''))
        answer = objects(run('explain', '--json', '-', text=log + 'the step failed\n')[1])[0]
        self.assertEqual((answer['read'], answer['read_line']), ('the step failed', 3))
        # An unknown line among them is still what was read, an exception that is logged as information too.
        for line, read in (('the carburettor is stuck', 'the carburettor is stuck'),
                           ('I0517 16:48:59.615311 140650292352064 run.py:255] CarburettorError: it is stuck', 'CarburettorError: it is stuck')):
            answer = objects(run('explain', '--json', '-', text=f'{log}{line}\n')[1])[0]
            self.assertEqual(answer['read'], read)
        answer = objects(run('explain', '--json', '-', text=log + '    the carburettor is stuck\n')[1])[0]
        self.assertTrue(answer['error'].startswith('no error text'), answer)

    def test_graphs_of_pytorch_xla(self):
        def block(kind, cause, graph, inputs, frames, name='Inputs'):
            rows = [f'{kind} Cause', f'  {cause}', 'Graph Info: ', f'  Graph Hash: {graph}', f'  Number of Graph {name}: {inputs}',
                    f'  Number of Graph {name.replace("In", "Out")}: 4', 'Python Frame Triggered Execution: ', *frames, '-' * 80, '=' * 80]
            return ''.join(f'{kind} Analysis: {row}\n' for row in ['=' * 80, *rows])
        sync = ['  mark_step (/workspaces/x/pytorch/xla/torch_xla/core/xla_model.py:1055)',
                '  next (/workspaces/x/pytorch/xla/torch_xla/distributed/parallel_loader.py:44)', '  loop (/home/user/fit.py:48)', '  ..........']
        read = ['  loop (/home/user/fit.py:52)', '  <module> (/home/user/fit.py:73)']
        for name in ('Inputs', 'Input'):
            log = block('Compilation', 'mark_step in parallel loader at step end', 'aa', 9, sync, name)
            log += 'Post Compilation Analysis: Graph input size: 1.5 GB\nPost Compilation Analysis: Intermediate tensor size: 2.5 GB\n'
            for before in ('mark_step', 'torch_xla.sync'):
                cause = f'most likely user code trying to access tensor value before {before}'
                text = log + block('Compilation', cause, 'bb', 10, read, name) + block('Execution', cause, 'bb', 10, read, name)
                first, second = objects(run('explain', '--json', '-', text=text)[1])
                self.assertEqual((first['kind'], first['severity'], first['line']), ('graph_compiled', 'note', 48))
                self.assertIn('graph 1 of 2, aa: the parallel loader', first['reason'])
                self.assertIn('9 inputs, 4 outputs; 1.5 GiB of inputs; 2.5 GiB of intermediate tensors', first['reason'])
                self.assertEqual((second['severity'], second['line']), ('warning', 52))
                self.assertIn('loop reads the value of a tensor inside the step', second['reason'])
                self.assertIn('compiled 1 time, run 1 time', second['reason'])
                self.assertIn('(1 input more than graph 1)', second['reason'])
                self.assertIn('after the end of the step', second['fix'])

    def test_many_graphs_of_pytorch_xla(self):
        """In a folder only those that are faults count, wherever they stand among the others."""
        def block(cause, graph):
            rows = ['=' * 80, 'Compilation Cause', f'  {cause}', 'Graph Info: ', f'  Graph Hash: {graph}', '  Number of Graph Inputs: 1',
                    '  Number of Graph Outputs: 1', 'Python Frame Triggered Execution: ', '  loop (/home/user/fit.py:48)', '-' * 80, '=' * 80]
            return ''.join(f'Compilation Analysis: {row}\n' for row in rows)
        marks = ''.join(block('user torch_xla.sync', f'a{k}') for k in range(250))
        read = 'most likely user code trying to access tensor value before torch_xla.sync'
        with tempfile.TemporaryDirectory() as folder:
            for faults in (1, 201):
                with open(os.path.join(folder, 'stderr.log'), 'w', encoding='utf-8') as file:
                    file.write(marks + ''.join(block(read, f'b{k}') for k in range(faults)))
                _, out, err = run('explain', '--json', folder)
                found = [one for one in objects(out) if one['kind'] == 'graph_compiled']
                self.assertEqual((len(found), {one['severity'] for one in found}), (min(faults, 200), {'warning'}))
                left_out = [line for line in err.splitlines() if 'left out' in line]
                self.assertEqual(left_out, [os.path.join(folder, 'stderr.log') + ': 1 more graph is left out'] * (faults > 200))

    def test_a_log_of_standard_input_has_no_folder(self):
        """The folder that the program runs in is not that of the log."""
        text = ('Compiling jit(f) with global shapes and types (ShapedArray(float32[8])). Argument mapping: (UnspecifiedValue,).\n'
                'Finished XLA compilation of jit(f) in 0.1 sec\n') * 2
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, 'hloscope-record.json'), 'w', encoding='utf-8') as file:
                file.write('{}')
            done = subprocess.run([os.path.abspath(HLOSCOPE), 'explain', '-'], input=text, capture_output=True, text=True, timeout=120, cwd=folder)
            self.assertIn('compiled_again', done.stdout)
            self.assertNotIn('hloscope explain .', done.stdout)

    def test_what_ran_on_the_host(self):
        """What the record of a run counted of PyTorch/XLA's operations is told by `explain` and `info` alike."""
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, 'hloscope-record.json'), 'w', encoding='utf-8') as file:
                json.dump({'framework': 'PyTorch/XLA', 'version': '2.9.0', 'exit': 0, 'host_fallbacks': {'aten::histc': 2}}, file)
            [told] = objects(run('explain', '--json', folder)[1])
            self.assertEqual((told['kind'], told['op'], told['severity']), ('host_fallback', 'histc', 'warning'))
            self.assertIn('ran aten::histc on the host', told['reason'])
            self.assertIn('counted so far: 2', told['reason'])
            self.assertIn('hloscope-record.json: host_fallback (histc): PyTorch/XLA ran', run('explain', folder)[1])
            report = objects(run('info', '--json', '--no-cache', folder)[1])[0]
            self.assertEqual([one['reason'] for one in report['errors']], [told['reason']])

    def test_what_runs_on_another_device(self):
        """Lines of TensorFlow 1.3 and 1.14 (its issue 30748): the program went on, and `info` of its folder says where."""
        log = ("2017-08-22 07:52:42.943663: I tensorflow/core/common_runtime/simple_placer.cc:697] Ignoring device specification /device:GPU:0 for node "
               "'prefetch_queue_Dequeue' because the input edge from 'prefetch_queue' is a reference connection and already has a device field set to "
               "/device:CPU:0\n2019-07-19 10:34:52.872785: W tensorflow/core/common_runtime/colocation_graph.cc:1016] Failed to place the graph without "
               "changing the devices of some resources. Some of the operations (that had to be colocated with resource generating operations) are not "
               "supported on the resources' devices. Current candidate devices are [\n  /job:localhost/replica:0/task:0/device:CPU:0].\n"
               "See below for details of this colocation group:\n")
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(os.path.join(GRAPHS, 'stack', 'mark_for_compilation_1.pbtxt'), folder)
            with open(os.path.join(folder, 'stderr.log'), 'w', encoding='utf-8') as f:
                f.write(log)
            _, out, _ = run('info', '--json', '--no-cache', folder)
            told = [(one['severity'], one['node'], one['device']) for one in json.loads(out)['errors'] if one['kind'] == 'soft_placement']
            self.assertEqual(told, [('note', 'prefetch_queue_Dequeue', '/device:GPU:0'), ('warning', None, '/job:localhost/replica:0/task:0/device:CPU:0')])
            words = run('info', '--no-cache', folder)[1]
            self.assertIn('asked for on /device:GPU:0 and runs on /device:CPU:0, where prefetch_queue is', words)
            self.assertIn('all of them run on /job:localhost/replica:0/task:0/device:CPU:0', words)

    def test_folder_and_info(self):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(os.path.join(ERRORS, 'py_function.txt'), os.path.join(folder, 'run.log'))
            status, out, _ = run('explain', '--json', folder)
            self.assertEqual((status, objects(out)[0]['op']), (0, 'EagerPyFunc'))
            report = objects(run('info', '--json', '--no-cache', folder)[1])[0]
            self.assertEqual(report['errors'][0]['line'], 20)
            self.assertIn('error ', run('info', os.path.join(folder, 'run.log'))[1])


class Clusters(unittest.TestCase):
    def test_nodes_reasons_and_borders(self):
        report = objects(run('info', '--json', '--no-cache', os.path.join(GRAPHS, 'cycle'))[1])[0]['tensorflow']
        nodes = {node['name']: node for node in report['unclustered']}
        self.assertEqual((nodes['Exp']['kind'], nodes['Exp']['by_log']), ('cycle', True))
        self.assertIn('EagerPyFunc', nodes['Exp']['evidence'])
        self.assertEqual(nodes['EagerPyFunc']['kind'], 'python')
        self.assertIn('TensorFlow operations', nodes['EagerPyFunc']['fix'])
        out = run('info', '--no-cache', os.path.join(GRAPHS, 'stack'))[1]
        self.assertIn('works on a stack', out)
        self.assertIn('TensorFlow cluster cluster_0: 6 nodes', out)
        self.assertIn('across cluster boundaries', out)

    def test_a_cluster_without_its_graph_has_no_number(self):
        with tempfile.TemporaryDirectory() as folder:
            name = 'module_0000.cluster_7__XlaCompiledKernel_true__XlaNumConstantArgs_0_.1.before_optimizations.txt'
            with open(os.path.join(folder, name), 'w', encoding='utf-8') as f:
                f.write('HloModule cluster_7\n\nENTRY e {\n  ROOT p = f32[4] parameter(0)\n}\n')
            cluster = objects(run('info', '--json', '--no-cache', folder)[1])[0]['tensorflow']['clusters'][0]
            self.assertIsNone(cluster['nodes'])
            self.assertEqual((cluster['bytes_in'], cluster['bytes_out']), (16, 16))
            self.assertIn('nodes unknown', run('info', '--no-cache', folder)[1])


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
