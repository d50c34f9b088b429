#!/usr/bin/env python3
"""Our GPU kernels beside XLA:GPU's for the same modules, without a GPU: as a table in Markdown.

  gpu_kernels.py HLOSCOPE MODULE... [--target h100] [--ptxas PATH] [--seconds 120] [--threads N]

For each module: launches, registers of a thread, spills, shared memory and the occupancy that follows (ptxas -v, of the kernel that
has the most), and bytes between the processors and memory, by the counters of the simulated GPU: what was touched at least, and sectors;
the time of all launches by the model (docs/gpu-model.md), and that with all units at their peaks alone, which was the model before.
Both sides run on the simulated GPU; what libraries do (cuBLAS, cuDNN, cuFFT, CUB) it does not count, so modules where either side leaves
work to a library or to the evaluator are marked and left out of the geometric mean. XLA's side needs its CUDA plugin, but no device."""
import argparse
import gzip
import json
import math
import os
import re
import shutil
import subprocess
import tempfile

# Of a multiprocessor of sm_80 and sm_90 (CUDA C++ Programming Guide, compute capabilities).
REGISTERS, THREADS, BLOCKS, SHARED = 65536, 2048, 32, {"sm_80": 164 << 10, "sm_90": 228 << 10}
FIGURES = ("touched_bytes", "global_load_sectors", "global_store_sectors",
           "shared_load_bank_conflicts", "shared_store_bank_conflicts", "instructions_executed")
SECTOR = 32
MODELS = ("model_us", "model_peak_us")


