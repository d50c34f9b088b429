#!/usr/bin/env python3
"""What `hloscope info` advises about TensorFlow's graphs, and which files it names as the sources of a module.

  tensorflow_info_test.py HLOSCOPE TESTS/DUMP"""
import json
import os
import subprocess
import sys
import unittest

from command_tests import FolderTest

HLOSCOPE, DATA = os.path.abspath(sys.argv[1]), sys.argv[2]


def info(*arguments):
    done = subprocess.run([HLOSCOPE, 'info', *arguments], capture_output=True, text=True, timeout=120)
    return done.stdout


def graph(name):
    return info(os.path.join(DATA, 'tensorflow', name))


class Advice(unittest.TestCase):
    def test_what_xla_has_no_kernel_for(self):
        """jit_compile=True does not help where XLA has no kernel for one of the nodes."""
        self.assertIn('1 node that keeps its function out of clusters (jit_compile=True may compile it):\n', graph('called_resource'))
        for name in ('noinline', 'bad_if', 'bad_while'):
            with self.subTest(name):
                self.assertIn('1 node that keeps its function out of clusters:\n', graph(name))
        self.assertIn('4 nodes that keep their function out of clusters:\n', graph('lowered_cond'))

    def test_cycles(self):
        """What would make a cycle in its neighbour's cluster can have one of its own."""
        self.assertIn('      fix: add --tf_xla_min_cluster_size=1 to TF_XLA_FLAGS, for a cluster of its own; or remove the node on that path, '
                      'or move it after the cluster\n', graph('cycle'))

    def test_constants_alone(self):
        """No size of clusters brings in a constant that only nodes outside use."""
        text = graph('tensor_array')
        self.assertIn('could be compiled, but not alone: constants and identities do not count towards the size of a cluster (3): '
                      'TensorArrayReadV3/index', text)
        self.assertIn('      feeds only TensorArrayReadV3 (TensorArrayReadV3), which is outside\n', text)
        self.assertNotIn('--tf_xla_min_cluster_size', text)
        self.assertIn('      fix: add --tf_xla_min_cluster_size=1 to TF_XLA_FLAGS\n', graph('too_small'))


def node(name, op, *inputs, function='', **types):
    """A node of a GraphDef in text; `function` is what it calls."""
    lines = [f'name: "{name}"', f'op: "{op}"', *(f'input: "{one}"' for one in inputs), 'device: "/job:localhost/replica:0/task:0/device:CPU:0"']
    lines += [f'attr {{ key: "{key}" value {{ type: {value} }} }}' for key, value in types.items()]
    if function:
        lines.append(f'attr {{ key: "f" value {{ func {{ name: "{function}" }} }} }}')
    return '\n'.join(lines)


def graph_def(*nodes, library=''):
    return ''.join('node {\n' + one + '\n}\n' for one in nodes) + f'library {{\n{library}}}\nversions {{\n  producer: 2000\n}}\n'


FAILED = """W0000 00:00:1796059820.395085   20408 op_kernel.cc:1858] OP_REQUIRES failed at xla_ops.cc:602 : INVALID_ARGUMENT: Detected unsupported operations \
when trying to compile graph __inference_hot_19[_XlaMustCompile=true] on XLA_CPU_JIT: AsString (No registered 'AsString' OpKernel for XLA_CPU_JIT \
devices compatible with node {{function_node __inference_helper_14}}{{node AsString}}){{function_node __inference_helper_14}}{{node AsString}}
The op is created at: 
File "p.py", line 10, in <module>
File "p.py", line 8, in hot
File "p.py", line 4, in helper
\ttf2xla conversion failed while converting __inference_hot_19[_XlaMustCompile=true].
"""


