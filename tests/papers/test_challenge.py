"""The page of cells that need data or a GPU."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fedbench.cli import reproduce
from fedbench.cli.main import app
from fedbench.errors import UsageError
from fedbench.papers import ceilings, challenge, experiment, published, queue
from fedbench.papers.cells import cells, chosen
from fedbench.papers.handing_in import FILE, hand_in
from fedbench.papers.price import price
from fedbench.papers.runs import ARCHIVES, in_archives, is_run
from fedbench.papers.verdicts import needs, verdict
from fedbench.results.store import Store
from tests.papers.test_verdicts import gives, nothing

ROOT = Path(__file__).parents[2]
CELL = chosen("001:T1", "3")


def test_the_page_is_up_to_date() -> None:
    found = challenge.page(in_archives(ROOT / ARCHIVES, cells()), queue.spent(ROOT / ARCHIVES))
    assert (ROOT / published.PAGES / challenge.FILE).read_text() == found, "`fedbench reproduce --write` makes it again"


def test_what_is_declared_and_has_no_record_is_told_with_its_price() -> None:
    """A cell that has all of its records is not among it."""
    lacking = challenge.page(nothing, 0.0).rpartition("## Declared, and not run")[2]
    there = challenge.page(gives({("000:T1", 1): (48, 51, 58)}), 0.0).rpartition("## Declared, and not run")[2]
    numbers = [re.search(r"^\| 000:T1 \| ([\d, -]+) \| (\d+) \|", text, re.MULTILINE) for text in (lacking, there)]
    first, second = ((one[1].split("-")[0].split(",")[0], int(one[2])) for one in numbers if one is not None)
    assert first[0] == "1"
    assert second[0] != "1"
    assert first[1] - second[1] == 3
    assert "By price" in lacking


def test_the_ceilings_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those in print, and those that are measured as soon as they are."""
    known = ceilings.load()
    found = ceilings.Measured(stand_in="cifar10-jpeg", augmentation="none", accuracy=0.7123, half_width=0.0042, seeds=3)
    monkeypatch.setattr(ceilings, "load", lambda: known.model_copy(update={"measured": (found,)}))
    text = challenge.page(nothing, 0.0)
    assert "| cifar10-jpeg | none | 0.712 ± 0.004 | 3 |" in text
    assert all(f"| {one.model} | {one.accuracy:g} |" in text for one in known.lossless)
    monkeypatch.setattr(ceilings, "load", lambda: known.model_copy(update={"measured": ()}))
    assert "It is not measured yet." in challenge.page(nothing, 0.0)


def test_every_cell_that_needs_data_has_a_command_a_price_and_what_to_bring() -> None:
    rows = {
        line.rpartition("`fedbench ")[2].rstrip("` |"): line
        for line in challenge.page(nothing, 0.0).splitlines()
        if line.startswith("| ")
    }
    wanted = [one for one in cells() if is_run(one) and needs(one)]
    assert len(wanted) > 160
    for one in wanted:
        row = rows[f"reproduce {one.of} --cells {one.number} --on paper"]
        assert all(challenge.NEEDS[name] in row for name in experiment.data_of(one)), row
    assert "CIFAR-10 and STL-10" in rows["reproduce 004:T2 --cells 21 --on paper"]


def test_what_needs_a_card_waits_for_one() -> None:
    """It is not among the runs that two cores have not got to, nor among those of a CPU."""
    (of, mine) = ("004:T2", chosen("004:T2", "1,17"))
    on = [way for way in experiment.ways(mine) if way.stand_in == "cifar10-jpeg-resnet18"]
    assert [(needs(way), experiment.seeds(way).last) for way in on] == [("It needs a GPU.", 1)] * 2
    assert {experiment.scenario(way).task.model for way in on} == {"resnet18"}
    before, _, after = challenge.page(nothing, 0.0).partition("## Declared, and not run")
    for way in on:
        assert f"`fedbench reproduce {of} --cells {way.number} --on {way.stand_in} --device cuda`" in before
        assert way.stand_in not in after
        assert way in reproduce.on(mine, None, "cuda")
        assert way in reproduce.on(mine, way.stand_in, "cpu")
        assert way not in reproduce.on(mine, None, "cpu")


def test_the_commands_are_taken() -> None:
    """By the command line, which then asks for the data."""
    result = CliRunner().invoke(app, ["reproduce", "004:T2", "--cells", "21", "--on", "paper"], env={"FEDBENCH_DATA": "/nowhere"})
    assert "none of the cells (1) can be run here: data set cifar10" in " ".join(str(result.exception or result.output).split())


