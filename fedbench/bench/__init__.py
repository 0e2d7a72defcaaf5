"""The core's speed, as ratios: cases defined once, for `fedbench bench`, pytest-benchmark, asv and
`make regress`.

Needs numpy only; torch and simpy are rivals, imported when a case meets them. The cases use nothing
of fedbench but its kernels, tables and errors, so that they run over the kernels of any commit
(`other_build`); whole runs (`runs`) go through the engine too, and are skipped where it is not
installed.
"""

from fedbench.bench.case import Case, Ready, Way, missing
from fedbench.bench.catalogue import CASES, GROUPS, find, select

__all__ = ["CASES", "GROUPS", "Case", "Ready", "Way", "find", "missing", "select"]
