"""How Sphinx makes the documentation: `make docs` runs it, with warnings as errors and without a network."""

import os
import sys
from importlib.metadata import version as installed
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

# Without this a kernel of a notebook warns that it listens on a port of this machine.
os.environ["IPYTHONDIR"] = str(Path(__file__).parents[1] / "build/ipython")
profile = Path(os.environ["IPYTHONDIR"]) / "profile_default"
profile.mkdir(parents=True, exist_ok=True)
(profile / "ipython_kernel_config.py").write_text('c.IPKernelApp.log_level = "ERROR"\n')

project = "fedbench"
author = "The fedbench developers"
copyright = f"2026, {author}"
version = release = installed("fedbench-suite")

extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "made_pages",
]
exclude_patterns = ["papers", "gallery", "figures/*.ipynb", "_ext", "_static", "_templates"]
pygments_style = "default"
pygments_dark_style = "github-dark"

# Pages are Markdown, and cells of notebooks are run: one that fails is an error.
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_ipywidgets_js = {}  # would be fetched from the network
nb_merge_streams = True

copybutton_prompt_text = "$ "
copybutton_only_copy_prompt_lines = True
copybutton_line_continuation_character = "\\"

default_role = "code"  # docstrings have names in single backticks
autodoc_typehints = "none"  # the sections of a docstring have them
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
numpydoc_xref_param_type = False

sphinx_gallery_conf = {
    "image_scrapers": ("matplotlib", "drawn_figures.scraper"),
    "capture_repr": (),
    "run_stale_examples": True,  # an example may be as before, and what it draws not
    "examples_dirs": "gallery",
    "gallery_dirs": "figures",
    "filename_pattern": r"/plot_",
    "download_all_examples": False,
    "show_memory": False,
    "remove_config_comments": True,
    "show_signature": False,
    "backreferences_dir": None,
    "min_reported_time": 3600,  # seconds of a clock would make two builds differ
    "write_computation_times": False,
    "default_thumb_file": None,
    "nested_sections": False,
}

html_context = {"default_mode": "auto"}
html_title = "fedbench"
html_theme = "pydata_sphinx_theme"
html_static_path = ["_static"]
templates_path = ["_templates"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_show_sphinx = False
html_copy_source = False
html_show_search_summary = False  # would be fetched, which a page that was opened from a file may not
html_theme_options = {
    "navbar_start": ["site-name"],
    "navbar_center": ["site-links"],
    "navbar_end": ["theme-switcher"],
    "navbar_persistent": ["search-button-field"],
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_prev_next": True,
    "navigation_with_keys": False,
    "collapse_navigation": False,
    "show_toc_level": 2,
    "back_to_top_button": False,
}
html_sidebars = {"index": []}
