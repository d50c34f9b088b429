"""Makes the conformance table: every opcode on every element type, against true values and against XLA:CPU.

    scripts/setup conformance
    .venv-conformance/bin/python tests/conformance/conformance.py build/release/app/hloscope WORK --write

--only OPCODE … and --types TYPE … look at some cells only, --assemble puts
together what runs with --only left. WORK keeps modules, inputs, results and truths; what is there from the same module and inputs is not computed again.
"""
import argparse
import importlib.util
import multiprocessing
import pathlib
import pickle
import sys

import cells
import folded_cells
import judge
import moved_cells
import random_cells
import report
import runs
import sample
from element_types import TYPES

CELLS = cells.CELLS | moved_cells.CELLS | folded_cells.CELLS | random_cells.CELLS
FOLDER = None
XLA_NAME = "lammps-jax-pjrt-cpu 0.11.2, the CPU plugin of the XLA in jaxlib 0.11.2, with XLA's own defaults"


def find_plugin():
    found = importlib.util.find_spec("lammps_jax_pjrt_cpu")
    if found is None:
        sys.exit("conformance: no CPU plugin; run scripts/setup conformance")
    return str(pathlib.Path(found.origin).with_name("pjrt_c_api_cpu_plugin.so"))


def _judge(job):
    """One cell: judges its cases and looks for what flushing does not explain in XLA's results."""
    opcode, t, ours, xla, names = job
    cell, faults, deaths, lines, rows = report.Cell(opcode, t), [], [], [], []
    for case in CELLS[opcode](t):
        if case.name not in names:
            continue
        truths = judge.cached_expected(case, FOLDER)
        mine = _count_ours(cell, case, truths, ours[case.name])
        theirs = _count_xla(cell, case, truths, xla[case.name], ours[case.name], faults)
        if theirs.startswith("died"):
            deaths.append(report.Death(case))
        lines.append(f"{case.name} {mine} | {theirs}")
        if mine == "0 wrong" and sample.wanted(case):
            rows.append(sample.row(case, truths))
    return cell, faults, deaths, lines, [r for r in rows if r]


def _count_ours(cell, case, truths, results):
    cell.cases += 1
    if isinstance(results, str):
        cell.ours_missing.add(results)
        return results
    verdict = judge.judge(case, truths, results)
    cell.ours_ran += 1
    cell.elements += verdict.checked
    cell.ours = max(cell.ours, verdict.worst)
    cell.ours_wrong += verdict.wrong_count
    return f"{verdict.wrong_count} wrong" + (f" {verdict.worst:.4g} {verdict.wrong[:3]}" if verdict.wrong_count else "")


def _count_xla(cell, case, truths, results, ours, faults):
    if isinstance(results, str):
        cell.xla_missing.add(results)
        return results
    cell.xla_ran += 1
    verdict = judge.judge(case, truths, results, report.xla_bound(case))
    wrong = []
    for output, element, distance in verdict.wrong:
        bits = int(results[output].reshape(-1)[element]) if element >= 0 else 0
        truth = judge.true_value(case, truths, output, element) if element >= 0 else None
        if element >= 0 and report.explained_by_flushing(case, output, element, bits, truth):
            cell.xla_flushed += 1
        else:
            wrong.append((output, element, distance))
    cell.xla = max([cell.xla, verdict.within, *(d for _, _, d in wrong)])
    if wrong:
        cell.xla_wrong += len(wrong)
        faults.append(report.Fault(case, wrong, truths, results, ours))
    return f"{len(wrong)} wrong" + (f" {max(d for _, _, d in wrong):.4g} {wrong[:2]}" if wrong else "")


def main():
    global FOLDER
    parser = argparse.ArgumentParser()
    parser.add_argument("hloscope")
    parser.add_argument("work")
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--types", nargs="*")
    parser.add_argument("--no-xla", action="store_true")
    parser.add_argument("--write", action="store_true", help="write the pages, the sample and coverage.def")
    parser.add_argument("--assemble", action="store_true", help="write them from what earlier runs with --only left")
    options = parser.parse_args()
    FOLDER = pathlib.Path(options.work).resolve()
    FOLDER.mkdir(parents=True, exist_ok=True)
    hloscope = str(pathlib.Path(options.hloscope).resolve())
    if options.assemble:
        judged = [found for opcode in sorted(CELLS) if judged_file(opcode).exists()
                  for found in pickle.loads(judged_file(opcode).read_bytes())]
        return write_pages(judged, lambda cases: runs.run_xla(hloscope, find_plugin(), cases, FOLDER))
    jobs = [(opcode, t) for opcode in sorted(CELLS) for t in TYPES
            if (not options.only or opcode in options.only) and (not options.types or t.name in options.types)]
    made = {job: CELLS[job[0]](job[1]) for job in jobs}
    everything = [c for some in made.values() for c in some]
    runs.write_modules(everything, FOLDER)
    kept = runs.allowed(hloscope, everything, FOLDER)
    print(f"{len(everything)} cases, {len(kept)} allowed", file=sys.stderr)
    ours = runs.interpret(hloscope, kept, FOLDER)
    xla = {c.name: "not run" for c in kept} if options.no_xla else runs.run_xla(hloscope, find_plugin(), kept, FOLDER)
    work = []
    for (opcode, t), some in made.items():
        names = {c.name for c in some} & set(ours)
        if names:
            work.append((opcode, t, {n: ours[n] for n in names}, {n: xla[n] for n in names}, names))
    judged = []
    with multiprocessing.Pool(2) as pool:
        for (opcode, *_), found in zip(work, pool.imap(_judge, work)):
            judged.append(found)
            print("\n".join(found[3]), flush=True)
            if not options.types:
                judged_file(opcode).write_bytes(pickle.dumps([f for f in judged if f[0].opcode == opcode]))
    report.summary([cell for cell, *_ in judged])
    if options.write:
        write_pages(judged, lambda cases: runs.run_xla(hloscope, find_plugin(), cases, FOLDER))


def judged_file(opcode):
    return FOLDER / f"{opcode}.judged"


def write_pages(judged, run_xla):
    here = pathlib.Path(__file__).parent
    cells = [cell for cell, *_ in judged]
    report.write_tsv(cells, here / "coverage.tsv")
    report.write_markdown(cells, here / "coverage.md", XLA_NAME)
    report.write_def(cells, here.parents[1] / "core" / "eval" / "coverage.def")
    report.write_faults([f for found in judged for f in found[1]], [d for found in judged for d in found[2]],
                        here / "known_xla_faults.md", XLA_NAME,
                        lambda cases: (runs.write_modules(cases, FOLDER), run_xla(cases))[1])
    report.summary(cells)
    rows = [row for *_, some in judged for row in some if len(row) <= sample.LONGEST]
    (here / "sample.tsv").write_text("".join(row + "\n" for row in rows))


if __name__ == "__main__":
    main()
