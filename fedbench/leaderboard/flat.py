"""Writes a document as one table, `data/NAME.csv`."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from dataclasses import asdict

from fedbench.documents.board import Standing
from fedbench.documents.suite import Document
from fedbench.leaderboard.cells import Seen, seen_at
from fedbench.leaderboard.columns import DECLARED

Flat = dict[str, object]


def flat_rows(data: Document) -> list[Flat]:
    """Returns one flat row for each point, kind and algorithm, with the columns of the CSV. Unknown
    values are None."""
    return [_flat(seen) for point in data.points for kind in data.kinds for seen in seen_at(data, kind, point.name).values()]


def as_csv(data: Document) -> str:
    """Returns `flat_rows` as CSV. Points with different targets share one header, and a column that
    does not apply to a row is empty."""
    rows = flat_rows(data)
    names = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, names, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _flat(seen: Seen) -> Flat:
    row, scenario, axis = seen.row, seen.section, seen.document.axis.name
    flat: Flat = {
        "note": seen.document.note,
        "point": seen.point,
        "scenario": scenario.name,
        "settings": " ".join(scenario.settings),
        "scenario_hash": scenario.hash,
        "task": scenario.task,
        "model": scenario.model,
        "algorithm": row.label,
        "kind": seen.kind,
        "selector": row.selector,
        "options": json.dumps(row.algorithm.options, sort_keys=True),
        "validity": row.validity,
        "flattered_by_public_data": row.flattered,
        "seeds": " ".join(map(str, row.seeds)),
        "outcomes": _counts(row.outcomes),
        "ended_by": _counts(row.ended_by),
        **_standing(seen.standing),
        "off_board": row.off_board,
        "axis": axis,
        "horizon": scenario.horizon.at,
        "left_out": row.left_out,
        **{f"accuracy_{name}": value for name, value in asdict(row.accuracy.shown()).items()},
    }
    for name, value in row.measures.items():
        flat |= {f"{name}_{part}": getattr(value, part) for part in ("mean", "std", "half_width", "n")}
    flat["staleness_max"] = row.staleness_max
    for one in row.to_target:
        stem = f"{axis}_to_{one.metric}_{one.target}"
        flat |= {f"{stem}_{name}": getattr(one, name) for name in ("median", "hits", "total", "beyond", "lower_bound")}
        flat[f"{stem}_restricted_mean"] = one.restricted_mean.mean
    more = {column.name: column.cell(seen).worth for column in DECLARED if not column.csv}
    return flat | {"command": row.command, "command_needs": row.command_needs} | more


def _standing(found: Standing | None) -> Flat:
    """Returns the columns of a row of a board; none without it."""
    if found is None:
        return {}
    regret, low, high = (found.regret.numbers if found.regret else None) or (None,) * 3
    return {
        "system": found.group,
        "cost_seconds": found.cost,
        "cost_is_lower_bound": found.is_bound,
        "targets_held": found.solved,
        "regret": regret,
        "regret_low": low,
        "regret_high": high,
        "in_set_of_the_best": found.is_best,
        **{f"cost_{axis}": one.cost for axis, one in found.axes.items()},
        "clients_at_work": found.under_way,
        "marks": "; ".join(found.marks),
    }


def _counts(words: Mapping[str, int]) -> str:
    return " ".join(f"{word}={count}" for word, count in words.items())
