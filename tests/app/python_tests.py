"""What tests of the Python package share: the package of the source tree, and an interpreter that has what a test needs."""
import os
import subprocess
import sys

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PACKAGE = os.path.join(SOURCE, 'python')
SKIPPED = 77


def use(program):
    """Makes `import hloscope` that of the source tree, with this program."""
    sys.dont_write_bytecode = True
    sys.path.insert(0, PACKAGE)
    os.environ.update(HLOSCOPE_PROGRAM=os.path.abspath(program), PYTHONPATH=PACKAGE, PYTHONDONTWRITEBYTECODE='1')


def has(python, *packages):
    code = 'import importlib.util as u, sys; sys.exit(not all(u.find_spec(p) for p in sys.argv[1:]))'
    try:
        return subprocess.run([python, '-c', code, *packages], check=False, capture_output=True, timeout=60).returncode == 0
    except OSError:
        return False


def need(pythons, *packages):
    """Runs this test again by the first interpreter that has the packages, unless this one has them; ends it as skipped where none has."""
    if has(sys.executable, *packages):
        return
    for python in pythons:
        if has(python, *packages):
            os.execv(python, [python, *sys.argv])
    print(f'no Python with {", ".join(packages)} (scripts/setup python makes .venv-python)')
    sys.exit(SKIPPED)


def own_python():
    return os.path.join(SOURCE, '.venv-python', 'bin', 'python')


def processes_with(word):
    """The processes that are not zombies and have `word` in their command line or environment."""
    found = []
    for name in os.listdir('/proc'):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            with open(f'/proc/{name}/cmdline', 'rb') as file:
                text = file.read()
            with open(f'/proc/{name}/environ', 'rb') as file:
                text += file.read()
        except OSError:
            continue
        if word.encode() in text:
            found.append(int(name))
    return found