def test_a_card_is_estimated_by_two_numbers() -> None:
    """A millisecond a step of a small network, 4 ms of ResNet-18."""
    small, large = chosen("000:T1", "17")[0], chosen("004:T2", "1")[0]
    assert challenge.gpu_minutes(small) == pytest.approx(price(small).steps / 1000 / 60, rel=0.02)
    assert 6.5 < challenge.gpu_minutes(large) < 7.5
    assert "an estimate and no measurement" in challenge.page(nothing, 0.0)


def stored(tmp_path: Path, *seeds: int, dirty: bool = False) -> Store:
    """A store with the committed records of some seeds of a cell."""
    store, find = Store(tmp_path / "runs"), in_archives(ROOT / ARCHIVES, CELL)
    store.prepare()
    for seed in seeds:
        made = find(experiment.spec(CELL[0], seed))
        assert made is not None
        store.write(made.model_copy(update={"provenance": made.provenance.model_copy(update={"dirty": dirty})}))
    return store


def test_whole_cells_are_handed_in(tmp_path: Path) -> None:
    words = {"name": "mine", "authors": ["Me"]}
    with pytest.raises(UsageError, match="no cell has a record of every seed"):
        hand_in(tmp_path / "mine", chosen("001:T1"), stored(tmp_path, 0, 1), words)
    assert hand_in(tmp_path / "mine", chosen("001:T1"), stored(tmp_path, 2), words) == {"001:T1": "3"}
    assert json.loads((tmp_path / "mine" / FILE).read_text()) == {"schema": 1, **words, "cells": {"001:T1": "3"}}
    assert (
        verdict(CELL[0], in_archives(tmp_path / "mine", CELL), {}).word
        == verdict(CELL[0], in_archives(ROOT / ARCHIVES, CELL), {}).word
    )
    with pytest.raises(UsageError, match="is there already"):
        hand_in(tmp_path / "mine", chosen("001:T1"), stored(tmp_path, 2), words)
    with pytest.raises(UsageError, match="small letters, digits and hyphens"):
        hand_in(tmp_path / "Mine!", chosen("001:T1"), stored(tmp_path, 2), words)


def test_records_of_changed_code_are_not_handed_in(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="made from code with local changes"):
        hand_in(tmp_path / "mine", chosen("001:T1"), stored(tmp_path, 0, 1, 2, dirty=True), {})
    assert not (tmp_path / "mine").exists()


def test_what_was_handed_in_becomes_the_papers_record(tmp_path: Path) -> None:
    """To what is there already. The verdict on the cell is then the same as on our records."""
    hand_in(tmp_path / "mine", chosen("001:T1"), stored(tmp_path, 0, 1, 2), {"name": "mine"})
    papers, before = tmp_path / "papers", in_archives(ROOT / ARCHIVES, CELL)
    packed = ["reproduce", "001:T1", "--pack", "--archives", str(papers), "--store"]
    result = CliRunner().invoke(app, [*packed, str(tmp_path / "mine")])
    assert result.exit_code == 0, result.output
    assert verdict(CELL[0], in_archives(papers, CELL), {}) == verdict(CELL[0], in_archives(tmp_path / "mine", CELL), {})
    assert verdict(CELL[0], in_archives(papers, CELL), {}).word == verdict(CELL[0], before, {}).word
    missing = CliRunner().invoke(app, [*packed, str(tmp_path / "empty")])
    assert "it has no record of these cells" in " ".join(str(missing.exception or missing.output).split())


def test_the_command_line_hands_in(tmp_path: Path) -> None:
    stored(tmp_path, 0, 1, 2)
    who = ["--name", "mine", "--title", "T", "--author", "Me", "--contact", "a@b.org"]
    given = ["submit", "001:T1", "--papers", *who, "--store", str(tmp_path / "runs"), "--output", str(tmp_path / "out")]
    result = CliRunner().invoke(app, given)
    assert result.exit_code == 0, result.output
    assert "001:T1: cells 3" in result.output
    assert (tmp_path / "out/mine/001-T1/runs.parquet").is_file()
    for name, value in (("-a", "fedavg"), ("--tuning-trials", "3")):
        refused = CliRunner().invoke(app, [*given, name, value])
        assert refused.exit_code != 0
        assert "a paper's cells have the options that it prints" in str(refused.exception)
