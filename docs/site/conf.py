# How Sphinx makes the site from the pages that pages.py wrote. Nothing is loaded from another host.
project = 'hloscope'
html_title = 'hloscope'
extensions = ['myst_parser']
myst_heading_anchors = 4
html_theme = 'furo'
html_static_path = ['static']
html_css_files = ['site.css']
highlight_language = 'none'
smartquotes = False
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
