#!/usr/bin/env python3
"""The site of scripts/docs: site_test.py PROGRAM ROOT. No page loads a file from another host, every link and anchor inside of it exists, and every
command has a page. Skipped where Sphinx is not installed (scripts/setup docs)."""
import html.parser
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
import urllib.parse

HLOSCOPE, ROOT = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
# What a browser loads by itself, unlike the href of an <a>.
LOADED = {('script', 'src'), ('img', 'src'), ('img', 'srcset'), ('link', 'href'), ('source', 'src'), ('source', 'srcset'), ('iframe', 'src'),
          ('video', 'src'), ('audio', 'src'), ('object', 'data'), ('embed', 'src'), ('use', 'href'), ('use', 'xlink:href'), ('image', 'href'), ('form', 'action')}
CSS_URL = re.compile(r'url\(\s*[\'"]?([^\'")]+)|@import\s+[\'"]([^\'"]+)')
NOT_LOADED = {'search', 'index', 'next', 'prev', 'canonical'}


class Page(html.parser.HTMLParser):
    """What a page loads, where its links lead, and its anchors."""

    def __init__(self, path):
        super().__init__()
        self.loaded, self.links, self.anchors = [], [], set()
        with open(path, encoding='utf-8') as f:
            text = f.read()
        self.feed(text)
        self.loaded += [a or b for a, b in CSS_URL.findall(text)]

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.anchors |= {values[name] for name in ('id', 'name') if values.get(name)}
        if tag == 'a' and values.get('href'):
            self.links.append(values['href'])
        if tag == 'link' and set((values.get('rel') or '').split()) & NOT_LOADED:
            return
        self.loaded += [values[name] for loaded, name in LOADED if loaded == tag and values.get(name)]


class Site(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        done = subprocess.run([os.path.join(ROOT, 'scripts/docs'), cls.folder.name], capture_output=True, text=True, timeout=600,
                              env={**os.environ, 'HLOSCOPE': HLOSCOPE}, check=False)
        if done.returncode:
            raise AssertionError(done.stdout + done.stderr)
        paths = [os.path.join(folder, name) for folder, _, names in os.walk(cls.folder.name) for name in names if name.endswith('.html')]
        cls.pages = {path: Page(path) for path in paths}

    def target(self, page, link):
        return os.path.normpath(os.path.join(os.path.dirname(page), urllib.parse.unquote(link.partition('?')[0])))

    def test_nothing_is_loaded_from_another_host(self):
        loaded = [(page, link) for page, found in self.pages.items() for link in found.loaded]
        for folder, _, names in os.walk(self.folder.name):
            for name in names:
                if name.endswith('.css'):
                    with open(os.path.join(folder, name), encoding='utf-8') as f:
                        loaded += [(os.path.join(folder, name), a or b) for a, b in CSS_URL.findall(f.read())]
        self.assertGreater(len(loaded), 500)
        for page, link in loaded:
            if link.startswith(('data:', '#')):
                continue
            self.assertNotRegex(link, r'^(\w+:|//)', page)
            self.assertTrue(os.path.isfile(self.target(page, link.partition('#')[0])), (page, link))

    def test_links_lead_somewhere(self):
        checked = 0
        for page, found in self.pages.items():
            for link in found.links:
                if re.match(r'\w+:', link):
                    self.assertRegex(link, '^(https|mailto):', page)
                    continue
                path, _, anchor = link.partition('#')
                target = self.target(page, path) if path else page
                self.assertTrue(os.path.isfile(target), (page, link))
                if anchor and target.endswith('.html'):
                    self.assertIn(urllib.parse.unquote(anchor), self.pages[target].anchors, (page, link))
                checked += 1
        print(f'{checked} links on {len(self.pages)} pages')

    def fields(self, schema, path=''):
        """As jq would write them, of every object inside."""
        for name, inner in schema.get('properties', {}).items():
            yield f'{path}.{name}'.lstrip('.')
            while inner.get('items') or 'additionalProperties' in inner:
                is_list = bool(inner.get('items'))
                inner, name = inner['items' if is_list else 'additionalProperties'], name + ('[]' if is_list else '.*')
            yield from self.fields(inner, f'{path}.{name}'.lstrip('.'))

    def test_every_command_limit_and_platform_is_there(self):
        for line in subprocess.run([HLOSCOPE, 'help', '--json'], capture_output=True, text=True, check=True).stdout.splitlines():
            command = json.loads(line)
            with open(os.path.join(self.folder.name, f'commands/{command["command"]}.html'), encoding='utf-8') as f:
                text = f.read()
            for option in command['options']:
                if not option['positional']:
                    self.assertIn(option['name'], text)
        with open(os.path.join(self.folder.name, 'reference/limits.html'), encoding='utf-8') as f:
            text = f.read()
        for line in subprocess.run([HLOSCOPE, 'limits', '--json'], capture_output=True, text=True, check=True).stdout.splitlines():
            self.assertIn(f'>{json.loads(line)["name"]}<', text)
        for name in os.listdir(os.path.join(ROOT, 'assets/schemas')):
            with open(os.path.join(self.folder.name, f'reference/json/{name.removesuffix(".json")}.html'), encoding='utf-8') as f:
                text = f.read()
            with open(os.path.join(ROOT, 'assets/schemas', name), encoding='utf-8') as f:
                paths = list(self.fields(json.load(f)))
            self.assertTrue(paths)
            for path in paths:
                self.assertIn(f'>{path}<', text, name)
        for table, macro, page in (('core/replay/platforms.def', r'PLATFORM\("', 'platforms'), ('core/dump/listing/file_roles.def', r'FILE_ROLE\(k', 'files'),
                                   ('core/dump/listing/file_kinds.def', r'FILE_KIND\(k', 'files')):
            with open(os.path.join(ROOT, table), encoding='utf-8') as f:
                rows = re.findall(f'^{macro}.*', f.read(), re.M)
            with open(os.path.join(self.folder.name, f'reference/{page}.html'), encoding='utf-8') as f:
                text = f.read()
            self.assertTrue(rows)
            for row in rows:
                name = re.search(r'"([^"]*)"', row)[1]
                self.assertIn(f'>{name}<', text, table)


if __name__ == '__main__':
    if not os.path.exists(os.path.join(ROOT, '.venv-docs/bin/sphinx-build')):
        print('no Sphinx here: scripts/setup docs installs it')
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
