#!/usr/bin/env python3
"""Makes compilation.xplane.pb.gz: what jax.profiler.trace leaves of two compilations, without the name of the machine.

  python tests/profiler/make_compilation_trace.py FILE        (needs jax)"""
import glob
import gzip
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'samples'))
from make_trace import without_host


def main():
    import jax
    jax.config.update('jax_hlo_source_file_canonicalization_regex', '.*/')

    def attend(q, k):
        return jax.nn.softmax(q @ k.T) @ k

    def settle(x):
        return jax.lax.fori_loop(0, 3, lambda _, y: jax.numpy.sin(y) @ y, x)

    x = jax.numpy.ones((8, 8))
    options = jax.profiler.ProfileOptions()
    options.python_tracer_level = 0
    programs = jax.jit(attend).lower(x, x), jax.jit(settle).lower(x)
    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder, profiler_options=options):
            for program in programs:
                program.compile()
        [path] = glob.glob(folder + '/**/*.xplane.pb', recursive=True)
        with open(path, 'rb') as file:
            space = without_host(file.read())
    with open(sys.argv[1], 'wb') as file:
        file.write(gzip.compress(space, 9, mtime=0))


if __name__ == '__main__':
    main()
