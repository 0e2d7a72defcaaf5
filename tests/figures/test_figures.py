"""All kinds of figures: they are made, twice the same, and say in letters what they show."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest

from fedbench.analysis.board import Board
from fedbench.analysis.pictures.boards import heat, solved_profiles
from fedbench.analysis.pictures.learning_curves import learning_curves
from fedbench.analysis.pictures.ledgers import participation, staleness
from fedbench.analysis.pictures.points import DesignPicture, FactorLine, PointColumn
from fedbench.analysis.pictures.sensitivity import Sensitivity, Sought, Tried
from fedbench.analysis.profiles import Reference, Solved
from fedbench.engine.label_map import LabelMap
from fedbench.engine.timeline import Absence, ClientTimeline, Job
from fedbench.errors import UsageError
from fedbench.figures.curves import draw_curves, draw_profiles
from fedbench.figures.design import draw_design
from fedbench.figures.heat import draw_heat
from fedbench.figures.labels import draw_labels
from fedbench.figures.ledgers import draw_participation, draw_staleness
from fedbench.figures.sensitivity import draw_sensitivity
from fedbench.figures.style import Drawn
from fedbench.figures.timeline import draw_timelines
from fedbench.results.record import Record
from tests.conftest import TARGET, alter
from tests.figures.conftest import content, runs

pytestmark = pytest.mark.extra("plot")
Rows = dict[str, list[Record]]
Written = Callable[[Callable[[], Drawn]], str]


def test_curves_name_bold_rows_and_count_the_others(rows: Rows, written: Written) -> None:
    svg = written(lambda: draw_curves(learning_curves(rows), ["slow_one", "never"], 85))
    for words in ("slow_one", "never  (miss 5/5)", "1 other row", "virtual time (s)", "test accuracy", f"{TARGET:g}"):
        assert f">{words}<" in svg
    assert ">fast<" not in svg


@pytest.mark.parametrize(("suffix", "begins"), [(".pdf", b"%PDF"), (".png", b"\x89PNG")])
def test_files_are_the_same_twice_and_have_no_date(suffix: str, begins: bytes, rows: Rows, tmp_path: Path) -> None:
    first, second = (content(draw_curves(learning_curves(rows), ["fast"], 85), tmp_path / f"{i}{suffix}") for i in (1, 2))
    assert first == second
    assert first.startswith(begins)
    assert not {word for word in (b"CreationDate", b"/Type3", b"Software") if word in first}


def test_the_caption_of_curves_says_what_bands_are(rows: Rows) -> None:
    few = {row: several[:2] for row, several in rows.items()}
    assert "95 % intervals" in draw_curves(learning_curves(rows), ["fast"], 85).caption
    assert "the least and the largest seed" in draw_curves(learning_curves(few), ["fast"], 85).caption


def test_curves_of_runs_that_broke_off_have_a_cross(rows: Rows) -> None:
    broken = {"broken": runs("broken", 3, state="diverged")}
    assert "cross" in draw_curves(learning_curves(broken), ["broken"], 175).caption
    assert "cross" not in draw_curves(learning_curves(rows), ["fast"], 175).caption


def test_a_long_grey_line_does_not_make_the_bold_ones_short(rows: Rows) -> None:
    rows["fast"][0].curves["seconds"] = rows["fast"][0].curves["seconds"] / 2  # the mean ends with its first seed
    assert draw_curves(learning_curves(rows), ["fast"], 85).figure.axes[0].get_xlim() == (0, 10)
    assert draw_curves(learning_curves(rows), ["fast", "never"], 85).figure.axes[0].get_xlim() == (0, 20)


def test_large_numbers_at_an_axis_have_letters(rows: Rows, tmp_path: Path) -> None:
    for several in rows.values():
        for run in several:
            run.curves["bytes"] = run.curves["bytes"] * 1e6
    svg = content(draw_curves(learning_curves(rows, "bytes"), ["fast"], 175), tmp_path / "a.svg").decode()
    assert "1e9" not in svg
    assert " G<" in svg


def test_nine_rows_are_too_many_to_be_bold(rows: Rows) -> None:
    with pytest.raises(UsageError, match=r"at most 8 rows are bold, got 9: a0, a1"):
        draw_curves(learning_curves(rows), [f"a{i}" for i in range(9)], 85)


def test_profiles_with_a_reference_and_without(boards: dict[str, Board], written: Written) -> None:
    solved = Solved(scenario="calm", target=TARGET, seconds=2.0)
    frozen = Reference(name="r", made_of={}, hashes={}, problems=(solved,))
    svg = written(lambda: draw_profiles(solved_profiles(boards, frozen), ["fast", "never"], 85))
    assert ">time / reference time<" in svg
    assert ">never  (miss 100 %)<" in svg
    assert "one target with every seed" in draw_profiles(solved_profiles(boards, frozen), ["fast"], 85).caption
    assert draw_profiles(solved_profiles(boards, None), ["fast"], 175).figure.axes[0].get_xlabel() == "time / budget"


def test_heat_shows_misses_and_the_set_of_the_best(boards: dict[str, Board], written: Written) -> None:
    data = heat(boards)
    svg = written(lambda: draw_heat(data, 175))
    (group,) = data.groups
    assert svg.count(">●<") == sum(cell.is_best for row in group.rows for cell in row.cells if cell) == 2
    assert svg.count(">never<") == 2, "the row of that name, and its cell"
    regret = next(row for row in group.rows if row.row == "slow_one").cells[0].regret  # type: ignore[union-attr]
    assert regret is not None
    assert f">{regret[0]:.2f}<" in svg
    assert f">{group.kind}<" in svg
    assert ">cheapest, cost<" in svg
    assert "Empty: no row." in draw_heat(data, 175).caption
    assert any(text.get_text() == "×" for text in draw_heat(data, 40).figure.axes[0].texts)  # no room for numbers


def test_staleness(rows: Rows, written: Written) -> None:
    svg = written(lambda: draw_staleness(staleness(rows), 85))
    assert ">mean 0.5 ± 0, most 2<" in svg
    assert "Hatched" not in draw_staleness(staleness(rows), 85).caption
    for run in rows["fast"]:
        alter(run, "ledger", {"jobs_consumed": 20, "staleness_max": 500})
    assert "Hatched" in draw_staleness(staleness(rows), 85).caption
    with pytest.raises(UsageError, match="expected 1 to 8 rows, got 9"):
        draw_staleness(staleness(rows) * 3, 85)


def test_participation(rows: Rows, written: Written) -> None:
    svg = written(lambda: draw_participation(participation(rows), 85))
    assert svg.count(">0.25 ± 0<") == 3
    assert ">Gini<" in svg


def timeline(name: str) -> ClientTimeline:
    jobs = (
        Job(3, 0.0, 0.1, 1.0, 1.2, 1.2, "used", 0),
        Job(3, 1.2, 1.3, None, None, 2.0, "lost", None),
        Job(5, 0.0, 0.2, 3.0, 3.1, 3.1, "late", None),
        Job(5, 3.2, None, None, None, 4.0, "unused", None),
    )
    return ClientTimeline(name, "calm", 0, 4.0, (3, 5), 9, jobs, (Absence(3, 2.0, 3.0),), (1.2, 2.4))


def test_timelines_name_what_became_of_jobs(written: Written) -> None:
    svg = written(lambda: draw_timelines([timeline("fedavg"), timeline("fedbuff")], 85))
    for words in ("fedavg: 2 updates", "fedbuff: 2 updates", "used", "late", "lost", "away", "server update"):
        assert f">{words}<" in svg
    assert "not used by the end" not in svg  # its only job does not begin to train
    assert "2 of 9 clients" in draw_timelines([timeline("fedavg")], 85).caption
    with pytest.raises(UsageError, match="expected 1 to 4 algorithms, got 0"):
        draw_timelines([], 85)


def test_labels(written: Written) -> None:
    data = LabelMap("calm", 3, (1, 0), ((5, 0), (1, 4)), (0.1, 0.4))
    svg = written(lambda: draw_labels(data, 85))
    assert ">2 clients, from the fastest to the slowest<" in svg
    assert "takes 4 times as long" in draw_labels(data, 85).caption


def test_design(written: Written) -> None:
    """Both points for the model and the one held out; a level is as dark as it is far."""
    factors = (FactorLine("skew", "", ("iid", "two")), FactorLine("at_work", "jobs", ("1", "10", "100")))
    points = (
        PointColumn("design-01", "design", (0, 2), is_anchor=True),
        PointColumn("design-02", "design", (1, 0), is_anchor=False),
        PointColumn("held-out-01", "held_out", (1, 1), is_anchor=False),
    )
    drawn = draw_design(DesignPicture("mine", factors, points), 85)
    faces = {tuple(patch.get_xy()): patch.get_facecolor()[0] for patch in drawn.figure.axes[0].patches}  # type: ignore[attr-defined]
    assert set(faces) == {(x, y) for x in (0, 1, 3) for y in (0, 1)}
    assert faces[0, 1] < faces[3, 1] < faces[1, 1]
    assert (faces[0, 0], faces[1, 0]) == (faces[1, 1], faces[0, 1])
    svg = written(lambda: draw_design(DesignPicture("mine", factors, points), 85))
    for words in ("2 for the model", "1 held out", "at work", "1, 10, 100"):
        assert f">{words}<" in svg
    assert "(at work in jobs). Triangles: the 1 anchor, where all options are searched." in drawn.caption
    bare = tuple(dataclasses.replace(one, is_anchor=False) for one in points)
    assert draw_design(DesignPicture("mine", factors, bare), 85).caption.endswith("(at work in jobs).")


def test_sensitivity(written: Written) -> None:
    sought = (Sought("local_lr", 0.001, 1, "log"), Sought("server_lr", 0.1, 3, "linear"))
    trials = (Tried(0, {"local_lr": 0.1}, 4.0, 0, 4, 0), Tried(1, {"local_lr": 0.01, "server_lr": 1.0}, 9.0, 2, 4, 1))
    data = Sensitivity("fedbuff", "calm", 20.0, sought, trials, 0)
    svg = written(lambda: draw_sensitivity([data], 85))
    for words in ("fedbuff at calm", "local_lr", "server_lr", "0.01", "default options", "chosen", "misses targets"):
        assert f">{words}<" in svg
    assert "is no number" in draw_sensitivity([data], 85).caption
    with pytest.raises(UsageError, match="expected 1 to 4 algorithms, got 5"):
        draw_sensitivity([data] * 5, 85)
