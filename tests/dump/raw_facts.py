"""Facts of a dump from its raw files, with regular expressions only: what `hloscope info --json` is held to."""
import gzip
import os
import re


def text_of(path):
    with open(path, 'rb') as f:
        data = f.read()
    return (gzip.decompress(data) if path.endswith('.gz') else data).decode('latin-1')


def facts_of(folder, names=None):
    """For each module id of a flat folder: names of PTX and CPU kernels, bytes of all allocations, numbered passes in order."""
    facts = {}
    for name in sorted(os.listdir(folder)):
        found = re.match(r'(?:\d{10,}\.)?module_(\d{4,})\.', name)
        path = os.path.join(folder, name)
        if not found or not os.path.isfile(path):
            continue
        fact = facts.setdefault(int(found[1]), {'ptx': [], 'cpu': [], 'peak': None, 'passes': [], 'fusions': {}})
        bare = name[:-3] if name.endswith('.gz') else name
        if bare.endswith('.ptx'):
            fact['ptx'] += re.findall(r'^\.(?:visible |weak )*\.?entry ([\w$]+)', text_of(path), re.M)
        elif bare.endswith('.ir-with-opt.ll') and 'nvptx' not in text_of(path):
            defined = re.findall(r'^define (?!internal|private|linkonce)[^@\n]*@("[^"]+"|[^ (]+)\(', text_of(path), re.M)
            fact['cpu'] += [one.strip('"') for one in defined]
        elif bare.endswith('-buffer-assignment.txt'):
            sizes = re.findall(r'^allocation \d+: size (\d+)', text_of(path), re.M)
            fact['peak'] = sum(map(int, sizes))
        elif bare.endswith('.txt'):
            step = re.search(r'\.(\d{4,})\.([^.]+)\.after_(.*?)(?:\.before_.*)?\.txt$', bare)
            if step and 'HloModule' in text_of(path)[:4096]:
                fact['passes'].append((int(step[1]), step[2], step[3]))
            stage = re.search(r'\.(before_optimizations|[\w.]*after_optimizations)\.txt$', bare)
            if stage:
                fact['fusions'][stage[1]] = len(re.findall(r'^ .* fusion\(', text_of(path), re.M))
    return facts
