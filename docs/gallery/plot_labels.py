"""
Classes by client
=================

How many examples of each class a client has. On the command line: ``fedbench plot labels``.
"""

from fedbench.engine.label_map import label_map
from fedbench.figures.labels import draw_labels
from fedbench.scenarios.load import load

# %%
# Two classes a client:

two_each = draw_labels(label_map(load("digits-demo"), seed=0), 120)

# %%
# Shares drawn from a Dirichlet distribution; the smaller ``alpha``, the fewer classes a client has:

skewed = load("digits-demo", ["partition={kind: dirichlet, alpha: 0.3}"])
drawn = draw_labels(label_map(skewed, seed=0), 120)
