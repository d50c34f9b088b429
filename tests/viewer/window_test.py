#!/usr/bin/env python3
"""The real window under Xvfb with real mouse and keyboard: window_test.py HLOSCOPE SAMPLES. Exit status 77: no Xvfb or xdotool here."""
import glob
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import display  # noqa: E402  (beside this file)

DEADLINE_S = 60


def wait_for(what, ready):
    """Asks `ready` until it answers something true; ends the test where it never does."""
    end = time.monotonic() + DEADLINE_S
    while time.monotonic() < end:
        answer = ready()
        if answer:
            return answer
        time.sleep(0.05)
    sys.exit(f'no {what} after {DEADLINE_S} s')


def drive(viewer, environment, state):
    """Clicks the tab of Passes, changes the theme, waits until it rests, quits; what the session says then."""
    def xdo(*words):
        return subprocess.run(['xdotool', *words], env=environment, capture_output=True, text=True, check=False).stdout.split()
    window = wait_for('window', lambda: xdo('search', '--onlyvisible', '--name', 'hloscope'))[0]
    wait_for('title', lambda: 'mlp_train_step' in ' '.join(xdo('getwindowname', window)))
    xdo('windowfocus', '--sync', window)
    time.sleep(1)
    xdo('mousemove', '--sync', '--window', window, '150', '18')
    time.sleep(0.3)
    xdo('click', '1')
    time.sleep(0.5)
    xdo('key', '--clearmodifiers', 'ctrl+t')
    # No thread of it runs for 3 s: no frame is drawn, nothing asks again and again.
    if not display.wait_until_still(viewer.pid, still_s=3, most_s=DEADLINE_S):
        sys.exit(f'the window still draws {DEADLINE_S} s after the last input, expected rest')
    xdo('key', '--clearmodifiers', 'ctrl+q')
    viewer.wait(DEADLINE_S)
    with open(glob.glob(state + '/hloscope/viewer/session-*.json')[0], encoding='utf-8') as f:
        session = json.load(f)
    with open(state + '/hloscope/viewer/settings.json', encoding='utf-8') as f:
        return session, json.load(f)


def limits(hloscope, samples, environment):
    """What is wrong where drivers of Mesa crash or wait forever: a message and an exit status, and a trial that does start with enough."""
    wrong = []
    for megabytes, expected in ((300, 2), (16000, 0)):
        space = (megabytes << 20, megabytes << 20)
        trial = {'HLOSCOPE_OPENGL_TRIAL': '1'} if expected == 0 else {}
        picture = ['--screenshot', os.path.join(environment['XDG_STATE_HOME'], 'trial.png')] if trial else []
        done = subprocess.run([hloscope, 'open', samples + '/conv_net', *picture], env={**environment, **trial}, capture_output=True, text=True,
                              timeout=4 * DEADLINE_S, check=False, preexec_fn=lambda s=space: resource.setrlimit(resource.RLIMIT_AS, s))
        if done.returncode != expected or ('OpenGL does not start within the limit' in done.stderr) != (expected == 2):
            wrong.append(f'{megabytes} MB: exit status {done.returncode}, expected {expected}: {done.stderr}')
    return wrong


def main(hloscope, samples):
    if not shutil.which('Xvfb') or not shutil.which('xdotool'):
        print('no Xvfb or no xdotool: not tested')
        return 77
    server, name = display.start()
    state = tempfile.mkdtemp(prefix='hloscope_window_')
    environment = {**os.environ, 'DISPLAY': ':' + name, 'XDG_STATE_HOME': state}
    viewer = subprocess.Popen([hloscope, 'open', samples + '/mlp_train_step', '--size', '1200x800', '--scale', '1'], env=environment)
    try:
        session, settings = drive(viewer, environment, state)
        wrong = limits(hloscope, samples, environment)
    finally:
        viewer.kill()
        server.kill()
        viewer.wait()
        server.wait()
        shutil.rmtree(state)
    if viewer.returncode != 0:
        wrong.append(f'exit status {viewer.returncode}, expected 0')
    if session['screen'] != 'passes':
        wrong.append(f'the screen is {session["screen"]}, expected passes after the click')
    if settings['theme'] != 'light':
        wrong.append(f'the theme is {settings["theme"]}, expected light after Ctrl+T')
    print('\n'.join(wrong) or 'mouse, keyboard, idle and session as expected')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
