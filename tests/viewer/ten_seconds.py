#!/usr/bin/env python3
"""Do the three pictures say what they mean? Somebody who sees one picture of a dump, and nothing else, writes down what it says.

  ten_seconds.py pictures HLOSCOPE FOLDER DUMP…   NN.png of the screen Graph of each dump, and NN.json of `info --json`
  ten_seconds.py check FOLDER                     compares FOLDER/answers.json with them; exit status 1 if any differs

answers.json is an object by picture ("01", …) of: operations, kernels, libraries, copies, collectives, host (numbers), host_bytes (as it
stands in the picture, or "none"), shown (the name of what is shown), shown_operations (how many operations are in it: the first number after its name)."""
import json
import pathlib
import subprocess
import sys

COUNTS = ('operations', 'kernels', 'libraries', 'copies', 'collectives', 'host')


def pictures(program, folder, dumps):
    folder.mkdir(parents=True, exist_ok=True)
    for number, dump in enumerate(dumps, 1):
        stem = folder / f'{number:02d}'
        theme = 'light' if number % 2 == 0 else 'dark'
        subprocess.run([program, 'open', dump, '--screenshot', f'{stem}.png', '--screen', 'graph', '--theme', theme], check=True)
        text = subprocess.run([program, 'info', dump, '--json'], capture_output=True, text=True, check=True).stdout
        pathlib.Path(f'{stem}.json').write_text(text, encoding='utf-8')


def differences(answer, overview):
    """What the reader wrote otherwise than `info --json` says."""
    for name in COUNTS:
        if int(answer[name]) != overview[name]:
            yield f'{name}: read {answer[name]}, expected {overview[name]}'
    moves = str(answer['host_bytes']).lower() not in ('none', '0', '')
    # Where host and device share their memory nothing moves: what the operations read and write.
    expected = overview['host_bytes'] or overview['host_work_bytes']
    if moves != (expected > 0):
        yield f'host_bytes: read {answer["host_bytes"]}, expected {expected}'
    shown = overview['shown'] or {'instruction': 'none', 'operations': 0}
    if answer['shown'] != shown['instruction']:
        yield f'shown: read {answer["shown"]}, expected {shown["instruction"]}'
    if int(answer['shown_operations']) != shown['operations']:
        yield f'shown_operations: read {answer["shown_operations"]}, expected {shown["operations"]}'


def check(folder):
    answers = json.loads((folder / 'answers.json').read_text(encoding='utf-8'))
    right = 0
    dumps = sorted(folder.glob('[0-9][0-9].json'))
    for path in dumps:
        modules = json.loads(path.read_text(encoding='utf-8'))['modules']
        answer = answers[path.stem]
        # The module in view is one of those that were compiled.
        all_of_them = [list(differences(answer, m['overview'])) for m in modules if m['overview']]
        found = min(all_of_them, key=len)
        right += not found
        print(f'{path.stem}: {"right" if not found else "; ".join(found)}')
    print(f'{right} of {len(dumps)} right')
    return 0 if right == len(dumps) else 1


def main():
    if len(sys.argv) > 4 and sys.argv[1] == 'pictures':
        return pictures(sys.argv[2], pathlib.Path(sys.argv[3]), sys.argv[4:])
    if len(sys.argv) == 3 and sys.argv[1] == 'check':
        return check(pathlib.Path(sys.argv[2]))
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == '__main__':
    sys.exit(main())
