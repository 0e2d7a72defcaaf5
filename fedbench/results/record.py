"""A record: everything that a run leaves. Its fields are listed in ARCHITECTURE.md."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fedbench.errors import RecordError
from fedbench.results.digests import Digest

SPEC_VERSION = 2
SCHEMA = 2
METRICS = ("test_accuracy", "test_loss", "train_loss")
CURVES = ("seconds", "version", "steps", "gradient_evaluations", "bytes", *METRICS)
SECTIONS = ("schema", "run_id", "spec", "provenance", "outcome", "final", "time_to_target", "ledger", "digests")
RESULT = ("outcome", "final", "time_to_target", "ledger", "warnings")  # what a run must give again, beside digests and curves


@dataclass(frozen=True)
class Record:
    """`meta`: JSON-able sections, and `warnings`, sentences of the algorithm on how the run went.

    `curves`: columns of one length over the evaluation grid; seconds are virtual, steps, mini-batch
    gradients and bytes count what the simulated clients did, wasted or not.
    """

    meta: dict[str, Any]
    curves: dict[str, npt.NDArray[Any]]

    def __post_init__(self) -> None:
        if self.meta.get("schema") != SCHEMA:
            older = (
                "; it was made by an older version whose clock and ledger differ, run it again"
                if self.meta.get("schema") == 1
                else ""
            )
            raise RecordError(f"record: expected schema {SCHEMA}, got {self.meta.get('schema')!r}{older}")
        missing = [name for name in SECTIONS if name not in self.meta]
        if missing:
            raise RecordError(f"record: sections missing: {', '.join(missing)}")
        lengths = {name: len(column) for name, column in self.curves.items()}
        if set(lengths) != set(CURVES) or len(set(lengths.values())) != 1:
            raise RecordError(f"record: expected curves {', '.join(CURVES)} of one length, got {lengths}")

    def __repr__(self) -> str:
        """What ran and how it ended; not all that is in it."""
        return f"Record({self.scenario}, {self.selector}, seed {self.seed}, {self.state})"

    @property
    def run_id(self) -> str:
        return str(self.meta["run_id"])

    @property
    def scenario(self) -> str:
        return str(self.meta["spec"]["scenario"]["name"])

    @property
    def selector(self) -> str:
        return str(self.meta["spec"]["selector"])

    @property
    def seed(self) -> int:
        return int(self.meta["spec"]["seed"])

    @property
    def state(self) -> str:
        """finished, diverged, stalled or failed."""
        return str(self.meta["outcome"]["state"])

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the algorithm says on how the run went; empty if there is nothing to say."""
        return tuple(self.meta.get("warnings", ()))


def first_at_least(places: npt.NDArray[Any], values: npt.NDArray[Any], target: float) -> float | None:
    """The first of `places` at which `values` is at least the target; None if it never is. No
    interpolation; NaN is less."""
    hits = np.flatnonzero(values >= target)
    return float(places[hits[0]]) if len(hits) else None


def first_held(values: npt.NDArray[Any], target: float, points: int) -> int | None:
    """The index of the first of `values` that is at least the target, as are the `points` - 1
    before it; None if there is none. NaN is less."""
    places = np.arange(len(values))
    last_less = np.maximum.accumulate(np.where(values >= target, -1, places))
    held = np.flatnonzero(places - last_less >= points)
    return int(held[0]) if len(held) else None


def run_id(scenario_hash: str, algorithm: Mapping[str, Any], seed: int) -> str:
    """16 hexadecimal digits: a hash of everything that can change a result, not of trainer, workers
    or waves. `algorithm`: name, options and, unless it is built in, origin."""
    content = [SPEC_VERSION, scenario_hash, algorithm["name"], algorithm["options"], seed]
    if "sha256" in algorithm.get("origin", {}):
        content.append(algorithm["origin"]["sha256"])
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


def result_digest(meta: Mapping[str, Any], curves: Mapping[str, npt.NDArray[Any]]) -> str:
    """One digest over all that a run must give again: the other digests, the sections of RESULT,
    and the curves."""
    others = {name: value for name, value in meta["digests"].items() if name != "result"}
    content = [others, [meta.get(name) for name in RESULT]]
    text = np.frombuffer(json.dumps(content, sort_keys=True).encode(), np.uint8)
    return Digest().add(text, *(curves[name] for name in CURVES)).hex()
