"""No file makes its reader take more memory than twice the limit file-memory, beyond its own bytes and what the program takes by itself.

memory_bombs_test.py HLOSCOPE [--table] [--only WORD]: writes each file of memory_bombs.py, opens it with --limit file-memory=8 MiB (and the
limits of archives at the same number), and compares the largest resident memory of the process (getrusage of the child). --table prints the
rows of docs/memory.md, with the memory that the same command takes without limits.
"""
import argparse
import os
import resource
import shutil
import signal
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from memory_bombs import BOMBS, LIMIT

PROGRAM = 24 << 20  # what opening a small file takes, and its report
SECONDS = 120
LIMITS = f"file-memory={LIMIT},archive={LIMIT},archive-member={LIMIT}"


def resident(command, output):
    """The exit status and the largest resident memory in bytes of one process."""
    child = os.fork()
    if child == 0:
        try:
            with open(output, "wb") as out:
                os.dup2(out.fileno(), 1)
                os.dup2(out.fileno(), 2)
            os.environ["HLOSCOPE_CACHE_DIR"] = os.path.dirname(output)
            os.environ["XDG_CACHE_HOME"] = os.path.dirname(output)
            signal.alarm(SECONDS)
            resource.setrlimit(resource.RLIMIT_AS, (5 << 30, 5 << 30))
            os.execv(command[0], command)
        finally:
            os._exit(127)
    _, status, usage = os.wait4(child, 0)
    return os.waitstatus_to_exitcode(status), usage.ru_maxrss << 10


def write_apart(write, path):
    """In a process of its own: a child's largest memory begins with that of its parent."""
    child = os.fork()
    if child == 0:
        try:
            write(path)
            os._exit(0)
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert status == 0, path


def size_of(path):
    if os.path.isdir(path):
        return max(os.path.getsize(os.path.join(path, name)) for name in os.listdir(path))
    return os.path.getsize(path)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("hloscope")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        module = os.path.join(folder, "module.hlo")
        with open(module, "w") as out:
            out.write("HloModule m\n\nENTRY e {\n  ROOT p = f32[] parameter(0)\n}\n")
        output = os.path.join(folder, "output")
        for reader, kind, arguments, name, refused, write in BOMBS:
            if options.only and options.only not in f"{reader}: {kind}":
                continue
            path = os.path.join(folder, name)
            write_apart(write, path)
            words = [{"FILE": path, "MODULE": module}.get(word, word) for word in arguments]
            limits = ["--limit", LIMITS]
            status, peak = resident([options.hloscope, *words, *limits], output)
            with open(output, errors="replace") as text:
                said = text.read()
            own = size_of(path)
            most = own * (2 if arguments[0] == "compare" else 1) + 2 * LIMIT + PROGRAM
            is_refused = "raise it with --limit" in said
            line = next((l for l in said.splitlines() if "limit" in l), said[:160].replace("\n", " "))
            ends = status in (0, 1, 2, 3)
            fine = peak <= most and ends and is_refused == refused
            bad += not fine
            if options.table:
                _, free = resident([options.hloscope, *words], output)
                print(f"| {reader} | {kind} | {own / 1e6:.2f} | {free / (1 << 20):.0f} | {peak / (1 << 20):.0f} | {'refused' if is_refused else 'read'} |", flush=True)
            else:
                print(f"{'ok  ' if fine else 'BAD '} {reader}: {kind}: {own / 1e6:.1f} MB, peak {peak / (1 << 20):.0f} MiB of {most / (1 << 20):.0f}, exit {status}, {'refused' if is_refused else 'read'}: {line[:150]}", flush=True)
            shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
