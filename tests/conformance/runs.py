"""Runs cases on the interpreter and on XLA:CPU; everything goes through files in one folder."""
import hashlib
import json
import pathlib
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np

NUMPY = {"f16": "f2", "f32": "f4", "f64": "f8", "c64": "f4", "c128": "f8"}


def as_numpy(array):
    """An array's bits as the numpy type a .npy of its element type has; integers where numpy has no name for it."""
    t, bits = array.type, array.bits
    if t.kind == "complex":
        return np.ascontiguousarray(bits).view(f"c{t.bits // 8}").reshape(array.dims)
    if t.name in NUMPY:
        return bits.view(NUMPY[t.name]).reshape(array.dims)
    if t.kind == "pred":
        return bits.astype(bool).reshape(array.dims)
    return (bits.view(f"i{bits.itemsize}") if t.kind == "signed" else bits).reshape(array.dims)


def as_bits(t, array):
    """The bits of a result, flat; of integers narrower than a byte the low ones."""
    flat = np.ascontiguousarray(array).reshape(-1)
    bits = flat.view(t.storage) if flat.dtype.itemsize else flat
    if t.kind == "complex":
        return bits.reshape(-1, 2)
    return bits & ((1 << t.bits) - 1) if t.bits < 8 else bits


def write_modules(cases, folder):
    for case in cases:
        (folder / f"{case.name}.hlo").write_text(case.text)


def stamp_of(case, what, folder):
    """Where the outcome of a case on a program is kept: by the program, the module and the inputs."""
    digest = hashlib.sha256(what + case.text.encode())
    for a in case.inputs:
        digest.update(a.bits.tobytes())
    return folder / f"{case.name}.{digest.hexdigest()[:12]}.done"


def allowed(hloscope, cases, folder):
    """The cases whose modules shape inference accepts."""
    kept = []
    for at in range(0, len(cases), 500):
        some = cases[at:at + 500]
        done = subprocess.run([hloscope, "verify", "--json", *(f"{c.name}.hlo" for c in some)], cwd=folder,
                              capture_output=True, text=True)
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        good = {row["file"] for row in rows if row["status"] == "ok"}
        kept += [c for c in some if f"{c.name}.hlo" in good]
    return kept


def interpret(hloscope, cases, folder):
    """Results by case name: a list of bits, or a text that says why there are none."""
    program = hashlib.sha256(pathlib.Path(hloscope).read_bytes()).digest()

    def one(case):
        out = folder / f"{case.name}.ours.npz"
        stamp = stamp_of(case, program, folder)
        if not stamp.exists():
            stamp.write_text(run(case, out))
        outcome = stamp.read_text()
        if outcome != "ran":
            return case.name, outcome
        results = np.load(out)
        return case.name, [as_bits(a.type, results[f"out{i}"]) for i, a in enumerate(case.outputs)]

    def run(case, out):
        out.unlink(missing_ok=True)
        if case.inputs:
            np.savez(folder / f"{case.name}.npz", **{f"in{i}": as_numpy(a) for i, a in enumerate(case.inputs)})
        command = [hloscope, "run", "--json", f"{case.name}.hlo", "--outputs", str(out)]
        if case.inputs:
            command += ["--inputs", f"{case.name}.npz"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        if done.returncode < 0 or not done.stdout:
            return f"died: {done.returncode} {done.stderr[:200]}"
        report = json.loads(done.stdout.splitlines()[0])
        return "ran" if report["status"] == "ran" else f"{report['status']}: {report['error']}"

    with ThreadPoolExecutor(2) as pool:
        return dict(pool.map(one, cases))


class Worker:
    """pjrt.py in a process that is started again when a module kills it."""

    def __init__(self, plugin):
        self.plugin, self.process = plugin, None

    def ask(self, line):
        if self.process is None:
            script = pathlib.Path(__file__).with_name("pjrt.py")
            self.process = subprocess.Popen([sys.executable, str(script), self.plugin], text=True,
                                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().strip()
        if answer:
            return answer
        code = self.process.wait()
        self.process = None
        return f"died: exit status {code}"


def run_xla(hloscope, plugin, cases, folder):
    """As interpret(), on XLA:CPU; what is in the folder from the same module and inputs is taken from there."""
    wanted, answers = [], {}
    for case in cases:
        if any(a.type.pjrt is None for a in [*case.inputs, *case.outputs]):
            answers[case.name] = "rejected: no such PJRT type"
            continue
        digest = hashlib.sha256(case.text.encode())
        for a in case.inputs:
            digest.update(a.bits.tobytes())
        stamp = folder / f"{case.name}.xla.{digest.hexdigest()[:12]}"
        if stamp.exists():
            answers[case.name] = stamp.read_text()
        else:
            wanted.append((case, stamp))
    for at in range(0, len(wanted), 500):
        subprocess.run([hloscope, "convert", "--to", "pb", "--out-dir", "pb",
                        *(f"{c.name}.hlo" for c, _ in wanted[at:at + 500])], cwd=folder, capture_output=True)
    workers = [Worker(plugin), Worker(plugin)]

    def one(job):
        worker, (case, stamp) = job
        arguments = {"_".join([f"in{i}", a.type.name, *map(str, a.dims)]): a.bits for i, a in enumerate(case.inputs)}
        np.savez(folder / f"{case.name}.xla-in.npz", **arguments)
        answer = worker.ask(f"{folder}/pb/{case.name}.hlo.pb {folder}/{case.name}.xla-in.npz {folder}/{case.name}.xla.npz")
        stamp.write_text(answer)
        return case.name, answer

    def share(k):
        return [one((workers[k], job)) for job in wanted[k::2]]

    with ThreadPoolExecutor(2) as pool:
        for part in pool.map(share, (0, 1)):
            answers.update(part)
    results = {}
    for case in cases:
        if answers[case.name] != "ok":
            results[case.name] = answers[case.name]
            continue
        saved = np.load(folder / f"{case.name}.xla.npz")
        results[case.name] = [as_bits(a.type, saved[f"out{i}"]) for i, a in enumerate(case.outputs)]
    return results