class AdviceForPrograms(FolderTest):
    """What is advised fits the program: jit_compile=True where it helps, flags in addition to those that are set."""
    POINT = 'before_increase_dynamism_for_auto_jit_pass.pbtxt'

    def lines(self, *nodes, name=POINT, flags=None, library=''):
        self.path(name, graph_def(*nodes, library=library))
        if flags is not None:
            record = {'framework': 'TensorFlow', 'version': '2.21.0', 'exit': 0, 'environment': {'TF_XLA_FLAGS': flags}}
            self.path('hloscope-record.json', json.dumps(record))
        return info(self.folder)

    def test_a_function_that_failed(self):
        self.path('stderr.log', FAILED)
        text = self.lines(node('x', '_Arg', T='DT_FLOAT'), node('Fill', 'Fill', 'x', T='DT_FLOAT'))
        self.assertIn('TensorFlow: `hot` was to be compiled as a whole (jit_compile=True), and failed: AsString, p.py:4\n', text)
        self.assertIn('    fix: keep AsString outside the function with jit_compile=True\n', text)
        self.assertNotIn('eager mode ran each', text)

    def test_the_cause_stands_in_the_message(self):
        """Errors before and after that of the function are others."""
        few = node('x', '_Arg', T='DT_FLOAT'), node('Fill', 'Fill', 'x', T='DT_FLOAT')
        other = ('Traceback (most recent call last):\n  File "p.py", line 30, in <module>\n    main()\n'
                 'tensorflow.python.framework.errors_impl.ResourceExhaustedError: Out of memory while trying to allocate 68719476736 bytes.\n')
        for before, after in (('', other), (other, '')):
            self.path('stderr.log', before + FAILED + 'caught it\n' + after)
            self.assertIn('TensorFlow: `hot` was to be compiled as a whole (jit_compile=True), and failed: AsString, p.py:4\n', self.lines(*few))
        # That of a function is not that of another.
        self.path('stderr.log', FAILED + FAILED.replace('hot', 'cold').replace('AsString', 'StringUpper').replace('p.py', 'q.py'))
        text = self.lines(*few)
        self.assertIn('`cold`, `hot` were to be compiled as a whole (jit_compile=True), and failed: StringUpper, q.py:4 (`cold`), AsString, p.py:4 (`hot`)\n', text)
        self.path('stderr.log', 'I0000 00:00:1796059820.395085   20408 a.cc:1] x\n\ttf2xla conversion failed while converting __inference_hot_19[].\n' + other)
        self.assertIn('`hot` was to be compiled as a whole (jit_compile=True), and failed\n', self.lines(*few))

    def test_functions_of_tf_data(self):
        """What a dataset maps keeps no step from being compiled."""
        name = '__inference_Dataset_map_parse_7'
        body = (node('DecodeJpeg', 'DecodeJpeg', 'args_0'), node('PartitionedCall', 'PartitionedCall', 'DecodeJpeg', function='__inference_scale_5'))
        library = f'  function {{\n    signature {{\n      name: "{name}"\n    }}\n' + ''.join(f'    node_def {{\n{one}\n    }}\n' for one in body) + '  }\n'
        self.lines(node('made', 'MapDataset', function=name), library=library)
        # As it runs, with what it calls inlined.
        point = 'before_increase_dynamism_for_auto_jit_pass_{}.pbtxt'.format
        self.lines(node('args_0', '_Arg', T='DT_STRING'), node('DecodeJpeg', 'DecodeJpeg', 'args_0'), node('PartitionedCall/Log', 'Log', 'DecodeJpeg', T='DT_FLOAT'),
                   node('identity_RetVal', '_Retval', 'PartitionedCall/Log'), name=point(1))
        step = node('x', '_Arg', T='DT_FLOAT'), node('Log', 'Log', 'x', T='DT_FLOAT'), node('Exp', 'Exp', 'Log', T='DT_FLOAT')
        text = self.lines(*step, name=point(2))
        self.assertIn(', or tf.function(jit_compile=True)\n', text)
        self.assertIn('none of the 2 operations is in a cluster', text)
        self.assertIn("  4 more nodes of tf.data's input pipeline (--json lists them)\n", text)
        self.assertNotIn('fails while', text)
        # Nor does a dataset that the step makes.
        text = self.lines(*step, node('made', 'MapDataset', 'x', function=name), name=point(2), library=library)
        self.assertNotIn('fails while', text)

    def test_operations_that_xla_refuses(self):
        numbers = node('x', '_Arg', T='DT_FLOAT'), node('Log', 'Log', 'x', T='DT_FLOAT'), node('Exp', 'Exp', 'Log', T='DT_FLOAT')
        text = self.lines(*numbers, flags='--tf_xla_auto_jit=2')
        self.assertIn('fix: add --tf_xla_cpu_global_jit to TF_XLA_FLAGS, or tf.function(jit_compile=True)\n', text)
        text = self.lines(*numbers, node('AsString', 'AsString', 'Exp', T='DT_FLOAT'), node('n', 'StringLength', 'AsString'), flags='--tf_xla_auto_jit=2')
        self.assertIn('or tf.function(jit_compile=True); but jit_compile=True fails while the function holds AsString, StringLength: '
                      'XLA has no kernel for them\n', text)
        text = self.lines(*numbers, node('s', 'AsString', 'Exp', T='DT_FLOAT'), node('l', 'StringLower', 's'), node('u', 'StringUpper', 'l'), node('n', 'StringLength', 'u'),
                          flags='--tf_xla_auto_jit=2')
        self.assertIn('while the function holds AsString, StringLength, StringLower, 1 other: XLA has no kernel for them\n', text)
        text = self.lines(*numbers, node('loop', 'Enter', 'Exp', T='DT_FLOAT'), node('ids', 'LookupTableFindV2', 'Exp'), name='mark_for_compilation_1.pbtxt')
        self.assertIn('keeps tf.while_loop and tf.cond whole; but jit_compile=True fails while the function holds LookupTableFindV2: '
                      'XLA has no kernel for it\n', text)

    def test_lists_that_grow(self):
        text = self.lines(node('x', '_Arg', T='DT_FLOAT'), node('Log', 'Log', 'x', T='DT_FLOAT'), node('s', 'TensorListSetItem', 'x', element_dtype='DT_FLOAT'),
                          name='mark_for_compilation_1.pbtxt')
        self.assertIn('fix: jit_compile=True on the function compiles the whole list; before, give each tf.TensorArray its size: ', text)

    def test_flags_are_added(self):
        few = node('x', '_Arg', T='DT_FLOAT'), node('Log', 'Log', 'x', T='DT_FLOAT'), node('identity_RetVal', '_Retval', 'Log', T='DT_FLOAT')
        text = self.lines(*few, name='mark_for_compilation_1.pbtxt', flags='--tf_xla_auto_jit=2 --tf_xla_cpu_global_jit --tf_xla_min_cluster_size=3')
        self.assertIn('smaller than --tf_xla_min_cluster_size (3 in this run; constants and identities do not count) (1): Log\n', text)
        self.assertIn('fix: add --tf_xla_min_cluster_size=1 to TF_XLA_FLAGS\n', text)
        text = self.lines(*few, name='mark_for_compilation_1.pbtxt', flags='--tf_xla_auto_jit=2 --tf_xla_cpu_global_jit')
        self.assertIn('(4 unless set; ', text)

    def test_text_made_of_numbers(self):
        text = self.lines(node('x', '_Arg', T='DT_FLOAT'), node('s', 'AsString', 'x', T='DT_FLOAT'), node('n', 'StringLength', 's'),
                          name='mark_for_compilation_1.pbtxt')
        self.assertIn('(1): s\n      no kernel for AsString\n      fix: take the conversion to text (tf.strings.as_string, tf.print) out of the '
                      'function, or put it at the end\n', text)
        self.assertIn('(1): n\n      no kernel for StringLength\n      fix: convert to numbers before', text)

    def test_functions_of_keras(self):
        step = '  function {\n    signature {\n      name: "__inference_one_step_on_data_7"\n    }\n  }\n'
        text = self.lines(node('x', '_Arg', T='DT_FLOAT'), node('Log', 'Log', 'x', T='DT_FLOAT'), node('loop', 'Enter', 'Log', T='DT_FLOAT'),
                          node('call', 'StatefulPartitionedCall', 'x', function='__inference_one_step_on_data_7'), name='mark_for_compilation_1.pbtxt', library=step)
        self.assertIn('fix: model.compile(jit_compile=True) keeps tf.while_loop and tf.cond whole\n', text)

    def test_turns_of_a_loop_are_no_cycle(self):
        text = self.lines(node('x', '_Arg', T='DT_FLOAT'), node('enter', 'Enter', 'x', T='DT_FLOAT'), node('merge', 'Merge', 'enter', 'next', T='DT_FLOAT'),
                          node('cond', 'LoopCond', 'merge'), node('switch', 'Switch', 'merge', 'cond', T='DT_FLOAT'),
                          node('body', 'Identity', 'switch:1', T='DT_FLOAT'), node('one', 'Const', '^body', dtype='DT_FLOAT'),
                          node('add', 'AddV2', 'body', 'one', T='DT_FLOAT'), node('next', 'NextIteration', 'add', T='DT_FLOAT'),
                          name='mark_for_compilation_1.pbtxt')
        self.assertNotIn('it would make a cycle', text)
        self.assertIn('      1 that count: add\n', text)
        self.assertIn('the operation is in no cluster', text)
        self.assertIn('; tf.while_loop is run by TensorFlow\'s executor, not by XLA (lowered control flow)\n', text)
        self.assertIn('    fix: jit_compile=True on the function keeps tf.while_loop and tf.cond whole\n', text)

    def test_lowered_conditions(self):
        text = self.lines(node('x', '_Arg', T='DT_FLOAT'), node('if', '_Arg', T='DT_BOOL'), node('switch', 'Switch', 'x', 'if', T='DT_FLOAT'),
                          node('then', 'Tanh', 'switch:1', T='DT_FLOAT'), node('merge', 'Merge', 'then', 'switch', T='DT_FLOAT'), name='mark_for_compilation_1.pbtxt')
        self.assertIn('the operation is in no cluster; outside: Tanh (', text)
        self.assertIn('; tf.cond is run by TensorFlow\'s executor, not by XLA (lowered control flow)\n', text)

    def test_keras_data_adapter(self):
        """What Keras does to arrays is not the model, in clusters and outside."""
        function = ('  function {\n    signature {\n      name: "__inference_Dataset_map_permutation_7"\n    }\n' +
                    ''.join(f'    node_def {{\n      name: "{name}"\n      op: "{op}"\n    }}\n' for name, op in (('range', 'Range'), ('RandomShuffle', 'RandomShuffle'))) + '  }\n')
        self.lines(node('made', 'MapDataset', function='__inference_Dataset_map_permutation_7'), name='mark_for_compilation.pbtxt', library=function)
        self.lines(node('args_0', '_Arg', T='DT_INT64'), node('range', 'Range', 'args_0'), node('RandomShuffle', 'RandomShuffle', 'range'),
                   node('identity_RetVal', '_Retval', 'RandomShuffle'), name='mark_for_compilation_1.pbtxt')
        text = self.lines(node('args_0', '_Arg', T='DT_FLOAT'), node('Log', 'Log', 'args_0', T='DT_FLOAT'), node('identity_RetVal', '_Retval', 'Log'),
                          name='mark_for_compilation_2.pbtxt')
        self.assertIn('the operation is in no cluster; outside: Log (', text)
        self.assertIn("  4 more nodes of Keras's data adapter (--json lists them)\n", text)
        self.assertNotIn('RandomShuffle', text)

    def test_first_values_of_variables(self):
        text = self.lines(node('v', '_Arg', T='DT_RESOURCE'), node('w/Initializer/zeros', 'Fill', T='DT_FLOAT'), node('w/Assign', 'AssignVariableOp', 'v', 'w/Initializer/zeros'),
                          name='mark_for_compilation_1.pbtxt')
        self.assertNotIn('  TensorFlow: ', text)
        self.assertIn('  3 more nodes of the initialization of variables (--json lists them)\n', text)

    def test_keras_steps(self):
        """Models that Keras compiles nothing of, with the reason and the line of compile()."""
        few = node('x', '_Arg', T='DT_FLOAT'), node('Log', 'Log', 'x', T='DT_FLOAT'), node('Exp', 'Exp', 'Log', T='DT_FLOAT')
        step = '  function {\n    signature {\n      name: "__inference_one_step_on_data_7"\n    }\n  }\n'
        text = self.lines(*few, library=step)
        self.assertIn('TensorFlow: Keras compiled no step as a whole (jit_compile is off); auto-clustering was off', text)
        steps = [{'model': 'sequential', 'reason': 'off', 'place': '/home/user/train.py:12'}, {'model': 'clip', 'reason': 'layer clip_1', 'place': ''},
                 {'model': 'net', 'reason': 'cpu', 'place': 'net.py:3'}, {'model': 'later', 'reason': 'new reason', 'place': ''}]
        self.path('hloscope-record.json', json.dumps({'framework': 'TensorFlow', 'version': '2.21.0', 'exit': 0, 'environment': {}, 'keras_steps': steps}))
        text = info(self.folder)
        self.assertIn('TensorFlow: Keras ran steps without jit_compile: `sequential` (jit_compile=False, train.py:12), `clip` (its layer `clip_1` has supports_jit=False), '
                      '`net` (jit_compile="auto" leaves CPUs out, net.py:3), 1 more; TF_XLA_FLAGS did not enable auto-clustering: none of the 2 ', text)
        self.assertIn('jit_compile_off, node later: XLA compiles no step of the model: new reason\n', text)
        self.assertIn('train.py:12: jit_compile_off, node sequential: compile() has jit_compile=False: XLA compiles no step of the model\n', text)
        self.assertIn('  warning   fix: model.compile(jit_compile=True)\n', text)
        # As many as a stranger's record likes.
        steps = [{'model': f'm{k}', 'reason': 'off', 'place': 'train.py:99999999999'} for k in range(60)]
        self.path('hloscope-record.json', json.dumps({'framework': 'TensorFlow', 'version': '2.21.0', 'exit': 0, 'environment': {}, 'keras_steps': steps}))
        text = info(self.folder)
        self.assertIn(', `m2` (jit_compile=False, train.py:99999999999), 57 more; TF_XLA_FLAGS', text)
        self.assertIn('train.py: jit_compile_off, node m0: ', text)
        self.assertEqual(text.count('jit_compile_off'), 50)
        explained = subprocess.run([HLOSCOPE, 'explain', self.folder], capture_output=True, text=True, timeout=120).stderr
        self.assertIn('hloscope-record.json: and 10 more steps of Keras models without jit_compile\n', explained)

    def test_names_that_keras_has_too(self):
        """train_function alone shows no Keras: Keras 2 in the record does, or its run_step, which it compiles as a whole."""
        few = node('x', '_Arg', T='DT_FLOAT'), node('Log', 'Log', 'x', T='DT_FLOAT'), node('Exp', 'Exp', 'Log', T='DT_FLOAT')
        library = ''.join(f'  function {{\n    signature {{\n      name: "__inference_{name}_7"\n    }}\n  }}\n' for name in ('train_function', 'run_step'))
        alone = library[:library.index('  function', 3)]
        text = self.lines(*few, library=alone)
        self.assertIn('TensorFlow: auto-clustering was off', text)
        self.assertNotIn('model.compile(', text)
        for packages, is_keras in (({'keras': '3.15.1'}, False), ({'keras': '2.15.0'}, True), ({'keras': '3.15.1', 'tf_keras': '2.21.0'}, True)):
            self.path('hloscope-record.json', json.dumps({'framework': 'TensorFlow', 'version': '2.15.0', 'exit': 0, 'environment': {}, 'packages': packages}))
            self.assertEqual('TensorFlow: Keras compiled no step as a whole (jit_compile is off); ' in info(self.folder), is_keras, packages)
        os.remove(self.path('hloscope-record.json'))
        text = self.lines(*few, library=library)
        self.assertIn('Keras compiled no step as a whole', text)
        name = 'a_inference_run_step_7__XlaMustCompile_true_config_proto_1__.1'
        self.path(f'module_0000.{name}.before_optimizations.txt',
                  f'HloModule {name}\nENTRY e {{\n  x = f32[4] parameter(0), metadata={{op_name="XLA_Args"}}\n'
                  '  ROOT y = f32[4] negate(x), metadata={op_type="Neg" op_name="Neg"}\n}\n')
        text = info(self.folder)
        self.assertIn('`run_step` was compiled as a whole; auto-clustering was off', text)
        self.assertNotIn('Keras compiled no step', text)

    def test_clusters_that_are_alike(self):
        name = 'cluster_{}__XlaCompiledKernel_true__XlaHasReferenceVars_false__XlaNumConstantArgs_0__XlaNumResourceArgs_0_.1'
        for number, cluster in enumerate((0, 9)):
            full = name.format(cluster)
            self.path(f'module_000{number}.{full}.before_optimizations.txt',
                      f'HloModule {full}\nENTRY e {{\n  x = f32[4] parameter(0), metadata={{op_name="XLA_Args"}}\n'
                      '  y = f32[4] negate(x), metadata={op_type="Neg" op_name="Neg"}\n'
                      '  w = f32[4] exponential(y), metadata={op_type="Exp" op_name="Exp"}\n'
                      '  ROOT z = f32[4] tanh(w), metadata={op_type="Tanh" op_name="Tanh"}\n}\n')
        text = info(self.folder)
        self.assertIn('no earlier compilation matches, or another function has the same operations', text)
        self.assertIn('    fix: define your tf.function once, outside of the loop; ', text)


