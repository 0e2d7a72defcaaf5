"""Profiles over many problems: how many of them an algorithm has solved by when.

A problem is a target in a scenario, and is tried with every seed. The ECDF is the share of problems
and seeds that are solved by a share of the budget. The performance profile is the share that is
solved within a factor of the reference time. Sources: Hansen et al. 2016 (COCO), Dolan and More
2002. There the best of the entrants is the reference. Here it is a file of frozen times, so that no
entrant moves the numbers of another.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import numpy.typing as npt
from pydantic import ConfigDict, Field

from fedbench import plain_files
from fedbench.errors import UsageError
from fedbench.scenarios.base import Float, Part, Seconds
from fedbench.scenarios.problems import validated

LARGEST = 1 << 20  # bytes of a file of reference times
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, order=True)
class Problem:
    """A target of a scenario. The scenario is named as its board is, by its point in a suite."""

    scenario: str
    target: float

    def __str__(self) -> str:
        return f"{self.scenario} {self.target:g}"


@dataclass(frozen=True)
class Times:
    """What one algorithm needed: for every problem the seconds of every seed, infinite for a miss,
    and the budget in seconds."""

    seconds: Mapping[Problem, Sequence[float]]
    budget: Mapping[Problem, float]


class Solved(Part):
    """A problem that a reference algorithm solves, and its reference time."""

    scenario: str
    target: Annotated[Float, Field(allow_inf_nan=False)]
    seconds: Seconds


class Reference(Part):
    """The frozen reference times of a suite, as their file has them.

    made_of: the names of the reference algorithms, with the digests of their results.
    resolution: by scenario the smallest ratio of costs that the seeds of these algorithms show,
    which an entrant may want to know beforehand.
    hashes: the hashes of the scenarios by their names.
    problems: every problem that one of these algorithms solves, once.
    """

    model_config = ConfigDict(title="reference")

    name: str
    made_of: dict[str, str]
    resolution: dict[str, Annotated[Float, Field(ge=1, le=1e9)]] = Field(default={})
    hashes: dict[str, str]
    problems: tuple[Solved, ...]

    def _check(self) -> None:
        if len(self.seconds) < len(self.problems):
            raise ValueError(f"expected every problem once, got {len(self.problems)}, of which some are the same")

    @property
    def seconds(self) -> dict[Problem, float]:
        """Returns the reference time of every problem."""
        return {Problem(one.scenario, one.target): one.seconds for one in self.problems}

    def at(self, scenarios: Collection[str]) -> Reference:
        """Returns the reference of these scenarios only."""
        kept = tuple(one for one in self.problems if one.scenario in scenarios)
        resolution = {name: one for name, one in self.resolution.items() if name in scenarios}
        hashes = {name: one for name, one in self.hashes.items() if name in scenarios}
        return self.model_copy(update={"problems": kept, "resolution": resolution, "hashes": hashes})


def freeze(
    name: str,
    entrants: Mapping[str, Times],
    digests: Mapping[str, str],
    *,
    resolution: dict[str, float] | None = None,
    hashes: dict[str, str] | None = None,
) -> Reference:
    """Returns a reference: on every problem the smallest median time of the given algorithms. A
    problem that none of them solves with more than half of its seeds is left out.

    Args:
        name: the name of the reference, which is that of its suite.
        entrants: the times of the algorithms by their names.
        digests: the digests of their results by their names.
        resolution: see `Reference`.
        hashes: see `Reference`.
    """
    problems = sorted({problem for times in entrants.values() for problem in times.seconds})
    best = {
        p: min(float(np.median(list(times.seconds[p]))) for times in entrants.values() if p in times.seconds) for p in problems
    }
    return Reference(
        name=name,
        made_of=dict(sorted(digests.items())),
        resolution=resolution or {},
        hashes=hashes or {},
        problems=tuple(
            Solved(scenario=p.scenario, target=p.target, seconds=seconds) for p, seconds in best.items() if np.isfinite(seconds)
        ),
    )


def as_json(reference: Reference) -> str:
    """Returns the content of the file that keeps a reference."""
    return json.dumps(reference.model_dump(), indent=1) + "\n"


def read(file: Path) -> Reference:
    """Returns the reference in a file. Raises UsageError if there is none in it."""
    content = plain_files.json_in(file, LARGEST, "reference")
    if not isinstance(content, dict):
        raise UsageError(f"reference {file}: expected name, made_of, hashes and problems, got {type(content).__name__}")
    return validated(Reference, content, str(file))


def ecdf(times: Times, shares: Floats) -> Floats:
    """Returns for each of `shares` (S,) of the budgets the share of problems and seeds that are
    solved by then, (S,)."""
    solved = np.concatenate([np.asarray(seconds, np.float64) / times.budget[p] for p, seconds in sorted(times.seconds.items())])
    return np.array([(solved <= share).mean() for share in shares])


def profile(times: Times, reference: Reference, factors: Floats) -> Floats:
    """Returns for each of `factors` (F,) the share of the reference's problems and seeds that are
    solved within that multiple of the reference time, (F,). A problem on which the algorithm was
    not run counts as unsolved. Raises UsageError if the reference has no problem."""
    if not reference.seconds:
        raise UsageError(f"reference {reference.name}: it has no problem that was solved")
    shares = []
    for problem, least in sorted(reference.seconds.items()):
        seconds = np.asarray(times.seconds.get(problem, [np.inf]), np.float64)
        shares.append([(seconds <= factor * least).mean() for factor in factors])
    return np.asarray(np.mean(shares, axis=0))
