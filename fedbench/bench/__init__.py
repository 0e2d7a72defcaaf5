"""Measures the speed of the core as ratios to other ways of doing the same work. The cases are
defined once and used by `fedbench bench`, pytest-benchmark, asv and `make regress`.

The room needs numpy only. Rivals, such as torch, simpy and JAX, are imported when a case begins.
The cases use nothing of fedbench but its kernels, tables and errors, so that they run with the
kernels of any commit (`other_build`). Whole runs (`runs`) use the engine too, and are skipped where
it is not installed.
"""

from fedbench.bench.case import Case, Ready, Way, missing
from fedbench.bench.catalogue import CASES, GROUPS, find, select

__all__ = ["CASES", "GROUPS", "Case", "Ready", "Way", "find", "missing", "select"]