class Sources(FolderTest):
    def sources(self, *files):
        """(lines of the text, list of --json) for a module with an instruction of each file."""
        lines = [f'  x{k} = f32[4] {"negate(x" + str(k - 1) + ")" if k else "parameter(0)"}, '
                 f'metadata={{op_name="x{k}" source_file="{file}" source_line=3}}\n' for k, file in enumerate(files)]
        lines[-1] = lines[-1].replace('  x', '  ROOT x', 1)
        self.path('module_0001.jit_f.cpu_after_optimizations.txt', 'HloModule jit_f\nENTRY e {\n' + ''.join(lines) + '}\n')
        shown = [line.split('source: ', 1)[1] for line in info(self.folder).splitlines() if line.startswith('    source: ')]
        return shown, json.loads(info('--json', self.folder))['modules'][0]['source_files']

    def test_own_files(self):
        library, own = '/env/lib/python3.12/site-packages/jax/_src/core.py', '/home/user/train.py'
        self.assertEqual(self.sources(own, library), ([own], [library, own]))
        self.assertEqual(self.sources(library), ([library], [library]))

    def test_no_file(self):
        """TensorFlow writes a name of no file where it knows none."""
        self.assertEqual(self.sources('dummy_file_name'), ([], []))
        self.assertEqual(self.sources('dummy_file_name', 'train.py'), (['train.py'], ['train.py']))


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
