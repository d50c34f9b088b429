# A PTX text alone on the simulated GPU: arguments by what the command line says of them, results
# printed and written, what is refused.
import array
import json
import os
import subprocess
import sys
import tempfile

HLOSCOPE = sys.argv[1]
KERNEL = """.version 8.7
.target sm_90
.address_size 64
.visible .entry scale(.param .u64 .ptr x, .param .u64 .ptr y, .param .f32 factor, .param .u32 count)
.reqntid 32, 1, 1
{
.reg .pred %p<3>;
.reg .b32 %r<9>;
.reg .b64 %rd<9>;
.shared .align 4 .b8 sh[128];
ld.param.u64 %rd1, [x];
ld.param.u64 %rd2, [y];
ld.param.f32 %r1, [factor];
ld.param.u32 %r2, [count];
mov.u32 %r3, %ctaid.x;
mov.u32 %r4, %tid.x;
shl.b32 %r5, %r3, 5;
add.s32 %r5, %r5, %r4;
setp.ge.u32 %p1, %r5, %r2;
@%p1 bra out;
mul.wide.u32 %rd3, %r5, 4;
add.s64 %rd4, %rd1, %rd3;
add.s64 %rd5, %rd2, %rd3;
ld.global.f32 %r6, [%rd4];
mul.rn.f32 %r6, %r6, %r1;
st.global.f32 [%rd5], %r6;
out:
ret;
}
"""


# Copies four bytes.
NARROW = """.version 8.7
.target sm_90
.address_size 64
.visible .entry four(.param .u64 .ptr x, .param .u64 .ptr y)
{
.reg .b32 %r<2>;
.reg .b64 %rd<3>;
ld.param.u64 %rd1, [x];
ld.param.u64 %rd2, [y];
ld.global.u32 %r1, [%rd1];
st.global.u32 [%rd2], %r1;
ret;
}
"""


def save_raw(path, descr, data):
    count = len(data) // int(descr[-1])
    header = "{'descr': '%s', 'fortran_order': False, 'shape': (%d,), }" % (descr, count)
    header += ' ' * (-(len(header) + 11) % 64) + '\n'
    with open(path, 'wb') as file:
        file.write(b'\x93NUMPY\x01\x00' + len(header).to_bytes(2, 'little') + header.encode() + data)


def save(path, values):
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (%d,), }" % len(values)
    header += ' ' * (-(len(header) + 11) % 64) + '\n'
    with open(path, 'wb') as file:
        file.write(b'\x93NUMPY\x01\x00' + len(header).to_bytes(2, 'little') + header.encode())
        file.write(array.array('f', values).tobytes())


def load(path):
    with open(path, 'rb') as file:
        data = file.read()
    assert data.startswith(b'\x93NUMPY') and b"'<f4'" in data, data[:100]
    values = array.array('f')
    values.frombytes(data[10 + int.from_bytes(data[8:10], 'little'):])
    return list(values)


