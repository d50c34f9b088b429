#!/usr/bin/env python3
"""Crossings and total edge length of our layout beside graphviz dot, on real graphs of up to 1,000 instructions.

  layout_quality.py GRAPH_BENCH HLOSCOPE CORPUS [--graphs 50] [--seconds 100] [--cache FOLDER] [--span N]

Both draw boxes of one size at the same distances; both results are measured by the same program on the curves as they are
drawn. Edges that our drawing does not route count as straight lines from node to node. Graphs that dot does not finish within
--seconds are named and left out of the median.
"""
import argparse
import glob
import hashlib
import json
import os
import statistics
import subprocess
import sys

WIDTH, HEIGHT, NODE_GAP, ROW_GAP, STEPS = 120, 40, 18, 40, 8


def curve(a, b, c, d):
    """Points of a cubic after its first one."""
    for k in range(1, STEPS + 1):
        t, u = k / STEPS, 1 - k / STEPS
        yield tuple(u ** 3 * p + 3 * u * u * t * q + 3 * u * t * t * r + t ** 3 * s for p, q, r, s in zip(a, b, c, d))


def our_lines(layout):
    """(from, to, points) as the product draws them: steep cubics between the points of an edge."""
    for start, end, points in layout['edges']:
        if not points:
            a, b = layout['nodes'][start], layout['nodes'][end]
            points = [(a[0], a[1] + HEIGHT / 2), (b[0], b[1] - HEIGHT / 2)]
            yield start, end, points
            continue
        line = [tuple(points[0])]
        for p, q in zip(points, points[1:]):
            if p[0] == q[0]:
                line.append(tuple(q))
            else:
                middle = (p[1] + q[1]) / 2
                line += curve(p, (p[0], middle), (q[0], middle), q)
        yield start, end, line


def dot_lines(layout, seconds, cache):
    """The same from graphviz; None where it takes too long."""
    text = [f'digraph g {{ nodesep={NODE_GAP / 72}; ranksep={ROW_GAP / 72}; node [shape=box, fixedsize=true, label="", '
            f'width={WIDTH / 72}, height={HEIGHT / 72}]; edge [arrowhead=none];']
    text += [f'n{k};' for k in range(len(layout['nodes']))]
    text += [f'n{a} -> n{b};' for a, b, _ in layout['edges']]
    text = '\n'.join(text) + '}'
    kept = cache and os.path.join(cache, hashlib.sha256(text.encode()).hexdigest())
    if kept and os.path.exists(kept):
        plain = open(kept, encoding='utf-8').read()
    else:
        try:
            plain = subprocess.run(['dot', '-Tplain'], input=text, capture_output=True, text=True, timeout=seconds).stdout
        except subprocess.TimeoutExpired:
            plain = ''
        if kept:
            with open(kept, 'w', encoding='utf-8') as f:
                f.write(plain)
    if not plain:
        return None
    lines = []
    for words in (line.split() for line in plain.splitlines()):
        if words[0] != 'edge':
            continue
        numbers = [float(x) * 72 for x in words[4:4 + 2 * int(words[3])]]
        points = list(zip(numbers[::2], numbers[1::2]))
        line = [points[0]]
        for k in range(0, len(points) - 3, 3):
            line += curve(*points[k:k + 4])
        lines.append((int(words[1][1:]), int(words[2][1:]), line))
    return lines


def measure(bench, lines):
    text = '\n'.join(f'{a} {b} ' + ' '.join(f'{x:.1f} {y:.1f}' for x, y in points) for a, b, points in lines)
    crossings, length = subprocess.run([bench, 'measure'], input=text, capture_output=True, text=True, check=True).stdout.split()
    return int(crossings), float(length)


def graphs(hloscope, corpus):
    """(module, computation, instructions): the largest suitable computation of each module, in an order drawn by hash."""
    paths = sorted(glob.glob(os.path.join(corpus, '*/*/dump/*before_optimizations.txt')) +
                   glob.glob(os.path.join(corpus, '*/*/dump/*after_optimizations.txt')) +
                   glob.glob(os.path.join(corpus, 'bench/*.hlo')), key=lambda p: hashlib.sha256(os.path.relpath(p, corpus).encode()).digest())
    for path in paths:
        if os.path.getsize(path) > 3_000_000:
            continue
        p = subprocess.run([hloscope, 'show', path, '--format', 'json'], capture_output=True)
        if p.returncode:
            continue
        sizes = {c['name']: len(c['instructions']) for c in json.loads(p.stdout)['computations']}
        fit = [(n, name) for name, n in sizes.items() if 40 <= n <= 1000]
        if fit:
            size, name = max(fit)
            yield path, name, size


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('bench')
    parser.add_argument('hloscope')
    parser.add_argument('corpus')
    parser.add_argument('--graphs', type=int, default=50)
    parser.add_argument('--seconds', type=float, default=100)
    parser.add_argument('--cache')
    parser.add_argument('--span', type=int)
    options = parser.parse_args()
    if options.cache:
        os.makedirs(options.cache, exist_ok=True)
    ratios = []
    seen = set()
    for path, computation, size in graphs(options.hloscope, options.corpus):
        command = [options.bench, 'json', path, computation] + ([str(options.span)] if options.span else [])
        layout = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
        shape = str([edge[:2] for edge in layout['edges']])
        if shape in seen:
            continue
        seen.add(shape)
        ours = measure(options.bench, our_lines(layout))
        jumps = sum(not points for _, _, points in layout['edges'])
        name = os.path.relpath(path, options.corpus) + ' ' + computation
        lines = dot_lines(layout, options.seconds, options.cache)
        if lines is None:
            print(f'{name}: {size} instructions, dot not done after {options.seconds:.0f} s', flush=True)
            continue
        dot = measure(options.bench, lines)
        ratios.append(((ours[0] + 1) / (dot[0] + 1), ours[1] / dot[1]))
        print(f'{name}: {size} instructions, {len(layout["edges"])} edges, {jumps} jumps; crossings {ours[0]} / {dot[0]} = '
              f'{ratios[-1][0]:.2f}; length {ours[1]:.0f} / {dot[1]:.0f} = {ratios[-1][1]:.2f}', flush=True)
        if len(ratios) == options.graphs:
            break
    crossings, lengths = zip(*ratios)
    print(f'{len(ratios)} graphs: median of crossings {statistics.median(crossings):.2f}, of length {statistics.median(lengths):.2f} (ours / dot)')
    return 0


if __name__ == '__main__':
    sys.exit(main())
