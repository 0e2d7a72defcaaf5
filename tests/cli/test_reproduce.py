"""`fedbench reproduce`."""

from __future__ import annotations

import json
import re
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from typer.testing import CliRunner

from fedbench.cli.main import app
from fedbench.kernels.build import build_info
from fedbench.papers import orders_of_convergence, published
from fedbench.papers.runs import ARCHIVES
from fedbench.results import archive
from fedbench.results.provenance import commit
from fedbench.results.store import Store
from tests.cli.commands import fedbench
from tests.conftest import sealed
from tests.leaderboard.papers import claim

ROOT = Path(__file__).parents[2]


def rows(*arguments: str, archives: Path = ROOT / ARCHIVES) -> list[dict[str, object]]:
    result = CliRunner().invoke(app, ["reproduce", *arguments, "--json", "--archives", str(archives)])
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_the_plan_lists_every_cell() -> None:
    """With verdict, and the price or the reason where it is not run; the verdicts are the committed
    ones."""
    committed = json.loads((ROOT / ARCHIVES / published.VERDICTS).read_text())
    found = rows("--plan")
    assert found == [*committed["cells"], *committed["orders"]]
    assert len(committed["cells"]) == 499


def test_the_plan_of_some_cells_as_a_table(tmp_path: Path) -> None:
    result = fedbench("reproduce", "001:T3", "--cells", "1,3-4", "--plan", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "16050" in result.stdout
    assert "constants: 3 agrees" in result.stdout
    assert list(tmp_path.iterdir()) == []  # nothing is written


def test_the_plan_says_what_the_committed_runs_cost(tmp_path: Path) -> None:
    result = fedbench("reproduce", "001:T1", "--plan", "--archives", str(ROOT / ARCHIVES), cwd=tmp_path)
    assert re.search(r"the committed runs \(\d+, variations included\) cost about 0\.\d+ hours of two cores", result.stderr)


def test_without_committed_records_there_are_no_verdicts(tmp_path: Path) -> None:
    result = fedbench("reproduce", "001:T1", "--plan", cwd=tmp_path)
    assert "measured results: 8 not run" in result.stdout
    assert "there are no committed records here (results/papers), so nothing counts as measured" in " ".join(
        result.stderr.split()
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["003:T1"], "unknown paper '003'"),
        (["001:T1", "--cells", "9"], "expected cells 1 to 8"),
        (["001", "--write"], "it is about all papers"),
        (["--write"], "is none; run it there"),
        (["001:T1", "--pack"], "it has no record of these cells"),
        (["000:T1", "--on", "papr"], "--on papr: unknown; did you mean 'paper'?; known for these cells: paper, cifar10-jpeg"),
        (["001:T1", "--variation", "one-fast"], "--variation one-fast: unknown; did you mean"),
        (["001:T1", "--variation", "one-fast-10", "--price"], "--variation one-fast-10: --price lists all that there is"),
        (["001:T1", "--variation", "one-fast-10", "--plan"], "--variation one-fast-10: --plan lists all that there is"),
        (["000:T1", "--on", "paper", "--price"], "--on paper: --price lists all that there is for the cells"),
        (["001:T1", "--plan", "--archives", "nowhere"], "--archives nowhere: there is no such folder of committed records"),
        (
            ["000:T1", "--cells", "17,18", "--on", "paper"],
            "none of the cells (2) can be run here: data set cifar10: not on this machine",
        ),
    ],
)
def test_wrong_use(arguments: list[str], message: str, tmp_path: Path) -> None:
    result = fedbench("reproduce", *arguments, cwd=tmp_path, FEDBENCH_DATA=str(tmp_path))
    assert result.returncode == 2
    assert message in " ".join(result.stderr.split())


