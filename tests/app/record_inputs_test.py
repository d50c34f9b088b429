#!/usr/bin/env python3
"""`hloscope record --inputs`: which module takes what the hook saved, and what run and bundle make of it. The calls are as the hook wrote them
with TensorFlow 2.21, Keras 3.15 and JAX 0.10.2; record_frameworks_test.py has the frameworks themselves.

  record_inputs_test.py HLOSCOPE"""
import array
import json
import os
import shutil
import subprocess
import sys
import unittest
import zipfile

from command_tests import write_npz
from record_test import HLOSCOPE, RecordTest

TYPES = {'f32': ('<f4', 'f'), 's32': ('<i4', 'i'), 's64': ('<i8', 'q')}

NUMPY = '''
import array as arrays, struct, types, zipfile

class array:
    def __init__(self, values, _):
        self.shape, self.data = (len(values),), arrays.array('f', values).tobytes()
        self.dtype = types.SimpleNamespace(name='float32', isbuiltin=1)

def savez(file, **members):
    with zipfile.ZipFile(file, 'w') as archive:
        for name, one in members.items():
            head = (repr({'descr': '<f4', 'fortran_order': False, 'shape': one.shape}) + ' ' * 53)[:53 + 64] + '\\n'
            archive.writestr(name + '.npy', b'\\x93NUMPY\\x01\\x00' + struct.pack('<H', len(head)) + head.encode() + one.data)
'''
TORCH = '''
import types
float16 = float32 = float64 = uint8 = int16 = None

class device: pass
class Tensor:
    def __init__(self, values, kind='xla'):
        self.values, self.device, self.dtype, self.waiting = values, types.SimpleNamespace(type=kind), 'torch.float32', True
        self.is_leaf, self.grad = True, None
    def detach(self): return self
    def item(self): return read(self)
    def cpu(self): return Tensor(self.values, 'cpu')
    def to(self, place): return self
    def tolist(self): return self.values
    def numpy(self):
        import numpy
        return numpy.array(self.values, 'f')
    def __bool__(self): return True
    def __float__(self): return 0.
    __complex__ = __index__ = __int__ = __float__

def read(tensor):
    import torch_xla
    torch_xla._XLAC._compile([tensor])
    return tensor.values[0]
'''
TORCH_XLA = '''
import os, re, sys, types, torch

class _Core(types.ModuleType): pass
_XLAC = _Core('_XLAC')
compiled = {}
tensors = []

def _compile(given):
    key = str([t.values for t in given])
    for t in given: t.waiting = False
    if not given or key in compiled: return
    sys.stderr.write('called by %s\\n' % sys._getframe(2 if sys._getframe(1).f_code.co_name == '_step' else 1).f_code.co_name)
    folder = re.search('--xla_dump_to=([^ ]+)', os.environ['XLA_FLAGS'])[1]
    compiled[key] = '%s/module_%04d.SyncTensorsGraph.1.before_optimizations.txt' % (folder, 2 * len(compiled))
    with open(compiled[key], 'w') as file:
        file.write('HloModule SyncTensorsGraph.1\\nENTRY main {\\n  p0 = f32[2] parameter(0)\\n  ROOT r = f32[2] tanh(p0)\\n}\\n')

def _step(*_, **__): _compile([t for t in tensors if t.waiting])

_XLAC._compile = _compile
_XLAC._xla_step_marker = _step
_XLAC._xla_get_tensor_id = lambda tensor: id(tensor)
_XLAC._check_tensor_need_materialization = lambda given: [t.waiting for t in given]
_XLAC._get_graph_hash = lambda given: str([t.values for t in given])
_XLAC._get_executed_fallback_ops = lambda: ['aten::_local_scalar_dense', 'aten::histc', 'aten::nonzero']
_XLAC._xla_counter_value = {'aten::histc': 2, 'aten::nonzero': 1}.get
_XLAC._get_tensors_xla_device_data_node = lambda given: ([1] * len(given), given)
_XLAC._set_all_reduce_token = _XLAC._clear_pending_irs = _XLAC._run_cached_graph = lambda *_: None
'''
TORCH_PROGRAM = '''
import torch, torch_xla
core = torch_xla._XLAC
def tensor(*values):
    torch_xla.tensors.append(torch.Tensor(list(values)))
    return torch_xla.tensors[-1]
def step():
    core._xla_step_marker('xla:0', [], wait=False)
    core._set_all_reduce_token('xla:0', None)
tensor(1, 2)
step()
step()
tensor(3, 4).item()
dynamo = [tensor(5, 6)]
core._get_graph_hash(dynamo)
core._compile(dynamo)
core._clear_pending_irs('xla:0')
core._compile([torch.Tensor([7, 8])])
'''


