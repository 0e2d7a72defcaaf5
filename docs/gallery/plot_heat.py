"""
Algorithms by heterogeneity
===========================

The regret of every algorithm at every point of a suite: its cost over that of the cheapest one. On the command line:
``fedbench plot heat --suite beyond``.
"""

from pathlib import Path

from fedbench.analysis.pictures.boards import heat
from fedbench.figures.heat import draw_heat
from fedbench.suites.compared import of_suite
from fedbench.suites.findings.results import load
from fedbench.suites.suite import load as suite

# %%
# The suite ``beyond`` has three points with other data than images of clothes. Its records are in the repository.

results = Path("../../results")
found = of_suite(load(suite("beyond"), results / "tuned", results / "suites"), tuned=True)
drawn = draw_heat(heat(found.boards), 160)
