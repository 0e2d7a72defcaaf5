"""What a map says, derived a second time from an archive by code that knows nothing of the
package."""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from fedbench.analysis.board import BOARD_AXES
from fedbench.cli.main import app
from fedbench.results import archive
from fedbench.suites import suite as suites
from fedbench.suites.design.schema import LIBRARY
from fedbench.suites.findings.results import Results, load
from fedbench.suites.mapped import factors
from fedbench.suites.mapped.columns import entered
from fedbench.suites.suite import Suite
from tests.suites.mapped import again, made_up, small


def imported(file: str) -> set[str]:
    tree = ast.parse(Path(file).read_text(encoding="utf-8"))
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    return names | {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}


def test_the_second_way_imports_numpy_scipy_and_pyarrow_only() -> None:
    names = imported(again.__file__) | imported(again.sampler.__file__)
    others = {name for name in names if name.split(".")[0] not in sys.stdlib_module_names}
    assert others == {"numpy", "pyarrow.parquet", "scipy.linalg", "scipy.sparse", "scipy.special", "tests.analysis.map"}


def test_the_design_is_read_alike(suite: Suite) -> None:
    for of, file in ((suite, suite._beside[0] / "small-points.yaml"), (suites.load("map"), LIBRARY / "map.yaml")):
        ours = of.designed()
        found = again.Design(file.read_text())
        assert {name: list(map(str, levels)) for name, levels in found.levels.items()} == {
            name: [str(float(one)) if not isinstance(one, str) else one for one in factor.values]
            for name, factor in ours.factors.items()
        }
        assert found.pairs == ours.pairs()
        assert len(found.possible()) == ours.possible().sum()
        assert found.base == {
            name: level if isinstance(level, str) else float(level) for name, level in factors.base(ours).items()
        }
        assert {kind: len(rows) for kind, rows in found.rows.items()} == {
            "design": ours.points.design,
            "held_out": ours.points.held_out,
        }


def same(theirs: dict[str, list[Any]], ours: dict[str, list[Any]]) -> int:
    """The number of runs, all of which have the same costs both ways."""
    runs = [
        {
            run[:3]: run[3:]
            for run in zip(*(columns[name] for name in ("algorithm", "point", "seed", "cost", "is_censored")), strict=True)
            if run[0] != "fedecho"
        }
        for columns in (theirs, ours)
    ]
    assert runs[0].keys() == runs[1].keys()
    for run, (cost, is_censored) in runs[0].items():
        assert runs[1][run] == (pytest.approx(cost, rel=1e-9), is_censored)
    return len(runs[0])


@pytest.fixture(scope="module", name="real")
def _real(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Results]:
    """Real runs of the small suite, with its map."""
    folder = tmp_path_factory.mktemp("real")
    of = small.computed(folder)
    given = ["--tuned-in", str(folder / "tuned"), "--archives", str(folder / "suites")]
    for verb in (["map"], ["report", "-o", str(folder / "findings.md")]):
        done = CliRunner().invoke(app, ["suite", verb[0], str(folder / "small.yaml"), *verb[1:], *given])
        assert done.exit_code == 0, done.output + str(done.exception)
    return folder, load(of, folder / "tuned", folder / "suites")


@pytest.mark.slow
def test_costs_of_real_runs_are_the_same(real: tuple[Path, Results]) -> None:
    folder, results = real
    said = json.loads((folder / "suites/small/map.json").read_text())
    theirs, ours = again.columns(folder, "small", said), entered(results)
    for axis in BOARD_AXES:
        assert same(theirs[axis], ours.by_axis[axis]) == 3 * (16 * 4 + 6)
    assert 0.1 < np.mean(ours.by_axis["seconds"]["is_censored"]) < 0.5


@pytest.mark.slow
def test_what_the_map_says_is_found_again(real: tuple[Path, Results], capsys: pytest.CaptureFixture[str]) -> None:
    folder, _ = real
    is_bad = again.main(folder, "small", folder / "small-points.yaml", 1500)
    print(said := capsys.readouterr().out)
    assert not is_bad
    assert said.count(" numbers compared, 0 differ") == 3


@pytest.mark.slow
def test_a_number_that_is_not_so_is_found(real: tuple[Path, Results], capsys: pytest.CaptureFixture[str]) -> None:
    folder, _ = real
    file = folder / "suites/small/map.json"
    text = file.read_text()
    said = json.loads(text)
    said["judged"][0]["nearest"] += 1e-3
    value, low, high = said["always"][1]["mean"]
    said["always"][1]["mean"] = [value * 1.5, low * 1.5, high * 1.5]
    file.write_text(json.dumps(said))
    try:
        assert again.main(folder, "small", folder / "small-points.yaml", 200)
    finally:
        file.write_text(text)
    said_of_it = capsys.readouterr().out
    assert "error of the nearest point: off by 0.001" in said_of_it
    assert f"always {said['always'][1]['algorithm']}: off by" in said_of_it


@pytest.mark.slow
def test_the_page_of_real_runs_begins_with_the_map(real: tuple[Path, Results]) -> None:
    folder, _ = real
    text = (folder / "findings.md").read_text()
    assert "## Which algorithm for which heterogeneity? (small)" in text
    assert "### How sure the map is" in text


def test_costs_of_made_up_runs_are_the_same(suite: Suite, tmp_path: Path) -> None:
    """Also those of runs that miss, and of one that diverged."""
    results = made_up.results(suite, budget=7)
    broken = results.seats["design-01"]["fedbuff (tuned)"]
    broken[0] = made_up.run("fedbuff", "design-01", 0, 4.0, state="diverged")
    every = [run for rows in results.seats.values() for row, runs in rows.items() for run in runs if "centralised" not in row]
    archive.write(tmp_path / "suites" / "small", every)
    points = {
        name: {"scenario": next(iter(rows.values()))[0].spec.scenario_hash}
        for name, rows in results.seats.items()
        if suite.point(name).kind != "other_clients"
    }
    theirs = again.columns(tmp_path, "small", {"points": points, "public_data": ["fedecho"]})
    ours = entered(results).by_axis
    for axis in BOARD_AXES:
        assert same(theirs[axis], ours[axis]) == 3 * (16 * 4 + 6)
