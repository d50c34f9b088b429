"""Kernels in Triton, compiled to PTX without a GPU: `triton_kernels.py OUT` (pip install triton) writes NAME_smNN.ptx and .case."""
import os
import re
import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

KERNELS = []  # function, constants, warps, grid, parameters that are no constants: (type, elements or value)


def kernel(constants, grid, *parameters, warps=4, targets=(80, 90, 100)):
    def keep(function):
        KERNELS.append((triton.jit(function), constants, warps, grid, parameters, targets))
        return function
    return keep


@kernel({'B': 256}, (5, 1, 1), ('f32', 1200), ('f32', 1200), ('f32', 1200), ('i32', 1200))
def add_kernel(x, y, out, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    keep = at < n
    tl.store(out + at, tl.load(x + at, mask=keep) + tl.load(y + at, mask=keep), mask=keep)


@kernel({'B': 512}, (7, 1, 1), ('f32', 7 * 300), ('f32', 7 * 300), ('i32', 300))
def softmax_kernel(x, out, n, B: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, B)
    v = tl.load(x + row * n + at, mask=at < n, other=-float('inf'))
    e = tl.exp(v - tl.max(v, 0))
    tl.store(out + row * n + at, e / tl.sum(e, 0), mask=at < n)


@kernel({'B': 256}, (6, 1, 1), ('bf16', 6 * 200), ('f32', 200), ('f32', 200), ('bf16', 6 * 200), ('i32', 200))
def layernorm_kernel(x, g, b, out, n, B: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, B)
    keep = at < n
    v = tl.load(x + row * n + at, mask=keep, other=0).to(tl.float32)
    d = tl.where(keep, v - tl.sum(v, 0) / n, 0)
    r = tl.rsqrt(tl.sum(d * d, 0) / n + 1e-5)
    tl.store(out + row * n + at, (d * r * tl.load(g + at, mask=keep) + tl.load(b + at, mask=keep)).to(tl.bfloat16), mask=keep)


def gemm(a, b, c, m, n, k, BM, BN, BK):
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    j = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, k, BK):
        p = start + tl.arange(0, BK)
        x = tl.load(a + i[:, None] * k + p[None, :], mask=(i[:, None] < m) & (p[None, :] < k), other=0)
        y = tl.load(b + p[:, None] * n + j[None, :], mask=(p[:, None] < k) & (j[None, :] < n), other=0)
        total = tl.dot(x, y, total)
    tl.store(c + i[:, None] * n + j[None, :], total, mask=(i[:, None] < m) & (j[None, :] < n))


gemm = triton.jit(gemm)


