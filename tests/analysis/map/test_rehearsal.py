"""The whole of it on real records: suite axes, which was not designed for it. Only that it runs is
looked at; its numbers say nothing, since one factor at a time shows no interaction."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedbench.analysis.axes import AXES, SECONDS, Axis
from fedbench.analysis.costs import reached, resolved
from fedbench.analysis.map.answers import always, close_to_best, predicted_set
from fedbench.analysis.map.draws import drawn
from fedbench.analysis.map.factors import Factor
from fedbench.analysis.map.fit import fit
from fedbench.results import archive
from fedbench.suites import suite as suites
from fedbench.suites import tuned
from fedbench.suites.findings.results import Results
from fedbench.suites.seats import seats

RESULTS = Path(__file__).resolve().parents[3] / "results"
FACTORS = (
    Factor("skew", kinds=("dirichlet-0.3", "iid", "dirichlet-0.1", "two-class")),
    Factor("longest", is_log=True),
    Factor("on"),
    Factor("clients", is_log=True),
)
CHANGED: dict[str, dict[str, Any]] = {
    "iid": {"skew": "iid"},
    "dirichlet-0.1": {"skew": "dirichlet-0.1"},
    "two-class": {"skew": "two-class"},
    "equal-speeds": {"longest": 1},
    "heavy-tail": {"longest": 40},
    "size-and-delay": {"longest": 40},
    "day-and-night": {"on": 0.5},
    "many-clients": {"clients": 1000},
}


def columns(results: Results, axis: Axis) -> dict[str, list[Any]]:
    """The costs of all tuned rows of a suite at the last target that gets a verdict. The name of
    an algorithm is that of its family, and one that never holds the target is left out."""
    rows: list[tuple[Any, ...]] = []
    for point, of_point in results.complete(tuned=True).items():
        kept = {row: runs for row, runs in of_point.items() if results.families[row] != "reference"}
        found = reached(kept, "window")
        grid = next(iter(of_point.values()))[0].spec.scenario.evaluation
        target = found.targets.index(resolved(found.on(SECONDS), grid.spacing.get("every_seconds"))[-1])
        on = found.on(axis)
        for s, k in np.ndindex(on.spent.shape[:2]):
            name = on.rows[k].split("[")[0]
            rows.append((name, point, on.seeds[s], float(on.spent[s, k, target]), bool(on.missed[s, k, target])))
    reaches = {name for name, *_, missed in rows if not missed}
    names = ("algorithm", "point", "seed", "cost", "is_censored")
    return dict(zip(names, map(list, zip(*(row for row in rows if row[0] in reaches), strict=True)), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("axis", ["seconds", "gradient_evaluations", "bytes"])
def test_it_runs_on_the_records_of_axes(axis: str) -> None:
    suite = suites.load("axes")
    frozen = tuned.read(RESULTS / "tuned" / "axes.yaml", suite)
    results = Results(suite, frozen, seats(suite, frozen, archive.read(RESULTS / "suites" / "axes", check=False)))
    runs = columns(results, AXES[axis])
    names = list(dict.fromkeys(runs["point"]))
    base = {"skew": "dirichlet-0.3", "longest": 5, "on": 1.0, "clients": 100}
    design = {"point": names, **{key: [(base | CHANGED.get(name, {}))[key] for name in names] for key in base}}
    draws = drawn(fit(runs, design, FACTORS), replicates=4)
    close = close_to_best(draws.at(design))
    found = always(draws, design)
    censored = np.mean(runs["is_censored"])
    print(
        f"{axis}: {len(runs['cost'])} runs, {censored:.0%} censored, {len(draws.algorithms)} algorithms, {draws.fit.steps} steps"
    )
    assert len(draws.algorithms) > 25
    assert np.isfinite(close).all()
    assert (close.max(axis=1) > 1 / len(draws.algorithms)).all()
    assert (found.value >= 1).all()
    assert predicted_set(draws.at(design)).any(axis=1).all()
