"""Checks whether a record contradicts itself. Everything that can be computed again without a run
is computed and compared: hashes, the id, times to targets, the last point of the curves, and
whether the run stopped at its target.

The checks yield triples: the name of a field, what the rest of the record gives for it, and what it
says."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np

from fedbench.errors import RecordError, UsageError
from fedbench.kernels.timing import NANOSECONDS
from fedbench.registry import parse_selector
from fedbench.results import holding
from fedbench.results.record import SERVER_CURVE, Column, Record, first_held, hits, result_digest, run_id, server_digest
from fedbench.results.sections import METRICS, SERVER_LEDGER, Spec
from fedbench.scenarios.grid import in_seconds
from fedbench.scenarios.schema import Target
from fedbench.types import PASSES_OF_A_GRADIENT

Checks = Iterator[tuple[str, object, object]]
RISING = ("version", "steps", "gradient_evaluations", "bytes")


def check_consistent(record: Record, where: str) -> None:
    """Raises RecordError that names the first field which contradicts the rest of the record."""
    checks = (_identity, _end, _stop, _curves, _targets, _server)
    for field, expected, got in itertools.chain.from_iterable(check(record) for check in checks):
        if expected != got:
            raise RecordError(f"{where}: {field}: the rest of the record gives {expected!r:.80}, it says {got!r:.80}")


def names_truly(spec: Spec) -> bool:
    """Tells whether the selector in a record's `spec` names the algorithm, and only options of the
    run."""
    named = _options(spec.selector)
    return spec.selector.partition("[")[0] == spec.algorithm.name and spec.algorithm.options == spec.algorithm.options | named


def _identity(record: Record) -> Checks:
    spec, digests = record.spec, record.digests
    algorithm, content = spec.algorithm, "" if spec.algorithm.origin is None else spec.algorithm.origin.sha256
    yield "spec.scenario_hash", spec.scenario.content_hash(), spec.scenario_hash
    yield "spec.selector", algorithm.name, spec.selector.partition("[")[0]
    if algorithm.origin is None:
        yield "spec.selector", algorithm.options, algorithm.options | _options(spec.selector)
    yield "run_id", run_id(spec.scenario_hash, algorithm.name, algorithm.options, spec.seed, content), record.run_id
    if digests.result is not None:
        yield "digests.result", result_digest(record), digests.result


def _options(selector: str) -> dict[str, object]:
    """Returns the options that a selector names. One that cannot be parsed gives an option that no
    algorithm has, so that the comparison fails and shows the reason."""
    try:
        return parse_selector(selector)[1]
    except UsageError as error:
        return {"selector": str(error)}


def _end(record: Record) -> Checks:
    """Yields the checks of `final`. The final version is that of the last point of the curves, or a
    later one if the run went on after that point. The curves keep metrics in float32."""
    final, curves = record.final, record.curves
    values = {name: getattr(final, name) for name in METRICS} | final.own
    yield "final.seconds", record.ledger.end_seconds, final.seconds
    if record.state == "diverged":
        yield from ((f"final.{name}", None, value) for name, value in values.items())
        return
    yield "ledger.updates", final.version, record.ledger.updates
    if not len(curves["seconds"]):
        yield "curves", "at least one point", "none"
        return
    last = int(curves["version"][-1])
    yield (
        "final.version",
        True,
        last == final.version or (last < final.version and curves["seconds"][-1] < final.seconds),
    )
    if last == final.version:
        for name, got in values.items():
            value = float(curves[name][-1])
            with np.errstate(over="ignore"):
                yield f"final.{name}", value if math.isfinite(value) else None, None if got is None else float(np.float32(got))


def _stop(record: Record) -> Checks:
    """Yields the checks of the end of the run. A run with a goal stops at the first point at which
    it has held the goal for long enough: the curves and the time end there. A run that has no goal,
    or never holds it, has another cause of its end."""
    seconds, end, scenario = record.curves["seconds"], record.final.seconds, record.spec.scenario
    goal, last, held = scenario.goal, len(seconds) - 1, None
    if goal is not None:
        held = _held(record, goal)
    yield "curves.seconds", last if held is None else held, last
    yield "outcome.ended_by", held is not None, record.outcome.ended_by == "target"
    if held is not None:  # the clock rounds to nanoseconds, so `end` need not be the point itself
        following = in_seconds(scenario.evaluation.grid.times_ns(held + 2))[-1]
        yield "final.seconds", True, bool(seconds[held] <= end < following)


def _held(record: Record, goal: Target) -> int | None:
    """Returns the index of the point at which the run has held its goal, None if it does not."""
    budget, sign = record.spec.scenario.budget, record.spec.scenario.sign(goal.metric)
    values, least = sign * record.curves[goal.metric], sign * goal.value
    if budget.hold == "points":
        return first_held(values, least, budget.hold_points)
    at_ns = np.rint(record.curves["seconds"] * NANOSECONDS).astype(np.int64)
    return holding.stop(values >= least, at_ns, np.asarray(record.curves["version"], np.int64))


def _targets(record: Record) -> Checks:
    yield "time_to_target", hits(record.spec.scenario, record.curves, record.ledger.end_seconds), record.time_to_target


def _curves(record: Record) -> Checks:
    seconds = record.curves["seconds"]
    grid = in_seconds(record.spec.scenario.evaluation.grid.times_ns(len(seconds)))
    yield "curves.seconds", True, bool(np.array_equal(seconds, grid))
    for name in RISING:
        yield f"curves.{name}", True, _rises(record.curves[name])


def _rises(column: Column) -> bool:
    return bool((column >= 0).all() and (np.diff(column) >= 0).all())


def _server(record: Record) -> Checks:
    """Yields the checks of the server's work, which is in ledger, curves and digests, or nowhere:
    the curves end with what the ledger has, or before."""
    ledger, column = record.ledger, record.curves.get(SERVER_CURVE)
    has_speed = record.spec.scenario.server.gradients_per_second is not None
    for name in SERVER_LEDGER:
        is_due = column is not None and (name != "server_busy_seconds" or has_speed)
        yield f"ledger.{name}", is_due, getattr(ledger, name) is not None
    yield "digests.server", server_digest(record), record.digests.server
    if column is not None:
        yield f"curves.{SERVER_CURVE}", True, _rises(column)
        passes = (ledger.server_forward_examples or 0) + PASSES_OF_A_GRADIENT * (ledger.server_gradient_examples or 0)
        yield f"curves.{SERVER_CURVE}", True, not len(column) or int(column[-1]) <= passes
