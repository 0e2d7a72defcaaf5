"""Runs federated-learning algorithms in one simulated federation and compares them.

>>> import fedbench as fb
>>> records = fb.run("digits-demo", ["fedavg", "fedbuff[buffer_size=10]"], seeds=3)
>>> records.frame()
>>> records.plot()
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fedbench import errors, kernels, protocols, types
    from fedbench.launch.records import Records
    from fedbench.launch.runner import plan, run
    from fedbench.launch.watch import Watcher
    from fedbench.metric import Metric
    from fedbench.optimizer import Optimizer
    from fedbench.protocols import Algorithm
    from fedbench.results.store import Store
    from fedbench.scenarios.load import load as scenario
    from fedbench.suites.advice.advise import Advice, advise
    from fedbench.suites.own_race.race import race
    from fedbench.tasks.given import Task

    __version__: str

__all__ = [
    "Advice",
    "Algorithm",
    "Metric",
    "Optimizer",
    "Records",
    "Store",
    "Task",
    "Watcher",
    "advise",
    "errors",
    "kernels",
    "plan",
    "protocols",
    "race",
    "run",
    "scenario",
    "types",
]

_PLACES = {
    "Advice": "fedbench.suites.advice.advise:Advice",
    "Algorithm": "fedbench.protocols:Algorithm",
    "Metric": "fedbench.metric:Metric",
    "Optimizer": "fedbench.optimizer:Optimizer",
    "Records": "fedbench.launch.records:Records",
    "Store": "fedbench.results.store:Store",
    "Task": "fedbench.tasks.given:Task",
    "Watcher": "fedbench.launch.watch:Watcher",
    "advise": "fedbench.suites.advice.advise:advise",
    "plan": "fedbench.launch.runner:plan",
    "race": "fedbench.suites.own_race.race:race",
    "run": "fedbench.launch.runner:run",
    "scenario": "fedbench.scenarios.load:load",
}
_MODULES = ("errors", "kernels", "protocols", "types")


def __getattr__(name: str) -> object:
    """Imports a public name when it is first used, so that `import fedbench.kernels` needs numpy
    only."""
    if name == "__version__":
        from importlib.metadata import PackageNotFoundError, version

        try:
            return version("fedbench-suite")
        except PackageNotFoundError:  # a source tree on the path
            return "0+unknown"
    if name in _MODULES:
        return importlib.import_module(f"fedbench.{name}")
    if name not in _PLACES:
        from fedbench.errors import closest

        raise AttributeError(f"module 'fedbench' has no attribute {name!r}{closest(name, (*_PLACES, *_MODULES))}")
    module, _, attribute = _PLACES[name].partition(":")
    return getattr(importlib.import_module(module), attribute)


def __dir__() -> list[str]:
    """Returns the public names, also those that are not imported yet, without the names that this
    file imports for itself."""
    return sorted({*__all__, "__version__", *(name for name in globals() if name.startswith("__"))})