def test_prices_of_what_is_declared(tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    found = rows("000:T1", "--cells", "1,33-34,41,45", "--price", archives=tmp_path / "none")
    named = {str(row["declared"]): row for row in found}
    assert named["000:T1, variation by-class"]["cells"] == [33, 45]
    table = fedbench("reproduce", "000:T1", "--cells", "33", "--price", "--archives", "none", cwd=tmp_path, COLUMNS="250")
    assert "fedbench reproduce 000:T1 --variation by-class" in table.stdout
    assert "hours of one core in all" in table.stdout
    assert "left out, one seed of each" not in table.stdout
    table = fedbench("reproduce", "000:T1", "--cells", "6", "--price", "--archives", "none", cwd=tmp_path, COLUMNS="250")
    assert table.stdout.startswith("nothing that is declared for these cells lacks a record\nleft out, one seed of each\n")


@pytest.mark.fashion
def test_one_variation_is_run_alone(tmp_path: Path) -> None:
    """With the committed digest, and no run of the cell itself."""
    needs_avx512()
    archives = ["--archives", str(ROOT / ARCHIVES)]
    result = fedbench(
        "reproduce", "001:T1", "--cells", "3", "--variation", "one-fast-10", "--store", "runs", *archives, cwd=tmp_path
    )
    assert result.returncode == 0, result.stderr
    assert "against the committed records: 1 identical" in result.stderr
    assert re.search(r"^1 of 1: 001:T1:3: fedavg\[", result.stderr, re.MULTILINE)


def needs_avx512() -> None:
    """The committed records are of one instruction set, and digests belong to it."""
    if "avx512" not in build_info()["instruction_sets"]:
        pytest.skip("the committed records were made with AVX-512, which this machine lacks")


def made_again(cells: str, runs: int, folder: Path) -> CompletedProcess[str]:
    """Cells of a table, whose runs are all those that are committed."""
    needs_avx512()
    archives = ["--archives", str(ROOT / ARCHIVES)]
    result = fedbench("reproduce", "001:T1", "--cells", cells, "--store", "runs", "-j", "2", *archives, cwd=folder)
    assert result.returncode == 0, result.stderr
    assert f"against the committed records: {runs} identical" in result.stderr
    return result


@pytest.mark.slow
@pytest.mark.fashion
def test_a_cell_gives_the_committed_digests(tmp_path: Path) -> None:
    result = made_again("3", 3, tmp_path)
    assert "measured results: 1 contradicted" in result.stdout
    # what was made can be put into an archive of one's own, from which the same verdict follows
    again = fedbench("reproduce", "001:T1", "--store", "runs", "--pack", cwd=tmp_path)
    if commit()[1]:
        assert "it was made from code with local changes" in again.stderr
        return
    assert "001:T1: 3 records" in again.stderr
    verdict = fedbench("reproduce", "001:T1", "--cells", "3", "--plan", cwd=tmp_path)
    assert "measured results: 1 contradicted" in verdict.stdout


def test_variations_are_shown_by_name_with_their_results(tmp_path: Path) -> None:
    archives = ["--archives", str(ROOT / ARCHIVES)]
    table = fedbench("reproduce", "001:T1", "--cells", "3", "--plan", "--vary", *archives, cwd=tmp_path, COLUMNS="200")
    committed = rows("001:T1", "--cells", "3", "--plan", "--vary")
    variations = [row for row in committed if "variation" in row]
    assert variations
    for row in variations:
        assert str(row["variation"]) in table.stdout
        assert row["readings"]
        assert str(row["readings"][0]) in table.stdout  # type: ignore[index]
    assert not [row for row in rows("001:T1", "--cells", "3", "--plan") if "variation" in row]


@pytest.mark.fashion
def test_another_result_is_seen(tmp_path: Path) -> None:
    """Committed records that say something else than the runs: exit 1, and the field is named."""
    needs_avx512()
    records = archive.read(ROOT / ARCHIVES / "001-T1")
    store = Store(tmp_path / "runs")
    store.prepare()
    for record in records:
        store.write(record)
    for i, record in enumerate(records):
        if record.selector == "fedavg[local_lr=0.001,sampling=all,weights=p]":
            losses = record.curves["test_loss"].copy()
            losses[0] += 1
            records[i] = sealed(record.model_copy(update={"curves": {**record.curves, "test_loss": losses}}))
    archive.write(tmp_path / "committed" / "001-T1", records)
    result = fedbench("reproduce", "001:T1", "--cells", "3", "--store", "runs", "--archives", "committed", cwd=tmp_path)
    assert result.returncode == 1, result.stderr
    assert "first in curves.test_loss[0]" in result.stderr


@pytest.mark.slow
@pytest.mark.fashion
def test_a_whole_table_gives_the_committed_digests(tmp_path: Path) -> None:
    made_again("1,3,5,7", 12, tmp_path)


def test_pages_are_not_written_without_records(tmp_path: Path) -> None:
    """A name with a mistake in it would leave pages on which nothing is measured."""
    (tmp_path / "csrc").mkdir()
    result = fedbench("reproduce", "--write", "--archives", "results/paperz", cwd=tmp_path)
    assert result.returncode == 2
    assert "--archives results/paperz: there is no such folder of committed records" in result.stderr
    assert [one.name for one in tmp_path.iterdir()] == ["csrc"]


def test_lines_of_theory_that_are_none(tmp_path: Path) -> None:
    good = json.dumps(claim("against T, exponent", "slope"))
    (tmp_path / orders_of_convergence.FILE).write_text(f'{good}\n{{"claim": "fedavg-orders", "sign": 1}}\n')
    result = fedbench("reproduce", "002:TI", "--plan", "--archives", str(tmp_path))
    assert result.returncode == 1
    assert "theory.jsonl, line 2: expected a line of `fedbench theory --json`: source: Field required" in " ".join(
        result.stderr.split()
    )
