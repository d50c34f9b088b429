#!/usr/bin/env python3
"""The viewer's figures as a table: figures.py GRAPH_FRAMES MODULE… [--runs 3] [--open | --heat]. Each module is measured in processes of its own.

First frame, first graph (the three pictures with colours, hulls and lanes) and all of the screen (with the sentence and the suggested selection
resolved) count from the start of the process, medians of the runs; CPU time is of all threads. Frames are CPU time from input to draw lists,
99th percentiles; nothing is rasterised. Memory is the most the process held."""
import argparse
import os
import re
import statistics
import subprocess

ROWS = (
    ('first frame', r'first frame after (\d+) ms', 'ms'),
    ('its CPU time', r'first frame after \d+ ms, (\d+) ms of CPU', 'ms'),
    ('first graph', r'first graph after (\d+) ms', 'ms'),
    ('its CPU time', r'first graph after \d+ ms, (\d+) ms of CPU', 'ms'),
    ('all of the screen', r'all of the screen after (\d+) ms', 'ms'),
    ('its CPU time', r'all of the screen after \d+ ms, (\d+) ms of CPU', 'ms'),
    ('frames while zooming', r'zooming: .*99th percentile ([\d.]+) ms', 'ms'),
    ('frames while panning', r'panning: .*99th percentile ([\d.]+) ms', 'ms'),
    ('frames while typing a search', r'typing a search: .*99th percentile ([\d.]+) ms', 'ms'),
    ('frames while finding in the graph', r'finding in the graph: .*99th percentile ([\d.]+) ms', 'ms'),
    ('a letter is answered', r'until a letter is answered: .*99th percentile ([\d.]+) ms', 'ms'),
    ('names to search read', r'names to search read in (\d+) ms', 'ms'),
    ('memory', r'most (\d+) kB', 'kB'),
)


def measure(program, module, extra):
    text = subprocess.run([program, module, *extra], capture_output=True, text=True, check=True).stdout
    return [float(re.search(pattern, text).group(1)) for _, pattern, _ in ROWS]


def shown(value, unit):
    if unit == 'kB':
        return f'{value / 1000:,.0f} MB'
    return f'{value:,.0f} ms' if value >= 20 else f'{value:.1f} ms'


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    parser.add_argument('program')
    parser.add_argument('modules', nargs='+')
    parser.add_argument('--runs', type=int, default=3)
    parser.add_argument('--open', action='store_true', help='with groups and fusions opened, up to 2,000 boxes')
    parser.add_argument('--heat', action='store_true', help='filled by bytes moved')
    arguments = parser.parse_args()
    extra = ['--open'] if arguments.open else ['--heat'] if arguments.heat else []
    columns = []
    for module in arguments.modules:
        runs = [measure(arguments.program, module, extra) for _ in range(arguments.runs)]
        columns.append([statistics.median(values) for values in zip(*runs)])
    print('| |' + '|'.join(f' {os.path.basename(module)} ' for module in arguments.modules) + '|')
    print('|---' * (len(columns) + 1) + '|')
    for i, (name, _, unit) in enumerate(ROWS):
        print(f'| {name} |' + '|'.join(f' {shown(column[i], unit)} ' for column in columns) + '|')


if __name__ == '__main__':
    main()
