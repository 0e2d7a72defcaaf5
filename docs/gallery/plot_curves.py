"""
Learning curves
===============

The accuracy on the test set against virtual time: the mean over seeds with its band. On the command line: ``fedbench plot curves``.
"""

import fedbench as fb
from fedbench.analysis.pictures.learning_curves import learning_curves
from fedbench.figures.curves import draw_curves
from fedbench.suites.compared import of_records

records = fb.run("digits-demo", ["fedavg", "fedbuff", "scaffold", "fedasync"], seeds=3, progress=False)

# %%
# ``records.plot()`` is the short way, for a notebook:

records.plot()

# %%
# This is the figure for a paper: 160 mm wide, two algorithms bold, the others grey, misses counted in the legend.

found = of_records(records, "runs")
data = learning_curves(found.rows["digits-demo"])
drawn = draw_curves(data, ["fedavg", "fedbuff"], 160)
