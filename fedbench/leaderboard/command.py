"""Makes the shell line that runs a row again, or says why there is none."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from fedbench.results import record
from fedbench.results.sections import Spec


def command(spec: Spec, seeds: Sequence[int]) -> tuple[str | None, str]:
    """Returns the line for the `spec` of a record and the seeds of its row, None if no line can run
    it, and what the line needs beside this package, or why there is no line.

    It has one `fedbench run` for each block of consecutive seeds. The recorded origin says how an
    algorithm is named: as `./file.py:Class` if it is in a file, and by its name if it is in another
    package. Options are named by the defaults of today, whatever they were at the time of the run.
    """
    origin = spec.algorithm.origin
    if origin is not None and origin.kind == "object":
        return None, f"given in Python as an object of class {origin.class_}: put the class into a file to run it again"
    scenario, selector, needs = spec.scenario.name, record.selector(spec), []
    if spec.overrides is None:
        needs.append(f"the scenario's file, which is not in the library, as ./{scenario}.yaml")
        scenario = f"./{scenario}.yaml"
    if origin is not None and origin.kind == "file":
        selector = f"./{origin.file}:{origin.class_}{selector.removeprefix(spec.algorithm.name)}"
        needs.append(f"{origin.file} with sha256 {origin.sha256[:16]}..")
    if origin is not None and origin.kind == "entry point":
        needs.append(" ".join(filter(None, ["package", origin.package, origin.version])))
    return _line(scenario, selector, seeds, spec.overrides or ()), ", ".join(needs)


def _line(scenario: str, selector: str, seeds: Sequence[int], overrides: Sequence[str]) -> str:
    quoted = "'" + selector.replace("'", "'\"'\"'") + "'"
    starts = [seed for seed in seeds if seed - 1 not in seeds]
    lengths = [next(n for n in range(1, len(seeds) + 1) if start + n not in seeds) for start in starts]
    settings = "".join(f" --set {shlex.quote(setting)}" for setting in overrides)
    return " && ".join(
        f"fedbench run {shlex.quote(scenario)} -a {quoted}{settings} --seeds {n}" + (f" --first-seed {start}" if start else "")
        for start, n in zip(starts, lengths, strict=True)
    )
