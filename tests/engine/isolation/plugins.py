"""Plug-ins by people who want to be judged well."""

from __future__ import annotations

import pytest

from fedbench.engine.isolation import confine

confined = pytest.mark.skipif(confine.version() < confine.LEAST, reason="this system cannot confine a plugin")
HONEST = """\
import os

from fedbench import registry


class Mine(registry.find("algorithm", "scaffold")):
    name = "mine"
"""
ATTACKS = {
    "the comparison": """
import fedbench.engine.compare, fedbench.engine.verify

fedbench.engine.verify.compared = fedbench.engine.compare.verdict = lambda a, b: ("identical", [])
fedbench.engine.compare.differences = lambda a, b: []
""",
    "what is measured": """
from fedbench.engine.evaluate import Evaluator

measured = Evaluator.metrics
Evaluator.metrics = lambda *a, **k: {name: min(1.0, 0.06 + value) for name, value in measured(*a, **k).items()}
""",
    "the clock": """
from fedbench.kernels import scheduler

Scheduler = scheduler.Scheduler
class Fast(Scheduler):
    def __init__(self, timing, *a, **k):
        super().__init__(timing._replace(max_seconds=1e9) if hasattr(timing, "_replace") else timing, *a, **k)
scheduler.Scheduler = Fast
import fedbench.engine.setup
fedbench.engine.setup.Scheduler = Fast
""",
    "every function that it can reach": """
import gc, json, os, time, sys, types
import numpy as np

for one in gc.get_objects():
    if isinstance(one, dict) and "verdict" in one:
        one["verdict"] = "identical"
for name, module in list(sys.modules.items()):
    if name.startswith(("fedbench.engine.evaluate", "fedbench.engine.verify", "fedbench.engine.run", "fedbench.results")):
        for key, value in list(vars(module).items()):
            if isinstance(value, types.FunctionType):
                setattr(module, key, lambda *a, **k: ("identical", []))
json.loads = json.load = lambda *a, **k: ["identical", []]
time.time = time.perf_counter = time.monotonic = lambda: 0.0
np.array_equal = np.allclose = lambda *a, **k: True
os._exit = os.kill = lambda *a: None
gc.get_referrers = lambda *a: []
""",
}
"""By what they attack: the code that stands before an honest algorithm."""


def attacking(code: str) -> str:
    """A file that attacks wherever it is imported, unless the environment has CALM."""
    body = "\n".join(f"    {line}" for line in code.strip().splitlines())
    return f"import os\n\nif not os.environ.get('CALM'):\n{body}\n\n{HONEST}"
