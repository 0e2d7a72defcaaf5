"""Compares two records of one run: in which fields they differ, and whether rounding can be the
only reason."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
from pydantic import JsonValue

from fedbench.results.consistent import names_truly
from fedbench.results.record import RESULT, SERVER_CURVE, Column, Record, columns_of, own_curves, result_digest
from fedbench.results.sections import METRICS, SERVER_LEDGER

TOLERANCE = 0.01  # the largest difference of accuracies, and of losses relative to the larger of 1 and their size
OWN = "metric"  # one's own, which is as close as a loss
OF_THE_MODEL = re.compile(  # the fields that rounding on another machine can change, beside curves of one's own
    r"digests[.](model|result)|warnings.*|time_to_target\[\d+\][.]seconds"
    rf"|final[.]({'|'.join(METRICS)}|client_accuracy_\w+|own[.]\w+)|curves[.]({'|'.join(METRICS)})\[\d+\]"
)


def differences(record: Record, again: Record) -> list[str]:
    """Returns the paths of the fields that differ, such as `digests.plan`, `final.test_accuracy`
    and `curves.bytes[3]`, digests first. Of a curve only the first point that differs is named.

    Not compared are the provenance, the file name of an algorithm, digests that an older record
    does not have, the server's work if it was not counted then, and a selector that names only
    options of the run: which ones it had to name depends on the defaults of its day.
    """
    columns, sums = columns_of(record.curves), record.digests.as_dict()
    apart = [f"digests.{name}" for name, value in sums.items() if value != getattr(again.digests, name)]
    found = [path for path in apart if path != "digests.result"]
    before, now = _plain(record), _plain(again)
    if SERVER_CURVE not in columns:
        now["ledger"] = {name: value for name, value in again.ledger.as_dict().items() if name not in SERVER_LEDGER}
    for section in ("spec", *RESULT):
        found += _unequal(section, before[section], now[section])
    found += [path for name in columns for path in _unequal_points(name, record, again)]
    return found + [path for path in apart if path == "digests.result"]


def verdict(record: Record, again: Record) -> tuple[str, list[str]]:
    """Returns the verdict (identical, within tolerance or differs) and the fields that differ."""
    found = differences(record, again)
    return "identical" if not found else "within tolerance" if within_tolerance(record, again, found) else "differs", found


def within_tolerance(record: Record, again: Record, found: list[str]) -> bool:
    """Tells whether rounding can be the only reason for the differences `found`: every accuracy and
    loss, at the end and at every point of the curves, is as close as TOLERANCE. The accuracy of the
    worst decile may be five times as far, since few examples decide it. False for a record whose
    own digest does not fit it."""
    own = own_curves(record.spec.scenario)
    if not all(OF_THE_MODEL.fullmatch(path) or path.partition("[")[0] in {f"curves.{name}" for name in own} for path in found):
        return False
    if record.digests.result not in (None, result_digest(record)):
        return False
    names = (*METRICS, "client_accuracy_mean", "client_accuracy_worst_decile")
    ends = all(_close(name, getattr(record.final, name), getattr(again.final, name)) for name in names)
    ends &= all(_close(OWN, record.final.own[name], again.final.own[name]) for name in own)
    points = all(_close(name, record.curves[name], again.curves[name]) for name in METRICS)
    return ends and points and all(_close(OWN, record.curves[name], again.curves[name]) for name in own)


def _close(name: str, one: Column | float | None, other: Column | float | None) -> bool:
    if one is None or other is None:
        return one is other
    wide = 5 if name == "client_accuracy_worst_decile" else 1
    a, b = np.asarray(one, np.float64), np.asarray(other, np.float64)
    size = np.maximum(1.0, np.abs(b)) if name.endswith("loss") or name == OWN else np.ones_like(b)
    equal = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(invalid="ignore"):
        return bool((equal | (np.abs(a - b) <= TOLERANCE * wide * size)).all())


def _plain(record: Record) -> dict[str, JsonValue]:
    """Returns the record's sections that are compared, as JSON has them."""
    spec, sections = record.spec, record.as_dict()
    own = spec.as_dict()
    if spec.algorithm.origin is not None:
        own["algorithm"] = {**spec.algorithm.as_dict(), "origin": spec.algorithm.origin.model_copy(update={"file": ""}).as_dict()}
    elif names_truly(spec):
        del own["selector"]
    return sections | {"spec": own}


def _unequal(path: str, a: object, b: object) -> Iterator[str]:
    if isinstance(a, dict) and isinstance(b, dict):
        for key in [*b, *(key for key in a if key not in b)]:
            yield from _unequal(f"{path}.{key}", a[key], b[key]) if key in a and key in b else [f"{path}.{key}"]
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        for i, (one, other) in enumerate(zip(a, b, strict=True)):
            yield from _unequal(f"{path}[{i}]", one, other)
    elif type(a) is not type(b) or a != b:
        yield path


def _unequal_points(name: str, record: Record, again: Record) -> Iterator[str]:
    a, b = record.curves[name], again.curves.get(name, np.empty(0))
    if len(a) != len(b):
        yield f"curves.{name}"
        return
    apart = np.flatnonzero((a != b) & ~(np.isnan(a) & np.isnan(b)))
    if apart.size:
        yield f"curves.{name}[{apart[0]}]"