def module(name, parameters, root='tanh(p0)', shape=None):
    lines = [f'  p{k} = {shape} parameter({k})' for k, shape in enumerate(parameters)]
    return f'HloModule {name}\nENTRY main {{\n' + '\n'.join(lines) + f'\n  ROOT r = {shape or parameters[0]} {root}\n}}\n'


def fields(data):
    """Of a message in protobuf's wire format: values by number, numbers and bytes."""
    found, at = {}, 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            value |= (data[at] & 127) << shift
            shift, at = shift + 7, at + 1
            if data[at - 1] < 128:
                return value

    while at < len(data):
        key = varint()
        value = varint()
        if key & 7 == 2:
            value, at = data[at:at + value], at + value
        found.setdefault(key >> 3, []).append(value)
    return found


class RecordInputs(RecordTest):
    def setUp(self):
        super().setUp()
        self.calls = 0
        os.makedirs(self.path('made'))

    def module(self, number, name, *parameters, **more):
        """A module that the program leaves, and the title it has then."""
        title = f'module_{number:04}.{name}'
        self.path(f'made/{title}.before_optimizations.txt', module(name, parameters, **more))
        return title

    def call(self, function, *arrays, of=None, folder='hloscope-inputs'):
        """What the hook saves of a call: arrays as (type, dimensions, values)."""
        self.calls += 1
        stem = f'made/{folder}/17-{self.calls}'
        os.makedirs(os.path.dirname(self.path(stem)), mode=0o700, exist_ok=True)
        members, told = {}, []
        for k, (kind, dimensions, values) in enumerate(arrays):
            descr, code = TYPES[kind]
            members[f'in{k}'] = (descr, tuple(dimensions), array.array(code, values).tobytes())
            told.append({'type': kind, 'dimensions': list(dimensions)})
        write_npz(self.path(stem + '.npz'), members)
        os.chmod(self.path(stem + '.npz'), 0o600)
        self.path(stem + '.json', json.dumps({'framework': 'JAX', 'function': function, 'module': of, 'arrays': told}))

    def recorded(self, *arguments, more=''):
        """The report of a program that leaves what was made, in a new dump."""
        program = more + f'import os, shutil\nshutil.copytree({self.path("made")!r}, os.environ["HLOSCOPE_INPUTS_TO"], dirs_exist_ok=True)\n'
        shutil.rmtree(self.path('d'), ignore_errors=True)
        status, out, err = self.record('--dump', 'd', '--inputs', *arguments, '--json', program=program)
        self.assertEqual(status, 0, err)
        self.assertFalse(os.path.exists(self.path('d/hloscope-inputs')))
        return json.loads(out)

    def names(self, report):
        return [one['module'] for one in report['inputs']]

    def values(self, title):
        with zipfile.ZipFile(self.path(f'd/{title}.inputs.npz')) as archive:
            return {name: archive.read(name) for name in archive.namelist()}

    def test_by_the_id_of_the_module(self):
        """JAX: modules of one name and with the same parameters."""
        first, second = self.module(2, 'jit_f', 'f32[2]'), self.module(5, 'jit_f', 'f32[2]')
        self.call('jit_f', ('f32', [2], [5, 6]), of=5)
        self.call('jit_f', ('f32', [2], [1, 2]), of=2)
        report = self.recorded()
        self.assertEqual(report['inputs'], [{'module': title, 'file': f'{title}.inputs.npz', 'arrays': 1} for title in (first, second)])
        self.assertEqual(report['without_inputs'], [])
        for title, values in ((first, [1, 2]), (second, [5, 6])):
            self.assertTrue(self.values(title)['in0.npy'].endswith(array.array('f', values).tobytes()))
            self.assertEqual(os.stat(self.path(f'd/{title}.inputs.npz')).st_mode & 0o777, 0o600)
        self.assertEqual(os.stat(self.path('d/hloscope-record.json')).st_mode & 0o777, 0o600)

    def test_arguments_that_were_compiled_in(self):
        """TensorFlow: `n` of f(x, n) with a variable, and a recompilation under the same name."""
        name = 'a_inference_step_29__XlaMustCompile_true_config_proto_1_executor_type_2_.3'
        whole, last = self.module(60, name, 'f32[3,2]', 'f32[2]'), self.module(121, name, 'f32[1,2]', 'f32[2]')
        other = self.module(130, 'a_inference_step_291__.1', 'f32[3,2]', 'f32[2]')
        self.call('__inference_step_29', ('f32', [3, 2], range(6)), ('s32', [2], [3, 2]), ('f32', [2], [7, 8]))
        self.call('__inference_step_29', ('f32', [1, 2], [9, 9]), ('s32', [2], [1, 2]), ('f32', [2], [7, 8]))
        report = self.recorded()
        self.assertEqual(self.names(report), [whole, last])
        self.assertEqual(report['without_inputs'], [other])
        self.assertTrue(any(f'no inputs of 1 module: {other}' in text for text in report['warnings']), report['warnings'])
        values = self.values(whole)
        self.assertEqual(sorted(values), ['in0.npy', 'in1.npy'])
        self.assertTrue(values['in1.npy'].endswith(array.array('f', [7, 8]).tobytes()))
        self.assertEqual(os.stat(self.path(f'd/{whole}.inputs.npz')).st_mode & 0o777, 0o600)

    def test_nothing_is_guessed(self):
        for parameters, words in ((['f32[2]'], 'f32[2], f32[2], of which several choices are the parameters of module_0001.a_inference_f_1__.2: f32[2]'),
                                  (['f32[4]'], 'f32[2], f32[2], which are not the parameters of module_0001.a_inference_f_1__.2: f32[4]'),
                                  (['f32[2]', 's32[]'], 'which are not the parameters')):
            title = self.module(1, 'a_inference_f_1__.2', *parameters)
            self.call('__inference_f_1', ('f32', [2], [1, 2]), ('f32', [2], [3, 4]))
            report = self.recorded()
            self.assertEqual(report['inputs'], [])
            self.assertEqual(report['without_inputs'], [title])
            self.assertTrue(any(words in text for text in report['warnings']), report['warnings'])
            self.assertFalse([name for name in os.listdir(self.path('d')) if name.endswith('.npz')])
        self.call('__inference_g_1', ('f32', [2], [1, 2]))
        self.assertTrue(any('`__inference_g_1` are left out: f32[2]: no module of the dump is of that function' in text
                            for text in self.recorded()['warnings']))

    def test_what_the_hook_could_not_save(self):
        self.module(1, 'jit_f', 'f32[2]')
        os.makedirs(self.path('made/hloscope-inputs'))
        self.path('made/hloscope-inputs/failures', 'the inputs of `f` were not saved: ValueError: an argument is spread over several processes\n')
        self.path('made/hloscope-inputs/1-1.json', '{"function": 3}')  # not the hook's
        self.path('made/hloscope-inputs/1-2.json', '[')
        report = self.recorded()
        self.assertIn('the inputs of `f` were not saved: ValueError: an argument is spread over several processes', report['warnings'])
        self.assertEqual(report['inputs'], [])

    def test_a_process_of_its_own(self):
        self.module(1, 'jit_f', 'f32[2]')
        os.makedirs(self.path('made/process-2'))
        shutil.copy(self.path('made/module_0001.jit_f.before_optimizations.txt'), self.path('made/process-2'))
        self.call('jit_f', ('f32', [2], [1, 2]), of=1, folder='process-2/hloscope-inputs')
        report = self.recorded()
        self.assertEqual([one['file'] for one in report['inputs']], ['process-2/module_0001.jit_f.inputs.npz'])
        self.assertFalse(os.path.exists(self.path('d/process-2/hloscope-inputs')))

    def test_run_and_bundle_take_them(self):
        """log(-1): with the values that were recorded it is NaN, with others it is not."""
        self.module(1, 'jit_f', 'f32[2]', root='log(p0)')
        self.call('jit_f', ('f32', [2], [-1, 1]), of=1)
        self.recorded()
        run = subprocess.run([HLOSCOPE, 'run', 'd', '--print_literals', '--json'], cwd=self.folder, capture_output=True, text=True, check=True)
        self.assertIn('inputs are those that `record --inputs` saved: ', run.stdout)
        made = subprocess.run([HLOSCOPE, 'bundle', 'create', 'd', '--find', 'nan', '--values', 'all', '-o', 'b.hlob'], cwd=self.folder, capture_output=True,
                              text=True)
        self.assertEqual(made.returncode, 0, made.stderr)
        with zipfile.ZipFile(self.path('b.hlob')) as bundle:
            self.assertIn('inputs.npz', bundle.namelist())
            self.assertFalse(json.loads(bundle.read('manifest.json'))['recorded']['inputs_made_up'])
            self.check_literals(bundle.read('inputs.literals.pb'), [-1, 1])
        check = subprocess.run([HLOSCOPE, 'bundle', 'check', 'b.hlob', '--json'], cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(json.loads(check.stdout)['status'], 'reproduced', check.stdout)
        # Of another stage, with other parameters, they are not.
        other = self.path('d/module_0001.jit_f.cpu_after_optimizations.txt', module('jit_f', ['f32[1]'], root='log(p0)'))
        run = subprocess.run([HLOSCOPE, 'run', other], cwd=self.folder, capture_output=True, text=True)
        self.assertEqual((run.returncode, 'do not fit this stage' in run.stdout), (0, True), run.stdout + run.stderr)
        os.unlink(other)
        # What the user asks for comes before them.
        for option in (['--seed', '3'], ['--inputs', self.path('d/module_0001.jit_f.inputs.npz')]):
            run = subprocess.run([HLOSCOPE, 'run', 'd', *option], cwd=self.folder, capture_output=True, text=True, check=True)
            self.assertNotIn('record --inputs', run.stdout + run.stderr)
        info = json.loads(subprocess.run([HLOSCOPE, 'info', 'd', '--json'], cwd=self.folder, capture_output=True, text=True, check=True).stdout)
        self.assertNotIn('snapshots', json.dumps(info['missing'] if 'missing' in info else info))

    def check_literals(self, data, values):
        """RunHloModuleLiterals with one argument f32[N], by the numbers of its fields in XLA's run_hlo_module.proto and xla_data.proto."""
        iterations, arguments, shape, f32s, element_type, dimensions, f32 = 1, 2, 1, 8, 2, 3, 11
        self.assertEqual(list(fields(data)), [iterations])
        [iteration] = fields(data)[iterations]
        self.assertEqual(list(fields(iteration)), [arguments])
        [literal] = fields(iteration)[arguments]
        [of] = fields(literal)[shape]
        self.assertEqual(fields(of)[element_type], [f32])
        self.assertEqual(fields(of)[dimensions], [bytes([len(values)])])
        self.assertEqual(fields(literal)[f32s], [array.array('f', values).tobytes()])

    def test_versions(self):
        """Of the framework and of the XLA in it: in the record and in the bundle's report."""
        self.install('jax', '0.10.2')
        self.install('jaxlib', '0.10.2')
        self.path('site/jaxlib/version.py', '_git_hash = "990e6a0b84138346e6a38785412f36356e0e5dc3"\n')
        self.path('site/jaxlib/xla_client.py', '_version = 467\n')
        self.module(1, 'jit_f', 'f32[2]')
        self.recorded(more='import jax\n')
        with open(self.path('d/hloscope-record.json'), encoding='utf-8') as file:
            self.assertEqual(json.load(file)['xla'], {'jaxlib_commit': '990e6a0b8413', 'xla_client': '467'})
        made = subprocess.run([HLOSCOPE, 'bundle', 'create', 'd', '-o', 'b.hlob'], cwd=self.folder, capture_output=True, text=True, check=True)
        self.assertNotIn('the dump has', made.stdout)
        self.path('d/module_0002.jit_g.before_optimizations.txt', module('jit_g', ['f32[2]']))
        made = subprocess.run([HLOSCOPE, 'bundle', 'create', 'd', '-o', 'two.hlob'], cwd=self.folder, capture_output=True, text=True, check=True)
        self.assertIn('the dump has 2 modules, and the bundle the largest, ', made.stdout)
        with zipfile.ZipFile(self.path('b.hlob')) as bundle:
            self.assertNotIn('inputs.literals.pb', bundle.namelist())
            self.assertEqual(json.loads(bundle.read('manifest.json'))['xla_version'], 'jaxlib_commit 990e6a0b8413, xla_client 467')
            report = bundle.read('report.md').decode()
        self.assertIn('| XLA | jaxlib_commit 990e6a0b8413, xla_client 467 |', report.replace('\\_', '_'))
        self.assertIn('JAX 0.10.2, jaxlib 0.10.2', report)

    def test_pytorch(self):
        """The hook on a torch_xla that has what it uses of the real one, whose graphs are lists of (type, values) that tensors wait for."""
        self.install('torch_xla', '2.9.0')
        self.path('site/numpy.py', NUMPY)
        self.path('site/torch.py', TORCH)
        self.path('site/torch_xla/__init__.py', TORCH_XLA)
        status, out, err = self.record('--dump', 'd', '--inputs', '--json', program=TORCH_PROGRAM)
        self.assertEqual(status, 0, err)
        report = json.loads(out)
        titles = ['module_0000.SyncTensorsGraph.1', 'module_0002.SyncTensorsGraph.1', 'module_0004.SyncTensorsGraph.1']
        self.assertEqual(self.names(report), titles, report)
        self.assertEqual(report['without_inputs'], ['module_0006.SyncTensorsGraph.1'])
        for title, values in zip(titles, ([1, 2], [3, 4], [5, 6])):
            self.assertTrue(self.values(title)['in0.npy'].endswith(array.array('f', values).tobytes()))
        self.assertIn('ran 2 operations on the host, not on the device: aten::histc (2 times), aten::nonzero (1 time); ', err)
        # What PyTorch/XLA tells of causes and places rests on the frames of Python below it.
        self.assertEqual(err.count('called by step\n'), 1)
        self.assertEqual(err.count('called by read\n'), 1)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
