#!/usr/bin/env python3
"""CPU time of the real window while nobody touches it: idle.py HLOSCOPE PATH… [--seconds 60]. Needs Xvfb; exit status 1 where it used any.

Prints the clock ticks (utime + stime of /proc/PID/stat) and how often any of its threads ran."""
import argparse
import os
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import display  # noqa: E402  (beside this file)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('hloscope')
    parser.add_argument('paths', nargs='+')
    parser.add_argument('--seconds', type=int, default=60)
    arguments = parser.parse_args()
    server, name = display.start()
    state = tempfile.TemporaryDirectory(prefix='hloscope_idle_')
    environment = {**os.environ, 'DISPLAY': ':' + name, 'XDG_STATE_HOME': state.name}
    viewer = subprocess.Popen([arguments.hloscope, 'open', *arguments.paths], env=environment)
    try:
        display.wait_until_still(viewer.pid)
        ticks, runs = display.ticks(viewer.pid), display.runs(viewer.pid)
        time.sleep(arguments.seconds)
        ticks, runs = display.ticks(viewer.pid) - ticks, display.runs(viewer.pid) - runs
    finally:
        viewer.kill()
        server.kill()
        viewer.wait()
        server.wait()
        state.cleanup()
    print(f'{ticks} ticks of CPU time in {arguments.seconds} s without input; its threads ran {runs} times')
    return 1 if ticks else 0


if __name__ == '__main__':
    sys.exit(main())
