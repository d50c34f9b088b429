#!/usr/bin/env python3
"""`info --autotuning` of records and compiled modules of each generation: autotuning_test.py HLOSCOPE."""
import json
import os
import subprocess
import sys
import unittest

from command_tests import FolderTest

HLOSCOPE = os.path.abspath(sys.argv[1])

MODULE = '''HloModule jit_f, is_scheduled=true

gemm {{
  a = f32[64,32]{{1,0}} parameter(0)
  c = f32[] constant(2)
  b = f32[32,64]{{1,0}} broadcast(c), dimensions={{}}
  ROOT d = f32[64,64]{{1,0}} dot(a, b), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
}}

ENTRY e {{
  x = f32[64,32]{{1,0}} parameter(0)
  g = f32[64,64]{{1,0}} fusion(x), kind=kCustom, calls=gemm, metadata={{op_name="dot" source_file="a.py" source_line=7}}, backend_config={{"fusion_backend_config":{{"kind":"__triton_gemm","triton_gemm_config":{{"block_m":"{m}","block_n":"32","block_k":"{k}","split_k":"{split}","num_stages":"3"}}}}}}
  ROOT l = f32[64,64]{{1,0}} custom-call(g), custom_call_target="__cublas$lt$matmul", backend_config={{"gemm_backend_config":{{"selected_algorithm":"{cublas}","beta":0}}}}
}}
'''
BODY = ('{\\n  tmp_0 = f32[64,32]{1,0} parameter(0)\\n  tmp_1 = f32[] constant({...})\\n  tmp_2 = f32[32,64]{1,0} broadcast(f32[] tmp_1), dimensions={}\\n'
        '  ROOT tmp_3 = f32[64,64]{1,0} dot(f32[64,32]{1,0} tmp_0, f32[32,64]{1,0} tmp_2), lhs_contracting_dims={1}, rhs_contracting_dims={0}\\n}')
RECORD = '''results {{
  device: "CUDA: 9.0, Cores: 132"
  hlo: "{hlo}"
  result {{
    run_time {{ {time} }}
    triton {{ block_m: 64 block_n: 32 block_k: 16 split_k: 1 num_stages: 3 }}
  }}
  version: {version}
}}
'''
LOGS = '''logs {
  results { run_time { nanos: 9000 } triton { block_m: 16 split_k: 1 } }
  results { run_time { nanos: 4000 } triton { block_m: 64 split_k: 1 } }
  results { run_time { nanos: 1000 } failure { kind: WRONG_RESULT } gemm { algorithm: 7 } }
  results { run_time { nanos: 5000 } triton { block_m: 32 split_k: 8 } }
  fusion_name: "gemm_fusion_dot.3"
}
logs { results { run_time { seconds: 1 nanos: 500 } gemm { algorithm: 3 } } fusion_name: "other" }
'''
CACHE = '''device_scope: "d" explicit_version_scope: "v1.0"
entries {
  key { target { hlo_fingerprint: "00ff" device: "d" explicit_version: "v1.0" } environment { codegen_version: "e" } }
  value { optimal_config { backend: TRITON backend_config { triton { block_m: 128 split_k: 2 } } } optimal_backend_version: "t" }
}
'''


