#!/usr/bin/env python3
"""Makes a big dump out of small ones: their files under new module ids, in turns, until there are enough.

  made_dump.py OUT COUNT DUMP…"""
import os
import re
import sys

ID = re.compile(r'(^|\.)module_(\d{4,18})(?=\.|$)')


def files_of(top):
    """(path below top, bytes) of the files whose path names a module."""
    found = []
    for folder, _, names in sorted(os.walk(top)):
        for name in sorted(names):
            path = os.path.join(folder, name)
            below = os.path.relpath(path, top)
            if any(ID.search(part) for part in below.split(os.sep)) and os.path.isfile(path):
                with open(path, 'rb') as file:
                    found.append((below, file.read()))
    return found


def make(out, count, dumps):
    sources = [files_of(dump) for dump in dumps]
    written, offset = 0, 0
    while written < count:
        for files in sources:
            ids = sorted({int(m.group(2)) for below, _ in files for m in map(ID.search, below.split(os.sep)) if m})
            number = {old: offset + k for k, old in enumerate(ids)}
            offset += len(ids)
            for below, data in files[:count - written]:
                parts = [ID.sub(lambda m: f'{m[1]}module_{number[int(m[2])]:04d}', part) for part in below.split(os.sep)]
                path = os.path.join(out, *parts)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, 'wb') as file:
                    file.write(data)
                written += 1
    return written


if __name__ == '__main__':
    print(make(sys.argv[1], int(sys.argv[2]), sys.argv[3:]), 'files')
