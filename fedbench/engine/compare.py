"""Compares two records of one run: in which fields they differ, and whether rounding can be the
only reason."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from fedbench.results.consistent import names_truly
from fedbench.results.record import METRICS, RESULT, SERVER_CURVE, SERVER_LEDGER, Record, columns_of, result_digest

DIGESTS = ("inputs", "plan", "model", "selections", "server")
TOLERANCE = 0.01  # the largest difference of accuracies, and of losses relative to the larger of 1 and their size
OF_THE_MODEL = re.compile(  # the fields that rounding on another machine can change
    r"digests[.](model|result)|warnings.*|time_to_target\[\d+\][.]seconds"
    rf"|final[.]({'|'.join(METRICS)}|client_accuracy_\w+)|curves[.]({'|'.join(METRICS)})\[\d+\]"
)


def differences(record: Record, again: Record) -> list[str]:
    """Returns the paths of the fields that differ, such as `digests.plan`, `final.test_accuracy`
    and `curves.bytes[3]`, digests first. Of a curve only the first point that differs is named.

    Not compared are the provenance, the file name of an algorithm, digests that an older record
    does not have, the server's work if it was not counted then, and a selector that names only
    options of the run: which ones it had to name depends on the defaults of its day.
    """
    before, now = (_plain(one) for one in (record, again))
    for name in ("selections", "result", "server"):
        if name not in before["digests"]:
            now["digests"].pop(name, None)
    columns = columns_of(record.curves)
    if SERVER_CURVE not in columns:
        now["ledger"] = {name: value for name, value in now["ledger"].items() if name not in SERVER_LEDGER}
    found = [f"digests.{name}" for name in DIGESTS if before["digests"].get(name) != now["digests"].get(name)]
    for section in ("spec", *RESULT):
        found += _unequal(section, before.get(section, []), now.get(section, []))
    found += [path for name in columns for path in _unequal_points(name, record, again)]
    if before["digests"].get("result") != now["digests"].get("result"):
        found.append("digests.result")
    return found


def verdict(record: Record, again: Record) -> tuple[str, list[str]]:
    """Returns the verdict (identical, within tolerance or differs) and the fields that differ."""
    found = differences(record, again)
    return "identical" if not found else "within tolerance" if within_tolerance(record, again, found) else "differs", found


def within_tolerance(record: Record, again: Record, found: list[str]) -> bool:
    """Tells whether rounding can be the only reason for the differences `found`: every accuracy and
    loss, at the end and at every point of the curves, is as close as TOLERANCE. The accuracy of the
    worst decile may be five times as far, since few examples decide it. False for a record whose
    own digest does not fit it."""
    if not all(OF_THE_MODEL.fullmatch(path) for path in found):
        return False
    if "result" in record.meta["digests"] and record.meta["digests"]["result"] != result_digest(record.meta, record.curves):
        return False
    before, now = record.meta["final"], again.meta["final"]
    names = (*METRICS, "client_accuracy_mean", "client_accuracy_worst_decile")
    ends = all(_close(name, before[name], now[name]) for name in names)
    return ends and all(_close(name, record.curves[name], again.curves[name]) for name in METRICS)


def _close(name: str, one: Any, other: Any) -> bool:
    if one is None or other is None:
        return one is other
    wide = 5 if name == "client_accuracy_worst_decile" else 1
    a, b = np.asarray(one, np.float64), np.asarray(other, np.float64)
    size = np.maximum(1.0, np.abs(b)) if name.endswith("loss") else np.ones_like(b)
    equal = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(invalid="ignore"):
        return bool((equal | (np.abs(a - b) <= TOLERANCE * wide * size)).all())


def _plain(record: Record) -> dict[str, Any]:
    """Returns the record's sections that are compared, as JSON reads them back."""
    meta: dict[str, Any] = json.loads(json.dumps({name: v for name, v in record.meta.items() if name != "provenance"}))
    spec = meta["spec"]
    if "origin" in spec["algorithm"]:
        spec["algorithm"]["origin"].pop("file", None)
    elif names_truly(spec):
        del spec["selector"]
    return meta


def _unequal(path: str, a: Any, b: Any) -> Iterator[str]:
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
