#!/usr/bin/env python3
"""The Debian packages of scripts/deb: deb_test.py SOURCE BUILD. Skipped (77) without dpkg-deb and dpkg-shlibdeps.

Their fields and files, that the program runs from where they are unpacked, and what lintian and desktop-file-validate say where those are installed."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree
from pathlib import Path

SOURCE, BUILD = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
PACKAGES = ('hloscope', 'hloscope-viewer', 'hloscope-dev', 'hloscope-doc')
# What lintian calls an error, and why it is so here.
EXPLAINED = {
    'embedded-library': 'zlib is linked statically: every start opens the libraries that a program names',
}
if not (shutil.which('dpkg-deb') and shutil.which('dpkg-shlibdeps')):
    print('skipped: no dpkg-deb or dpkg-shlibdeps')
    sys.exit(77)


def run(*words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True)


class Deb(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        out = Path(cls.folder.name)
        done = run(SOURCE / 'scripts/deb', out, BUILD)
        assert done.returncode == 0, done.stdout + done.stderr
        cls.debs = {path.name.split('_')[0]: path for path in out.glob('*.deb')}
        cls.root = out / 'root'
        for deb in cls.debs.values():
            assert run('dpkg-deb', '-x', deb, cls.root).returncode == 0

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def field(self, package, name):
        return run('dpkg-deb', '-f', self.debs[package], name).stdout.strip()

    def test_fields(self):
        self.assertEqual(sorted(self.debs), sorted(PACKAGES))
        self.assertRegex(self.field('hloscope', 'Depends'), r'libc6 \(>= 2\.36\)')
        self.assertRegex(self.field('hloscope', 'Depends'), r'libdnnl')
        self.assertNotRegex(self.field('hloscope', 'Depends'), 'llvm|protobuf|fonts')
        self.assertRegex(self.field('hloscope-viewer', 'Depends'), r'hloscope \(= .*fonts-inter')
        self.assertEqual(self.field('hloscope-doc', 'Architecture'), 'all')
        for package in PACKAGES:
            self.assertRegex(self.field(package, 'Description'), r'\n ')

    def test_files(self):
        usr = self.root / 'usr'
        for name in ('bin/hloscope', 'share/man/man1/hloscope.1.gz', 'share/applications/hloscope.desktop', 'share/mime/packages/hloscope.xml',
                     'share/icons/hicolor/scalable/apps/hloscope.svg', 'share/icons/hicolor/256x256/apps/hloscope.png', 'lib/libhloscope_runtime.a',
                     'share/hloscope/samples/gpt_train_step/gpt_train_step.xplane.pb.gz',
                     *(f'share/doc/{package}/copyright' for package in PACKAGES)):
            self.assertTrue((usr / name).is_file(), name)
        self.assertFalse((usr / 'share/hloscope/fonts').exists())
        licences = (usr / 'share/doc/hloscope/copyright').read_text(encoding='utf-8')
        for part in ('llvm', 'imgui', 'glfw', 'protobuf', 'ducc0', 'zlib'):
            self.assertIn(part, licences)
        for path in usr.rglob('*'):
            if path.is_file() and path.read_bytes()[:4] == b'\x7fELF':
                self.assertNotRegex(run('readelf', '-d', path).stdout, r'R(UN)?PATH.*(/build/|/llvm)', path)

    def test_the_program_runs(self):
        program = self.root / 'usr/bin/hloscope'
        self.assertEqual(run(program, 'run', SOURCE / 'samples/mlp_train_step', '--no-cache').returncode, 0)
        self.assertIn('name: hloscope', run(program, 'skill').stdout)
        picture = Path(self.folder.name) / 'picture.png'
        self.assertEqual(run(program, 'open', SOURCE / 'samples/conv_net', '--screenshot', picture).returncode, 0)

    def test_desktop(self):
        entry = self.root / 'usr/share/applications/hloscope.desktop'
        if shutil.which('desktop-file-validate'):
            self.assertEqual(run('desktop-file-validate', entry).stdout, '')
        space = '{http://www.freedesktop.org/standards/shared-mime-info}'
        types = xml.etree.ElementTree.parse(self.root / 'usr/share/mime/packages/hloscope.xml').getroot()
        names = {kind.get('type') for kind in types.iter(space + 'mime-type')}
        self.assertEqual(set(re.search('^MimeType=(.*);$', entry.read_text(), re.M)[1].split(';')), names)

    def test_the_icon_is_drawn_by_its_script(self):
        drawn = Path(self.folder.name) / 'icon'
        drawn.mkdir(exist_ok=True)
        self.assertEqual(run(sys.executable, SOURCE / 'scripts/icon', drawn).returncode, 0)
        for name in ('hloscope.svg', 'hloscope.png'):
            self.assertEqual((drawn / name).read_bytes(), (SOURCE / 'assets/desktop' / name).read_bytes())

    @unittest.skipUnless(shutil.which('lintian'), 'no lintian')
    def test_lintian(self):
        options = ['--allow-root'] if os.getuid() == 0 else []
        said = run('lintian', *options, '--fail-on', 'none', *self.debs.values()).stdout
        errors = [line for line in said.splitlines() if line.startswith('E:') and line.split(': ')[2].split()[0] not in EXPLAINED]
        self.assertEqual(errors, [])


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
