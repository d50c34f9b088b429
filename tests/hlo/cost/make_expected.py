#!/usr/bin/env python3
"""Writes expected.txt: what XLA's own cost analysis says of the modules of cases.hlo and of the samples.

  .venv/bin/python tests/hlo/cost/make_expected.py      (jax 0.10.2)"""
import glob
import os

from jax._src import xla_bridge
from jaxlib import _hlo, _jax

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, '../../..')


def figures(client, text):
    analysis = _jax.hlo_module_cost_analysis(client, _hlo.hlo_module_from_text(text))
    return [analysis.get(key, 0.0) for key in ('flops', 'transcendentals', 'bytes accessed')]


def modules():
    with open(os.path.join(HERE, 'cases.hlo'), encoding='utf-8') as file:
        for text in file.read().split('HloModule ')[1:]:
            yield text.split()[0].rstrip(','), 'HloModule ' + text
    for path in sorted(glob.glob(ROOT + '/samples/*/*_optimizations.txt')):
        with open(path, encoding='utf-8') as file:
            yield os.path.relpath(path, ROOT), file.read()


def main():
    client = xla_bridge.get_backend('cpu')
    with open(os.path.join(HERE, 'expected.txt'), 'w', encoding='utf-8') as file:
        for name, text in modules():
            try:
                numbers = figures(client, text)
            except Exception as error:  # jaxlib's parser is older than some of what XLA prints
                print(name, 'left out:', str(error).splitlines()[0][:100])
                continue
            file.write(' '.join([name] + [f'{f:.9g}' for f in numbers]) + '\n')


if __name__ == '__main__':
    main()
