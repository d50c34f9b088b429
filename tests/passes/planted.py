#!/usr/bin/env python3
"""Ground truth for `diverge --passes`: plants one edit each in pass series of real compilations.

planted.py HLOSCOPE WORK MODULE_OR_DUMP… [--planted N] [--untouched N] [--rounding N] [--seed S]

Modules are compiled by XLA's CPU plugin with all passes; folders are taken as dumps with passes. WORK keeps the dumps
for the next time, and the series that were judged wrongly. An edit counts only if it moves the results of its stage.
"""
import argparse
import json
import pathlib
import random
import re
import shutil
import statistics
import subprocess
import sys
import time

import hlo_series
from hlo_series import edits_of, pass_of, rounding_edits


def call(*arguments, timeout=120):
    done = subprocess.run([str(a) for a in arguments], capture_output=True, text=True, timeout=timeout)
    return done.returncode, done.stdout, done.stderr


class Program:
    """One compilation, as texts, with the inputs that all its stages run on."""

    def __init__(self, hloscope, work, source):
        self.hloscope = hloscope
        self.name = source.parent.parent.name if source.parent.name == 'dump' else source.stem[:40]
        dump = source
        if not source.is_dir():
            dump = work / 'dumps' / self.name
            if not dump.exists():
                code, _, err = call(hloscope, 'compile', source, '--with', 'xla-cpu', '--dump', dump, '--passes')
                if code != 0:
                    raise RuntimeError(err)
        self.stages = hlo_series.read_series(hloscope, dump, work / 'series' / self.name)
        if len(self.stages) < 3:
            raise RuntimeError('no stages')
        self.inputs = work / 'series' / (self.name + '.inputs.npz')
        code, _, err = call(hloscope, 'run', self.stages[0].path, '--save_inputs', self.inputs)
        if code != 0:
            raise RuntimeError(err)
        self.results = {}

    def run(self, path, out):
        code, _, _ = call(self.hloscope, 'run', path, '--inputs', self.inputs, '--outputs', out)
        return code == 0

    def is_visible(self, k, text, scratch, *bounds):
        """True if the edited stage gives other results than the stage itself."""
        edited, mine, theirs = scratch / 'edited.hlo', scratch / 'edited.npz', scratch / 'plain.npz'
        edited.write_text(text)
        if not self.run(edited, mine) or not self.run(self.stages[k].path, theirs):
            return False
        return call(self.hloscope, 'compare', mine, theirs, *bounds)[0] == 1

    def changes_bits(self, k, text, scratch):
        return self.is_visible(k, text, scratch, '--abs_error_bound', 0, '--rel_error_bound', 0)


def in_fusion(stage, line):
    return not line.entry and re.search(r'calls=%?' + re.escape(line.computation) + r'(?![\w.\-])', stage.text) is not None


def plant(program, rng, scratch, want_fusion, want_hidden, rounding=False):
    """(stage, edit, texts by stage, stage that restores) or None."""
    stages = program.stages
    for _ in range(60):
        k = rng.randrange(1, len(stages))
        stage = stages[k]
        if not pass_of(stage.path.name)[0]:
            continue
        lines = [i for i in stage.instructions if in_fusion(stage, i) == want_fusion]
        if not lines:
            continue
        line = rng.choice(lines)
        edits = rounding_edits(stage, line) if rounding else edits_of(stage, line, rng)
        if not edits:
            continue
        edit = rng.choice(edits)
        if edit.kind == 'drop' and edit.name not in stages[k - 1].by_name:
            continue
        first = edit.apply(stage)
        if first is None or first == stage.text:
            continue
        texts, end = {k: first}, len(stages)
        restored = rng.randrange(k + 1, len(stages)) if want_hidden and k + 1 < len(stages) else None
        for m in range(k + 1, len(stages)):
            if restored is not None and m >= restored:
                break
            text = edit.apply(stages[m])
            if text is None:
                end = m
                break
            texts[m] = text
        if want_hidden and (restored is None or end < restored):
            continue
        if not (program.changes_bits if rounding else program.is_visible)(k, first, scratch):
            continue
        return k, edit, texts, end, restored
    return None


def write_series(program, folder, texts, end):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for m, stage in enumerate(program.stages[:end]):
        (folder / stage.path.name).write_text(texts.get(m, stage.text))
    return folder / program.stages[0].path.name


def diverge(hloscope, first, folder):
    start = time.time()
    code, out, err = call(hloscope, 'diverge', first, '--passes', folder, '--json')
    try:
        verdict = json.loads(out)
    except ValueError:
        verdict = {'status': 'error', 'errors': [err], 'pass': None}
    return verdict, time.time() - start