@kernel({'BM': 32, 'BN': 32, 'BK': 32}, (2, 2, 1), ('f16', 60 * 96), ('f16', 96 * 50), ('f32', 60 * 50), ('i32', 60), ('i32', 50), ('i32', 96))
def gemm_f16_kernel(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    gemm(a, b, c, m, n, k, BM, BN, BK)


@kernel({'BM': 64, 'BN': 64, 'BK': 32}, (1, 1, 1), ('bf16', 64 * 64), ('bf16', 64 * 64), ('f32', 64 * 64), ('i32', 64), ('i32', 64), ('i32', 64))
def gemm_bf16_kernel(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    gemm(a, b, c, m, n, k, BM, BN, BK)


@kernel({'BM': 32, 'BN': 16, 'BK': 32}, (2, 2, 1), ('f32', 40 * 70), ('f32', 70 * 30), ('f32', 40 * 30), ('i32', 40), ('i32', 30), ('i32', 70))
def gemm_tf32_kernel(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    gemm(a, b, c, m, n, k, BM, BN, BK)


@kernel({'N': 32, 'D': 32}, (2, 1, 1), ('f16', 2 * 1024), ('f16', 2 * 1024), ('f16', 2 * 1024), ('f32', 2 * 1024))
def attention_kernel(q, k, v, out, N: tl.constexpr, D: tl.constexpr):
    at = tl.program_id(0) * N * D + tl.arange(0, N)[:, None] * D + tl.arange(0, D)[None, :]
    s = tl.dot(tl.load(q + at), tl.trans(tl.load(k + at))) * 0.17
    s = tl.where(tl.arange(0, N)[:, None] >= tl.arange(0, N)[None, :], s, -1e9)
    p = tl.exp2(s - tl.max(s, 1)[:, None])
    o = tl.dot(p.to(tl.float16), tl.load(v + at)) / tl.sum(p, 1)[:, None]
    tl.store(out + at, o)


@kernel({'B': 256}, (3, 1, 1), ('f32', 700), ('f32', 700), ('i32', 700))
def cumsum_kernel(x, out, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + at, tl.cumsum(tl.load(x + at, mask=at < n, other=0), 0), mask=at < n)


@kernel({'B': 128}, (4, 1, 1), ('f32', 512), ('f32', 512), ('s32', 512))
def argmax_kernel(x, out, where, B: tl.constexpr):
    row = tl.program_id(0)
    v = tl.load(x + row * B + tl.arange(0, B))
    tl.store(out + row, tl.max(v, 0))
    tl.store(where + row, tl.argmax(v, 0))


@kernel({'B': 64}, (4, 1, 1), ('f32', 256), ('f32', 256))
def sort_kernel(x, out, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + at, tl.sort(tl.load(x + at)))


@kernel({'B': 256}, (4, 1, 1), ('s32', 1024), ('s32', 16))
def histogram_kernel(x, out, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.atomic_add(out + tl.load(x + at), tl.full((B,), 1, tl.int32))


@kernel({'B': 32}, (2, 2, 1), ('f32', 4096), ('f32', 4096))
def transpose_kernel(x, out, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    j = tl.program_id(1) * B + tl.arange(0, B)
    tl.store(out + j[:, None] * 64 + i[None, :], tl.trans(tl.load(x + i[:, None] * 64 + j[None, :])))


@kernel({'B': 256}, (3, 1, 1), ('f32', 768), ('s64', 1))
def dropout_kernel(x, seed, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    r = tl.rand(tl.load(seed), at)
    tl.store(x + at, tl.where(r > 0.3, tl.load(x + at) / 0.7, 0.0))


@kernel({'B': 256}, (2, 1, 1), ('f32', 512), ('f32', 512))
def functions_kernel(x, out, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + at)
    tl.store(out + at, tl.erf(v) + tl.log(tl.abs(v) + 1) * tl.sin(v) + tl.sqrt(tl.abs(v)) + tl.sigmoid(v) + tl.floor(v * 7))


@kernel({'B': 256}, (2, 1, 1), ('f16', 512), ('bf16', 512), ('f32', 512), ('f16', 512))
def casts_kernel(x, y, z, out, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + at).to(tl.float32) * tl.load(y + at).to(tl.float32) + tl.load(z + at)
    tl.store(out + at, tl.fma(v, v, v).to(tl.float16))


@kernel({'B': 128}, (3, 1, 1), ('s32', 384), ('s32', 384), ('s32', 384))
def integers_kernel(x, y, out, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    a, b = tl.load(x + at), tl.load(y + at) + 1
    tl.store(out + at, (a // b) * 5 + a % b + (a << 3) ^ (b >> 1) + tl.minimum(a, b) * tl.maximum(a, 2) + tl.umulhi(a, b))


@kernel({'B': 256}, (2, 1, 1), ('f32', 512), ('f32', 512), ('f32', 1))
def adam_kernel(p, g, lr, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    w, d = tl.load(p + at), tl.load(g + at)
    tl.store(p + at, w - tl.load(lr) * d / (tl.sqrt(d * d * 0.1) + 1e-3))


@kernel({'B': 64, 'N': 8}, (2, 1, 1), ('f32', 1024), ('f32', 1024))
def recurrence_kernel(x, out, B: tl.constexpr, N: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    h = tl.zeros((B,), tl.float32)
    for t in range(N):
        h = h * 0.9 + tl.load(x + t * 128 + at)
        tl.store(out + t * 128 + at, h)


@kernel({'M': 16, 'N': 64}, (4, 1, 1), ('f32', 4096), ('f32', 64), ('f32', 64))
def reduce_both_kernel(x, rows, columns, M: tl.constexpr, N: tl.constexpr):
    i = tl.program_id(0) * M + tl.arange(0, M)
    v = tl.load(x + i[:, None] * N + tl.arange(0, N)[None, :])
    tl.store(rows + i, tl.sum(v, 1))
    tl.atomic_max(columns + tl.arange(0, N), tl.max(v, 0))


@kernel({'BM': 64, 'BN': 64, 'BK': 64}, (1, 1, 1), ('s8', 4096), ('s8', 4096), ('s32', 4096), warps=4)
def gemm_s8_kernel(a, b, c, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    i, j, p = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    t = tl.dot(tl.load(a + i[:, None] * BK + p[None, :]), tl.load(b + p[:, None] * BN + j[None, :]), out_dtype=tl.int32)
    tl.store(c + i[:, None] * BN + j[None, :], t)


@kernel({'BM': 64, 'BN': 64, 'BK': 64}, (1, 1, 1), ('f8', 4096), ('f8', 4096), ('f32', 4096), targets=(90, 100))
def gemm_f8_kernel(a, b, c, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    i, j, p = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    t = tl.dot(tl.load(a + i[:, None] * BK + p[None, :]), tl.load(b + p[:, None] * BN + j[None, :]))
    tl.store(c + i[:, None] * BN + j[None, :], t)


TYPES = {'f32': '*fp32', 'f16': '*fp16', 'bf16': '*bf16', 's32': '*i32', 's64': '*i64', 's8': '*i8', 'f8': '*fp8e4nv'}


def main(out):
    os.makedirs(out, exist_ok=True)
    for function, constants, warps, grid, parameters, targets in KERNELS:
        names = [name for name in function.arg_names if name not in constants]
        signature = {name: TYPES.get(parameters[i][0], 'i32') for i, name in enumerate(names)}
        signature.update({name: 'constexpr' for name in constants})
        for sm in targets:
            made = triton.compile(ASTSource(fn=function, signature=signature, constexprs={(function.arg_names.index(k),): v for k, v in constants.items()}),
                                  target=GPUTarget('cuda', sm, 32), options={'num_warps': warps})
            name = f'{function.__name__}_sm{sm}'
            text = re.sub(r'(?s)\n\t?\.section.*', '\n', re.sub(r'(?m)^\s*(\.loc|\.file)\s.*\n|//.*$', '', made.asm['ptx']))
            with open(f'{out}/{name}.ptx', 'w') as file:
                file.write(text)
            declared = re.findall(r'\.param\s+(\.\w+)', text[text.index('.entry'):text.index(')', text.index('.entry'))])
            lines = [f'entry {function.__name__}', 'grid %d %d %d' % grid, f'block {made.metadata.num_warps * 32} 1 1', f'shared {made.metadata.shared}']
            lines += [f'number 4 {n}' if t == 'i32' else f'array {t} {n}' for t, n in parameters]
            lines += ['array s32 1024'] * (len(declared) - len(parameters))  # scratch
            with open(f'{out}/{name}.case', 'w') as file:
                file.write('\n'.join(lines) + '\n')
    print(len(KERNELS))


if __name__ == '__main__':
    main(sys.argv[1])