def occupancy(registers, shared, threads, arch):
    warps = -(-threads // 32)
    of_registers = REGISTERS // max(1, warps * 32 * -(-registers // 8) * 8)
    of_shared = SHARED[arch] // (shared + 1024)
    return min(of_registers, of_shared, BLOCKS, THREADS // (warps * 32)) * warps * 32 / THREADS


def assembled(texts, arch, ptxas, folder):
    """What ptxas says of every kernel: name, registers, bytes of spills, shared memory, threads."""
    kernels = []
    for i, text in enumerate(texts):
        path = os.path.join(folder, f"{i}.ptx")
        with open(path, "w") as file:
            file.write(text)
        done = subprocess.run([ptxas, "-v", f"-arch={arch}", path, "-o", os.devnull],
                              capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stderr[:300])
        said = re.split(r"Compiling entry function '", done.stderr)[1:]
        for each in said:
            name = each.split("'")[0]
            entry = re.search(r"\.entry\s+" + re.escape(name) + r"\b.*?\{", text, re.S).group(0)
            threads = re.search(r"\.(?:reqntid|maxntid)\s+(\d+)(?:,\s*(\d+))?(?:,\s*(\d+))?", entry)
            count = math.prod(int(x) for x in threads.groups() if x) if threads else 128
            numbers = [int(re.search(pattern, each).group(1)) if re.search(pattern, each) else 0
                       for pattern in (r"Used (\d+) registers", r"(\d+) bytes spill stores",
                                       r"(\d+) bytes smem")]
            kernels.append((name, *numbers, count))
    return kernels


def counters(hloscope, module, platform, folder, options):
    """Sums over all launches of a run, how many there were, and what ran elsewhere."""
    out = os.path.join(folder, platform)
    run = subprocess.run([hloscope, "run", module, "--platform", platform, "--target", options.target, "--seed", "7", "--json",
                          "--profile", out + ".hloprof", "--threads", str(options.threads), "--deadline", str(options.seconds)],
                         capture_output=True, text=True, timeout=options.seconds)
    last = json.loads(run.stdout.splitlines()[-1]) if run.stdout.strip() else {}
    if run.returncode:
        raise RuntimeError(f"{platform}: " + (run.stderr.strip().splitlines() or ["failed"])[-1][:200])
    executed = last.get("executed") or {}
    subprocess.run([hloscope, "profile", out + ".hloprof", "--out", out + ".json"], check=True,
                   capture_output=True)
    read = subprocess.run([hloscope, "profile", out + ".hloprof", "--json"], check=True,
                          capture_output=True, text=True)
    rows = [r for r in json.loads(read.stdout)["instructions"] if r.get("model_us")]
    times = [sum(r[key] for r in rows) for key in MODELS]
    with open(out + ".json") as file:
        trace = json.load(file)
    events = trace["traceEvents"] if isinstance(trace, dict) else trace
    sums, launches = dict.fromkeys(FIGURES, 0), 0
    # Our own kernels have a sample for each launch; events may stand for several.
    counted = any(event.get("ph") == "C" and event.get("name") in FIGURES for event in events)
    for event in events:
        args = event.get("args") or {}
        if event.get("ph") == "C" and event.get("name") in FIGURES:
            sums[event["name"]] += sum(args.values())
            launches += event["name"] == "instructions_executed"
        elif "instructions_executed" in args and not counted:
            for name in FIGURES:
                sums[name] += float(args.get(name, 0))
            launches += 1
    elsewhere = executed.get("library_calls", 0) + executed.get("evaluated", 0)
    return sums, launches, elsewhere, times


def ours(hloscope, module, folder, options):
    path = os.path.join(folder, "ours.ptx")
    subprocess.run([hloscope, "compile", module, "--emit", "ptx", "--target", options.target, "-o",
                    path], check=True, capture_output=True)
    with open(path) as file:
        return [file.read()]


def theirs(hloscope, module, folder, options):
    dump = os.path.join(folder, "dump")
    subprocess.run([hloscope, "compile", module, "--with", "xla-gpu", "--target", options.target,
                    "--dump", dump], check=True, capture_output=True, timeout=options.seconds)
    texts = []
    for root, _, names in os.walk(dump):
        for name in names:
            if name.endswith((".ptx", ".ptx.gz")):
                opener = gzip.open if name.endswith(".gz") else open
                with opener(os.path.join(root, name), "rt") as file:
                    texts.append(file.read())
    return texts


def row(hloscope, module, options):
    folder = tempfile.mkdtemp()
    try:
        sides = []
        for texts_of, platform in ((ours, "gpu-sim"), (theirs, "xla-gpu-sim")):
            texts = texts_of(hloscope, module, folder, options)
            arch = options.arch
            kernels = []
            for text in texts:
                own = re.search(r"\.target (sm_\d+a?)", text).group(1)
                kernels += assembled([text], own, options.ptxas, folder)
            side = {"registers": max((k[1] for k in kernels), default=0),
                    "spills": sum(k[2] for k in kernels),
                    "shared": max((k[3] for k in kernels), default=0),
                    "occupancy": min((occupancy(k[1], k[3], k[4], arch) for k in kernels), default=1)}
            sums, launches, elsewhere, times = counters(hloscope, module, platform, folder, options)
            side.update(sums, launches=launches, elsewhere=elsewhere, times=times,
                        traffic=SECTOR * (sums["global_load_sectors"] + sums["global_store_sectors"]))
            sides.append(side)
        return sides
    finally:
        shutil.rmtree(folder)


def size(count):
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            return f"{count:.3g} {unit}"
        count /= 1000


def of(path):
    """A module's name: of a dump that of its folder."""
    parts = path.split("/")
    if "dump" in parts:
        return parts[parts.index("dump") - 1]
    return re.sub(r"\.(hlo|hlo\.pb|txt)$", "", parts[-1])


def ratio(a, b):
    return f"{a / b:.2f}" if b else ""


def geometric_mean(numbers):
    return math.exp(sum(map(math.log, numbers)) / len(numbers))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("hloscope")
    parser.add_argument("modules", nargs="+")
    parser.add_argument("--target", default="h100")
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--ptxas", default=shutil.which("ptxas") or "/usr/local/cuda/bin/ptxas")
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    titles = ("module", "launches", "registers", "spills", "shared", "occupancy", "touched", "asked for", "instructions", "model, us",
              "peaks, us", "touched", "asked for", "instructions", "model", "peaks")
    print("| " + " | ".join(titles) + " |\n|" + "---|" * len(titles))
    ratios, spills = [], 0
    for module in options.modules:
        try:
            a, b = row(options.hloscope, module, options)
        except (RuntimeError, subprocess.SubprocessError, AttributeError) as error:
            print(f"| `{of(module)}` | {str(error)[:160]} |", flush=True)
            continue
        pair = [f"{a[k]} / {b[k]}" for k in ("launches", "registers", "spills")]
        pair.append(f"{size(a['shared'])} / {size(b['shared'])}")
        pair.append(f"{100 * a['occupancy']:.0f} / {100 * b['occupancy']:.0f} %")
        pair += [f"{size(a[k])} / {size(b[k])}" for k in ("touched_bytes", "traffic")]
        pair.append(f"{a['instructions_executed']:.3g} / {b['instructions_executed']:.3g}")
        pair += [f"{x:.3g} / {y:.3g}" for x, y in zip(a["times"], b["times"])]
        sides = [[side[k] for k in ("touched_bytes", "traffic", "instructions_executed")] + side["times"] for side in (a, b)]
        if not a["elsewhere"] and not b["elsewhere"] and all(sides[0]) and all(sides[1]):
            ratios.append([x / y for x, y in zip(*sides)])
            pair += [f"{x:.2f}" for x in ratios[-1]]
        else:
            pair += [ratio(x, y) + "*" for x, y in zip(*sides)]
        spills += a["spills"] > 0 and b["spills"] == 0
        print(f"| `{of(module)}` | " + " | ".join(pair) + " |", flush=True)
    if ratios:
        means = ", ".join(f"{title} {geometric_mean(column):.2f} (most {max(column):.2f})"
                          for title, column in zip(titles[-5:], zip(*ratios)))
        print(f"\n{len(ratios)} modules without work elsewhere (*), in the geometric mean: {means}; spills where XLA has none: {spills}")


if __name__ == "__main__":
    main()
