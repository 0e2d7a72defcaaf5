"""A record: everything that a run leaves behind. Its fields are listed in ARCHITECTURE.md."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fedbench import registry
from fedbench.errors import RecordError, UsageError
from fedbench.results.digests import Digest

SPEC_VERSION = 2
SCHEMA = 2
METRICS = ("test_accuracy", "test_loss", "train_loss")
CURVES = ("seconds", "version", "steps", "gradient_evaluations", "bytes", *METRICS)
SERVER_CURVE = "server_passes"
"""A column that the curves of an algorithm have whose server computes with models: the running
total of that work, in forward passes of an example."""
SERVER_LEDGER = ("server_forward_examples", "server_gradient_examples", "server_busy_seconds", "public_logits_vectors")
"""What the ledger of such an algorithm has beside that of others. Records that were made before the
work was counted have neither column nor keys, so both have a digest of their own, `server`, and the
digest `result` leaves them out."""
SECTIONS = ("schema", "run_id", "spec", "provenance", "outcome", "final", "time_to_target", "ledger", "digests")
RESULT = ("outcome", "final", "time_to_target", "ledger", "warnings")
"""The sections that must be the same when a run is repeated, as must digests and curves."""


@dataclass(frozen=True)
class Record:
    """The record of one run.

    meta: the SECTIONS as JSON values, and `warnings`, sentences in which the algorithm says how the
    run went.
    curves: the CURVES, columns of one length over the evaluation grid, and SERVER_CURVE if the
    server's work was counted. Seconds are virtual. Steps, mini-batch gradients and bytes count what
    the simulated clients did, wasted or not.

    Raises RecordError for another schema, missing sections, or other curves.
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
        if set(lengths) - {SERVER_CURVE} != set(CURVES) or len(set(lengths.values())) != 1:
            raise RecordError(f"record: expected curves {', '.join(CURVES)} of one length, got {lengths}")

    def __repr__(self) -> str:
        """Returns what ran and how it ended, rather than all fields."""
        return f"Record({self.scenario}, {self.selector}, seed {self.seed}, {self.state})"

    @property
    def run_id(self) -> str:
        return str(self.meta["run_id"])

    @property
    def scenario(self) -> str:
        return str(self.meta["spec"]["scenario"]["name"])

    @property
    def selector(self) -> str:
        return selector(self.meta["spec"])

    @property
    def seed(self) -> int:
        return int(self.meta["spec"]["seed"])

    @property
    def state(self) -> str:
        """Returns finished, diverged, stalled or failed."""
        return str(self.meta["outcome"]["state"])

    @property
    def warnings(self) -> tuple[str, ...]:
        """Returns sentences about the data, what says that no client was ever there, and the
        sentences in which the algorithm says how the run went."""
        empty = ("no client was ever there before the run ended, so nothing was trained",)
        ledger = self.meta["ledger"]
        is_empty = ledger.get("available_fraction") == 0 and ledger["end_seconds"] > 0
        return (
            *self.meta["provenance"].get("data_warnings", ()),
            *(empty if is_empty else ()),
            *self.meta.get("warnings", ()),
        )


def selector(spec: Mapping[str, Any]) -> str:
    """Returns the selector that names the `spec` of a record today: with the options that are no
    defaults now, whatever were at the time of the run. So it describes the run, runs with equal
    options have one selector, and runs with different options never do.

    An algorithm that is not built in keeps its selector, since its class may not be there, and so
    does a record that was not checked and whose selector is none.
    """
    algorithm, written = spec["algorithm"], str(spec["selector"])
    if algorithm.get("origin") or algorithm["name"] not in registry.ALGORITHMS:
        return written
    try:
        _, named = registry.parse_selector(written)
    except UsageError:
        return written
    if not named.items() <= algorithm["options"].items():  # it contradicts itself, which a check says
        return written
    defaults = _defaults(algorithm["name"])
    options = {key: value for key, value in algorithm["options"].items() if key in defaults}
    return registry.selector(algorithm["name"], options, defaults)


@functools.cache
def _defaults(name: str) -> dict[str, Any]:
    """Returns the defaults of a built-in algorithm as a record has them, with lists for tuples."""
    return dict(json.loads(json.dumps(registry.find("algorithm", name)().options())))


def first_at_least(places: npt.NDArray[Any], values: npt.NDArray[Any], target: float) -> float | None:
    """Returns the first of `places` at which `values` is at least the target, None if there is
    none. Nothing is interpolated. NaN counts as less than any target."""
    hits = np.flatnonzero(values >= target)
    return float(places[hits[0]]) if len(hits) else None


def first_held(values: npt.NDArray[Any], target: float, points: int) -> int | None:
    """Returns the index of the first value that is at least the target and follows `points` - 1
    others that are, None if there is none. NaN counts as less than any target."""
    places = np.arange(len(values))
    last_less = np.maximum.accumulate(np.where(values >= target, -1, places))
    held = np.flatnonzero(places - last_less >= points)
    return int(held[0]) if len(held) else None


def run_id(scenario_hash: str, algorithm: Mapping[str, Any], seed: int) -> str:
    """Returns the id of a run: 16 hexadecimal digits, a hash of everything that can change a
    result. Trainer, workers and waves cannot. `algorithm` has a name, options and, unless it is
    built in, an origin."""
    content = [SPEC_VERSION, scenario_hash, algorithm["name"], algorithm["options"], seed]
    if "sha256" in algorithm.get("origin", {}):
        content.append(algorithm["origin"]["sha256"])
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


def columns_of(curves: Mapping[str, Any]) -> tuple[str, ...]:
    """Returns the names of the columns that these curves have, in their order."""
    return (*CURVES, SERVER_CURVE) if SERVER_CURVE in curves else CURVES


def result_digest(meta: Mapping[str, Any], curves: Mapping[str, npt.NDArray[Any]]) -> str:
    """Returns the digest over everything that must be the same when a run is repeated, but for the
    server's work: the other digests, the sections of RESULT, and the curves."""
    others = {name: value for name, value in meta["digests"].items() if name not in ("result", "server")}
    sections = {name: meta.get(name) for name in RESULT}
    sections["ledger"] = {name: value for name, value in meta["ledger"].items() if name not in SERVER_LEDGER}
    content = [others, list(sections.values())]
    return Digest().add(_text(content), *(curves[name] for name in CURVES)).hex()


def server_digest(meta: Mapping[str, Any], curves: Mapping[str, npt.NDArray[Any]]) -> str:
    """Returns the digest over what a record has of the server's work."""
    ledger = {name: meta["ledger"][name] for name in SERVER_LEDGER if name in meta["ledger"]}
    return Digest().add(_text(ledger), curves[SERVER_CURVE]).hex()


def with_results(meta: Mapping[str, Any], curves: Mapping[str, npt.NDArray[Any]]) -> dict[str, str]:
    """Returns the digests of a record with those that are made of the others, of sections and of
    curves."""
    digests: dict[str, str] = {**meta["digests"], "result": result_digest(meta, curves)}
    return digests | {"server": server_digest(meta, curves)} if SERVER_CURVE in curves else digests


def _text(content: Any) -> npt.NDArray[np.uint8]:
    return np.frombuffer(json.dumps(content, sort_keys=True).encode(), np.uint8)