class Autotuning(FolderTest):
    def run_json(self, *arguments, status=0):
        done = subprocess.run([HLOSCOPE, arguments[0], '--json', *arguments[1:]], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, status, (done.stdout, done.stderr))
        plain = subprocess.run([HLOSCOPE, *arguments], capture_output=True, text=True, timeout=60)
        self.assertEqual(plain.returncode, status)
        return json.loads(done.stdout)

    def dump(self, name, records='version: 3\n', m=64, k=16, split=1, cublas=0):
        os.makedirs(self.path(name), exist_ok=True)
        self.path(f'{name}/module_0001.jit_f.before_optimizations.txt', MODULE.format(m=16, k=16, split=1, cublas=0))
        self.path(f'{name}/module_0001.jit_f.sm_9.0_gpu_after_optimizations.txt', MODULE.format(m=m, k=k, split=split, cublas=cublas))
        self.path(f'{name}/module_0001.jit_f.autotune_results.pbtxt', records)
        return self.path(name)

    def test_a_record_is_tied_to_its_instruction(self):
        records = 'version: 3\n' + RECORD.format(hlo=BODY, time='nanos: 12500', version=45) + RECORD.format(hlo='{\\n  other\\n}', time='', version=7)
        found = self.run_json('info', self.dump('dump', records), '--autotuning')
        gemm, cublas = found['choices']
        self.assertEqual((gemm['instruction'], gemm['source'], gemm['time_us'], gemm['version'], gemm['record']), ('g', 'a.py:7', 12.5, 45, 'measured'))
        self.assertEqual(gemm['config'], '__triton_gemm block_k=16 block_m=64 block_n=32 num_stages=3 split_k=1')
        self.assertEqual((cublas['config'], cublas['time_us'], cublas['runner_up']), ('cublas selected_algorithm=0', None, None))
        self.assertEqual([(r['version'], r['time_us']) for r in found['records']], [(7, None)])

    def test_an_untimed_default_is_said_to_be_one(self):
        found = self.run_json('info', self.dump('dump', RECORD.format(hlo=BODY, time='', version=7)), '--autotuning')
        self.assertEqual((found['choices'][0]['record'], found['choices'][0]['time_us']), ('untimed record', None))
        self.assertIn('nothing was measured', ' '.join(found['notes']))
        found = self.run_json('info', self.dump('empty'), '--autotuning')
        self.assertEqual(found['choices'][0]['record'], 'module only')
        self.assertIn('no record of a measurement', ' '.join(found['notes']))

    def test_logs_have_the_runner_up(self):
        first, second = self.run_json('info', self.path('logs.txt', LOGS), '--autotuning')['records']
        self.assertEqual((first['name'], first['config'], first['time_us'], first['candidates'], first['failed']),
                         ('gemm_fusion_dot.3', 'triton block_m=64 split_k=1', 4, 4, 1))
        self.assertEqual(first['runner_up'], {'config': 'triton block_m=32 split_k=8', 'time_us': 5})
        self.assertEqual((second['time_us'], second['runner_up']), (1000000.5, None))

    def test_the_new_cache(self):
        record, = self.run_json('info', self.path('cache.txt', CACHE), '--autotuning')['records']
        self.assertEqual((record['fingerprint'], record['config'], record['time_us']), ('00ff', 'triton block_m=128 split_k=2', None))
        self.run_json('info', self.path('none.txt', 'nothing'), '--autotuning', status=2)

    def test_pin(self):
        records = 'version: 3\n' + RECORD.format(hlo=BODY, time='nanos: 1', version=45)
        pin = self.path('pin.textproto')
        found = self.run_json('info', self.dump('dump', records), '--autotuning', '--pin', pin)
        with open(pin, encoding='utf-8') as file:
            self.assertEqual(file.read(), records)
        self.assertIn('--xla_gpu_load_autotune_results_from=' + pin, found['flags'])
        new_format = '--xla_gpu_use_new_autotune_cache_format=false'
        self.assertNotIn(new_format, found['flags'])  # XLA of version 45 has no such flag
        later = self.dump('later', records.replace('version: 45', 'version: 55'))
        self.assertIn(new_format, self.run_json('info', later, '--autotuning', '--pin', self.path('later.txt'))['flags'])
        self.assertIn('1 configuration without a record', ' '.join(found['notes']))
        self.run_json('info', self.dump('empty'), '--autotuning', '--pin', pin, status=2)
        self.run_json('info', self.dump('dump', records), '--autotuning', '--pin', self.path('pin.pb'), status=2)

    def test_pin_says_why_there_is_nothing(self):
        os.makedirs(self.path('cpu'))
        self.path('cpu/module_0001.m.cpu_after_optimizations.txt', 'HloModule m\nENTRY e {\n  ROOT x = f32[] parameter(0)\n}\n')
        done = subprocess.run([HLOSCOPE, 'info', self.path('cpu'), '--autotuning', '--pin', self.path('x.txt')], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 2)
        self.assertIn(self.path('cpu') + ': no records that XLA could load: only XLA:GPU has an autotuner', done.stderr)

    def test_compare_names_what_differs_and_what_changes_bits(self):
        base = self.dump('a')
        for name, changes, bits in (('split', {'split': 4}, 'yes'), ('tile', {'m': 128}, 'no'), ('steps', {'k': 32}, 'possibly'),
                                    ('library', {'cublas': 2}, 'possibly')):
            found = self.run_json('compare', base, self.dump(name, **changes), status=1)
            self.assertEqual([(d['instruction'], d['changes_bits']) for d in found['autotuning']], [('l' if name == 'library' else 'g', bits)], name)
        self.assertEqual(self.run_json('compare', base, self.dump('same'))['autotuning'], [])


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