def run(*arguments, json_output=False):
    command = [HLOSCOPE, 'run', *arguments] + (['--json'] if json_output else [])
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout, done.stderr


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        with open('k.ptx', 'w') as file:
            file.write(KERNEL)
        x = [i / 8 - 3 for i in range(70)]
        save('x.npy', x)
        expected = [0.5 * value for value in x]

        # A result that is written, as text and as JSON.
        status, out, err = run('k.ptx', '--grid', '3', '--args', 'x.npy,out:f32[70]=y.npy,f32:0.5,u32:70')
        assert status == 0, (out, err)
        assert 'kernel scale for sm_90 on gpu-sim, 3×1×1 blocks of 32×1×1 threads' in out, out
        assert 'y f32[70] {' in out and 'written to y.npy' in out, out
        assert load('y.npy') == expected
        status, out, err = run('k.ptx', '--entry', 'scale', '--grid', '3,1,1', '--block', '32', '--args',
                               'x.npy', '--args', 'out:f32[7,10]', '--args', 'f32:0.5', '--args',
                               'u32:70', json_output=True)
        assert status == 0, (out, err)
        told = json.loads(out)
        assert told['status'] == 'ok' and told['kernel'] == 'scale' and told['grid'] == [3, 1, 1]
        assert told['results'][0]['argument'] == 1 and told['results'][0]['name'] == 'y'
        assert told['results'][0]['shape'] == 'f32[7,10]' and told['checks'] == []

        # In place, of another type of file; what the kernel leaves of the rest stays.
        save('z.npy', [9.0] * 70)
        status, out, err = run('k.ptx', '--args', 'x.npy,inout:z.npy=z2.npy,f32:0.5,u32:5')
        assert status == 0, (out, err)
        assert load('z2.npy') == expected[:5] + [9.0] * 65

        # Nobody wrote the elements behind the fifth: they are poison, and a check says so of a sum.
        status, out, err = run('k.ptx', '--args', 'out:f32[70],inout:z.npy,f32:0.5,u32:5', '--check',
                               'uninitialised')
        assert status == 1 and 'uninitialised memory' in out, (out, err)

        # What is only read from is written to.
        status, out, err = run('k.ptx', '--args', 'x.npy,z.npy,f32:0.5,u32:5')
        assert status == 0 and 'the kernel writes to y' in out and 'inout:z.npy' in out, (out, err)

        # What is refused says what and how.
        for arguments, message in [
            (['--args', 'x.npy,out:f32[70],f32:0.5'], 'scale takes 4 arguments, --args has 3'),
            (['--args', 'x.npy,out:f32[70],f64:0.5,u32:5'], '8 bytes, parameter factor of scale has 4'),
            (['--args', 'x.npy,out:f32[70],f32:half,u32:5'], 'half is not a number'),
            (['--args', 'x.npy,out:f32[70],f32:1,u8:300'], '300 does not fit into u8'),
            (['--args', 'x.npy,out:f32[70],f32:1e40,u32:5'], '1e40 does not fit into f32'),
            (['--expect', 'x.npy'], '--expect: not read where a PTX text runs alone'),
            (['--profile', 'p.hloprof'], '--profile: not read where a PTX text runs alone'),
            (['--seed', '3'], '--seed: not read where a PTX text runs alone'),
            (['--args', 'x.npy,out:q32[70],f32:1,u32:3'], 'q32 is not a type of whole bytes'),
            (['--args', 'x.txt,out:f32[70],f32:1,u32:3'], 'neither an array nor a number'),
            (['--entry', 'skale'], 'k.ptx has no entry skale (name one with --entry: scale)'),
            (['--grid', '0'], '--grid 0: not one to three sizes'),
            (['--args', 'gone.npy,out:f32[70],f32:1,u32:3'], 'gone.npy'),
            (['--platform', 'interpreter'], 'a PTX text does not run on interpreter'),
        ]:
            status, out, err = run('k.ptx', *arguments)
            assert status == 2 and message in err, (arguments, status, out, err)

        # Beyond an array: the line of the store.
        status, out, err = run('k.ptx', '--args', 'x.npy,out:f32[4],f32:0.5,u32:70')
        assert status == 4 and 'k.ptx:26:1' in err and 'argument 1' in err, (status, out, err)

        # Reads beyond an array within its padding are none on a device; they are told.
        save('s.npy', [1.0] * 5)
        status, out, err = run('k.ptx', '--args', 's.npy,out:f32[6],f32:0.5,u32:6')
        assert status == 1 and '4 bytes are read beyond the end of an argument' in out, (status, out, err)

        # bfloat16 and 8-bit floats, which are raw bytes to numpy: the file, or the command, says which.
        save_raw('b.npy', '<V2', bytes.fromhex('803f') * 70)  # 1.0 of bf16
        with open('n.ptx', 'w') as file:
            file.write(NARROW)
        for given in ('b.npy', 'bf16:b.npy', 'u16:u.npy'):
            save_raw('u.npy', '<u2', bytes.fromhex('803f') * 70)
            status, out, err = run('n.ptx', '--block', '1', '--args', f'{given},out:bf16[2]')
            assert status == 0 and 'y bf16[2] {1, 1}' in out, (given, out, err)
        status, out, err = run('n.ptx', '--block', '1', '--args', 'bf16:b.npy,inout:b.npy')
        assert status == 0 and 'y bf16[70]' in out, (out, err)
        save_raw('f8.npy', '|V1', bytes([0x38]) * 4)  # 1.0 of f8e4m3fn
        status, out, err = run('n.ptx', '--block', '1', '--args', 'f8e4m3fn:f8.npy,inout:f8e4m3fn:f8.npy')
        assert status == 0 and 'y f8e4m3fn[4] {1, 1, 1, 1}' in out, (out, err)
        status, out, err = run('n.ptx', '--block', '1', '--args', 'f32:b.npy,inout:b.npy')
        assert status == 2 and 'b.npy' in err, (out, err)

        # Options of a text without one.
        with open('m.hlo', 'w') as file:
            file.write('HloModule m\nENTRY e {\n ROOT p = f32[] parameter(0)\n}\n')
        status, out, err = run('m.hlo', '--grid', '3')
        assert status == 2 and 'are of a PTX text' in err, (status, out, err)
    print('ok')


main()
