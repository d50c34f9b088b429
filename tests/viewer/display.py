"""A display without a screen, and what a process under it did."""
import glob
import os
import subprocess
import time


def start():
    """Xvfb on a display number that it chooses, and that number."""
    read, write = os.pipe()
    server = subprocess.Popen(['Xvfb', '-displayfd', str(write), '-screen', '0', '1600x1000x24', '-nolisten', 'tcp'],
                              pass_fds=[write], stderr=subprocess.DEVNULL)
    os.close(write)
    with os.fdopen(read) as pipe:
        return server, pipe.readline().strip()


def ticks(pid):
    """Clock ticks of CPU time that a process has used."""
    with open(f'/proc/{pid}/stat', encoding='utf-8') as f:
        fields = f.read().rsplit(')', 1)[1].split()
    return int(fields[11]) + int(fields[12])


def runs(pid):
    """How often its threads were put aside after they ran: unchanged, none of them ran, and no frame was drawn."""
    total = 0
    for path in glob.glob(f'/proc/{pid}/task/*/status'):
        try:
            with open(path, encoding='utf-8') as f:
                total += sum(int(line.split()[1]) for line in f if 'ctxt_switches' in line)
        except OSError:
            pass  # the thread ended meanwhile
    return total


def wait_until_still(pid, still_s=2, most_s=120):
    """Returns once no thread of the process ran for that long; False where that never comes."""
    end = time.monotonic() + most_s
    last, since = runs(pid), time.monotonic()
    while time.monotonic() < end:
        time.sleep(0.1)
        now = runs(pid)
        if now != last:
            last, since = now, time.monotonic()
        elif time.monotonic() - since >= still_s:
            return True
    return False