def judge_planted(program, rng, number, work, options):
    want_fusion, want_hidden = number % 3 == 0, number % 5 == 1
    made = plant(program, rng, work, want_fusion, want_hidden)
    if made is None:
        return None
    k, edit, texts, end, restored = made
    folder = work / 'planted' / f'{number:03}'
    first = write_series(program, folder, texts, end)
    verdict, seconds = diverge(options.hloscope, first, folder)
    name, pipeline = pass_of(program.stages[k].path.name)
    pass_right = verdict.get('pass') == name and verdict.get('pipeline') == pipeline \
        and verdict.get('file_after') == program.stages[k].path.name
    found = verdict.get('instruction') == edit.expected
    print(f'{number:3} {program.name[:28]:28} {edit.kind:9} {"fusion" if want_fusion else "      "} {"hidden" if want_hidden else "      "} '
          f'{program.stages[k].path.name.split(".", 2)[-1][:40]:40} {edit.expected[:24]:24} '
          f'pass {"ok" if pass_right else "WRONG " + str(verdict.get("pass"))} '
          f'instruction {"ok" if found else "WRONG " + str(verdict.get("instruction"))} {seconds:.1f} s', flush=True)
    if pass_right and found:
        shutil.rmtree(folder)
    return pass_right, found, seconds


def judge_clean(program, rng, number, work, options, rounding):
    texts, end = {}, len(program.stages)
    if rounding:
        made = plant(program, rng, work, False, False, rounding=True)
        if made is None:
            return None
        texts, end = made[2], made[3]
    folder = work / 'clean' / f'{"rounding" if rounding else "untouched"}{number:03}'
    first = write_series(program, folder, texts, end)
    verdict, seconds = diverge(options.hloscope, first, folder)
    clean = verdict.get('status') == 'equal' and verdict.get('pass') is None
    print(f'{number:3} {program.name[:28]:28} {f"rounding {made[1].kind} of {made[1].name}" if rounding else "untouched"} '
          f'{"clean" if clean else "BLAMED " + str(verdict.get("pass")) + str(verdict.get("errors"))} {seconds:.1f} s', flush=True)
    if clean:
        shutil.rmtree(folder)
    return clean, seconds


def judge_cleans(programs, rng, count, work, options, rounding):
    """`count` series without a fault, each of the next program that gives one; those found where too few do."""
    judged = []
    for n in range(20 * count):
        if len(judged) == count:
            break
        one = judge_clean(programs[n % len(programs)], rng, n, work, options, rounding)
        if one is not None:
            judged.append(one)
    return judged


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('hloscope')
    parser.add_argument('work', type=pathlib.Path)
    parser.add_argument('modules', type=pathlib.Path, nargs='+')
    parser.add_argument('--planted', type=int, default=60)
    parser.add_argument('--untouched', type=int, default=15)
    parser.add_argument('--rounding', type=int, default=10)
    parser.add_argument('--seed', type=int, default=0)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    options.work.mkdir(parents=True, exist_ok=True)
    programs = []
    for source in options.modules:
        try:
            programs.append(Program(options.hloscope, options.work, source))
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            print(f'left out {source}: {str(error).strip()[:160]}', flush=True)
    if not programs:
        print('no program has stages')
        return 77
    passes, instructions, cleans, times = [], [], [], []
    number, misses = 0, 0
    while len(passes) < options.planted and misses < 20 * options.planted:
        judged = judge_planted(programs[(number + misses) % len(programs)], rng, number, options.work, options)
        if judged is None:
            misses += 1
            continue
        number += 1
        passes.append(judged[0])
        instructions.append(judged[1])
        times.append(judged[2])
    for rounding, count in ((False, options.untouched), (True, options.rounding)):
        for clean, seconds in judge_cleans(programs, rng, count, options.work, options, rounding):
            cleans.append(clean)
            times.append(seconds)
    print(f'guilty pass exact {sum(passes)}/{len(passes)}, instruction exact {sum(instructions)}/{len(instructions)}, '
          f'nothing blamed on {sum(cleans)}/{len(cleans)}, median {statistics.median(times):.2f} s, longest {max(times):.2f} s')
    whole = (len(passes), len(cleans)) == (options.planted, options.untouched + options.rounding)
    return 0 if whole and all(passes) and all(cleans) and sum(instructions) >= 0.95 * len(instructions) else 1


if __name__ == '__main__':
    sys.exit(main())
