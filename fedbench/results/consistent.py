"""Checks whether a record contradicts itself. Everything that can be computed again without a run
is computed and compared: hashes, the id, times to targets, the last point of the curves, and
whether the run stopped at its target.

The checks yield triples: the name of a field, what the rest of the record gives for it, and what it
says."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from fedbench.errors import RecordError, UsageError
from fedbench.registry import parse_selector
from fedbench.results.record import (
    METRICS,
    SERVER_CURVE,
    SERVER_LEDGER,
    Record,
    first_at_least,
    first_held,
    result_digest,
    run_id,
    server_digest,
)
from fedbench.scenarios.grid import in_seconds
from fedbench.scenarios.load import validate
from fedbench.scenarios.schema import Scenario
from fedbench.types import PASSES_OF_A_GRADIENT

RISING = ("version", "steps", "gradient_evaluations", "bytes")


def resolve(meta: dict[str, Any], where: str) -> Scenario:
    """Returns the scenario of a record's sections, and puts its resolved form back into `meta`:
    keys that were introduced after the record was made get their defaults. Raises RecordError if
    the section is not a scenario."""
    try:
        scenario, resolved = _resolved(json.dumps(meta["spec"]["scenario"]))
    except (UsageError, RecursionError, ValueError, TypeError) as error:
        raise RecordError(f"{where}: its scenario is none: {error}") from None
    if resolved is not None:
        meta["spec"]["scenario"] = json.loads(resolved)
    return scenario


@functools.lru_cache(maxsize=64)
def _resolved(content: str) -> tuple[Scenario, str | None]:
    """Returns the scenario in a JSON text, and its resolved form as JSON if that is another one. An
    archive has the same few scenarios in thousands of records."""
    given = json.loads(content)
    scenario = validate(given, "scenario")
    resolved = scenario.resolved()
    is_same = json.dumps(resolved, sort_keys=True) == json.dumps(given, sort_keys=True)
    return scenario, None if is_same else json.dumps(resolved)


def check_consistent(record: Record, scenario: Scenario, where: str) -> None:
    """Raises RecordError that names the first field which contradicts the rest of the record."""
    for field, expected, got in (
        *_identity(record, scenario),
        *_end(record),
        *_stop(record, scenario),
        *_targets(record),
        *_curves(record, scenario),
        *_server(record, scenario),
    ):
        if expected != got:
            raise RecordError(f"{where}: {field}: the rest of the record gives {expected!r:.80}, it says {got!r:.80}")


def names_truly(spec: Mapping[str, Any]) -> bool:
    """Tells whether the selector in a record's `spec` names the algorithm, and only options of the
    run."""
    name, options = spec["algorithm"]["name"], spec["algorithm"]["options"]
    return bool(spec["selector"].partition("[")[0] == name and options == options | _options(spec["selector"]))


def _identity(record: Record, scenario: Scenario) -> Iterator[tuple[str, Any, Any]]:
    spec, digests = record.meta["spec"], record.meta["digests"]
    yield "spec.scenario_hash", scenario.content_hash(), spec["scenario_hash"]
    yield "spec.task", spec["scenario"]["task"], spec["task"]
    yield "spec.selector", spec["algorithm"]["name"], spec["selector"].partition("[")[0]
    if not spec["algorithm"].get("origin"):
        options = spec["algorithm"]["options"]
        yield "spec.selector", options, options | _options(spec["selector"])
    yield "run_id", run_id(spec["scenario_hash"], spec["algorithm"], spec["seed"]), record.run_id
    if "result" in digests:
        yield "digests.result", result_digest(record.meta, record.curves), digests["result"]


def _options(selector: str) -> dict[str, Any]:
    """Returns the options that a selector names. One that cannot be parsed gives an option that no
    algorithm has, so that the comparison fails and shows the reason."""
    try:
        return dict(parse_selector(selector)[1])
    except UsageError as error:
        return {"selector": str(error)}


def _end(record: Record) -> Iterator[tuple[str, Any, Any]]:
    """Yields the checks of `final`. The final version is that of the last point of the curves, or a
    later one if the run went on after that point. The curves keep metrics in float32."""
    final, curves, ledger = record.meta["final"], record.curves, record.meta["ledger"]
    yield "final.seconds", ledger["end_seconds"], final["seconds"]
    if record.state == "diverged":
        yield from ((f"final.{name}", None, final[name]) for name in METRICS)
        return
    yield "ledger.updates", final["version"], ledger["updates"]
    if not len(curves["seconds"]):
        yield "curves", "at least one point", "none"
        return
    last = int(curves["version"][-1])
    yield (
        "final.version",
        True,
        last == final["version"] or (last < final["version"] and curves["seconds"][-1] < final["seconds"]),
    )
    if last == final["version"]:
        for name in METRICS:
            value = float(curves[name][-1])
            with np.errstate(over="ignore"):
                got = None if final[name] is None else float(np.float32(final[name]))
            yield f"final.{name}", value if math.isfinite(value) else None, got


def _stop(record: Record, scenario: Scenario) -> Iterator[tuple[str, Any, Any]]:
    """Yields the checks of the end of the run. A run with a goal stops at the first point at which
    it has held the goal for long enough: the curves and the time end there. A run that has no goal,
    or never holds it, has another cause of its end."""
    seconds, end = record.curves["seconds"], record.meta["final"]["seconds"]
    goal, last, held = scenario.goal, len(seconds) - 1, None
    if goal is not None:
        held = first_held(record.curves[goal.metric], goal.value, scenario.budget.hold_points)
    yield "curves.seconds", last if held is None else held, last
    yield "outcome.ended_by", held is not None, record.meta["outcome"]["ended_by"] == "target"
    if held is not None:  # the clock rounds to nanoseconds, so `end` need not be the point itself
        following = in_seconds(scenario.evaluation.grid.times_ns(held + 2))[-1]
        yield "final.seconds", True, bool(seconds[held] <= end < following)


def _targets(record: Record) -> Iterator[tuple[str, Any, Any]]:
    curves, end = record.curves, record.meta["ledger"]["end_seconds"]
    expected = [
        {**target, "seconds": first_at_least(curves["seconds"], curves[target["metric"]], target["value"]), "censored_at": end}
        for target in record.meta["spec"]["scenario"]["targets"]
    ]
    yield "time_to_target", expected, record.meta["time_to_target"]


def _curves(record: Record, scenario: Scenario) -> Iterator[tuple[str, Any, Any]]:
    seconds = record.curves["seconds"]
    grid = in_seconds(scenario.evaluation.grid.times_ns(len(seconds)))
    yield "curves.seconds", True, bool(np.array_equal(seconds, grid))
    for name in RISING:
        column = record.curves[name]
        yield f"curves.{name}", True, bool((column >= 0).all() and (np.diff(column) >= 0).all())


def _server(record: Record, scenario: Scenario) -> Iterator[tuple[str, Any, Any]]:
    """Yields the checks of the server's work, which is in ledger, curves and digests, or nowhere:
    the curves end with what the ledger has, or before."""
    ledger, digests, counted = record.meta["ledger"], record.meta["digests"], SERVER_CURVE in record.curves
    has_speed = scenario.server.gradients_per_second is not None
    for name in SERVER_LEDGER:
        yield f"ledger.{name}", counted and (name != "server_busy_seconds" or has_speed), name in ledger
    yield "digests.server", server_digest(record.meta, record.curves) if counted else None, digests.get("server")
    if counted:
        column = record.curves[SERVER_CURVE]
        yield f"curves.{SERVER_CURVE}", True, bool((column >= 0).all() and (np.diff(column) >= 0).all())
        forward, gradients = (ledger.get(name, 0) for name in ("server_forward_examples", "server_gradient_examples"))
        yield f"curves.{SERVER_CURVE}", True, not len(column) or int(column[-1]) <= forward + PASSES_OF_A_GRADIENT * gradients
