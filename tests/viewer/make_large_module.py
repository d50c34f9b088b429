#!/usr/bin/env python3
"""Writes a made-up module of about N instructions as HLO text: layers of dots, elementwise chains and fusions, with op_name.

  make_large_module.py N OUT.hlo
"""
import sys


def main(wanted, path):
    shape = 'f32[64,64]{1,0}'
    with open(path, 'w', encoding='utf-8') as out:
        out.write('HloModule large, entry_computation_layout={(%s)->%s}\n\n' % (shape, shape))
        layers = wanted // 64
        for n in range(layers):
            out.write(f'fused_{n} {{\n  p0.{n} = {shape} parameter(0)\n  p1.{n} = {shape} parameter(1)\n')
            previous = f'p0.{n}'
            for k in range(28):
                out.write(f'  f{k}.{n} = {shape} {("add", "multiply", "subtract", "maximum")[k % 4]}({previous}, p1.{n})\n')
                previous = f'f{k}.{n}'
            out.write(f'  ROOT r.{n} = {shape} tanh({previous})\n}}\n\n')
        out.write(f'ENTRY main {{\n  x0 = {shape} parameter(0)\n')
        for n in range(layers):
            meta = f', metadata={{op_name="jit(step)/stage_{n // 100}/layer_{n}/%s"}}'
            out.write(f'  w{n} = {shape} dot(x{n}, x{max(0, n - 1)}), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}{meta % "dot"}\n')
            previous = f'w{n}'
            for k in range(30):
                out.write(f'  e{k}.{n} = {shape} {("add", "multiply", "subtract", "maximum")[k % 4]}({previous}, w{n}){meta % "add"}\n')
                previous = f'e{k}.{n}'
            root = 'ROOT ' if n == layers - 1 else ''
            out.write(f'  {root}x{n + 1} = {shape} fusion({previous}, x{n}), kind=kLoop, calls=fused_{n}{meta % "tanh"}\n')
        out.write('}\n')


if __name__ == '__main__':
    main(int(sys.argv[1]), sys.argv[2])
