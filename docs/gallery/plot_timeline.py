"""
Timeline of the clients
=======================

Which client trains when, and what becomes of it: used in an update, too late, or lost. A timeline needs a plan and no training.
On the command line: ``fedbench plot timeline``.
"""

from fedbench.engine.spec import RunSpec
from fedbench.engine.timeline import client_timeline
from fedbench.figures.timeline import draw_timelines
from fedbench.registry import algorithm
from fedbench.scenarios.load import load

# %%
# In rounds everybody waits for the slowest of the round. With a buffer nobody waits.

scenario = load("digits-demo")
specs = [RunSpec(scenario, algorithm(name), seed=0) for name in ("fedavg", "fedbuff[concurrency=10]")]
drawn = draw_timelines([client_timeline(spec, end_seconds=8) for spec in specs], 160)
