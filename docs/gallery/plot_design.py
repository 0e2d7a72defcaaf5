"""
The points of a suite over factors
==================================

Which levels of which factors come together at which point, and where all options are searched. On the command line:
``fedbench plot design --suite map``.
"""

from fedbench.figures.design import draw_design
from fedbench.suites.design.picture import picture
from fedbench.suites.suite import load

# %%
# Nothing was run for this: a suite names its design.

drawn = draw_design(picture(load("map")), 175)
