"""What the page says, and that the data beside it say the same."""

import csv
import json
import re
from pathlib import Path

import pytest

from fedbench.documents.section import Horizon, Limit
from fedbench.leaderboard import formats, site
from fedbench.leaderboard.site import build
from tests.conftest import GONE, alter, altered
from tests.leaderboard.reading import HOSTILE, Page, data_file, document, name, read, record_pages, scenarios, table


def test_table_says_what_the_data_says(board, tmp_path):
    assert build(board, tmp_path / "site") == tmp_path / "site" / "index.html"
    _, page, data = read(tmp_path / "site")
    copies = [at["data-copy"] for at in Page(record_pages(tmp_path / "site")).attributes("button") if "data-copy" in at]
    shown = [row for row in page.rows if row]
    rows = {row.label: row for scenario in scenarios(data) for row in scenario.rows}
    assert len(shown) == len(rows) == 5
    for cells in shown:
        row = rows[name(cells)]
        standing = next(one for found in data.boards["given"].values() for one in found if one.label == row.label)
        assert cells[1].startswith(f"{formats.cost(standing)}|{standing.group}|")
        assert cells[2].startswith(formats.interval(row.measures["test_accuracy_at_horizon"]) + "|")
        assert ("the best, within the noise" in cells[1]) == standing.is_ahead
        assert cells[3].startswith(formats.hits(row.to_target[0], data.axis) + "|")
        assert ("cannot be told apart" in cells[2]) == (row.accuracy.standing == "tied")
        assert cells[4].startswith(formats.outcomes(row.outcomes) + "|")
        assert cells[5].startswith(formats.interval(row.measures["test_accuracy"]) + "|")
        assert row.command in copies


def test_what_a_reader_must_be_told(board, tmp_path):
    build(board, tmp_path)
    _, page, _ = read(tmp_path)
    rows = {name(row): row for row in page.rows if row}
    assert rows["fedbuff[buffer_size=10,concurrency=10]"][1] == "5.00 s|10 clients at work|the best, within the noise|"
    assert rows["slow"][1] == "≥ 15.9 s|an unknown number of clients at work|the best, within the noise|", "a miss has no end"
    assert "best mean" in rows["fedavg"][2]
    assert "to best|cannot be told apart with 3 seeds" in rows["fedbuff[buffer_size=10,concurrency=10]"][2]
    assert rows["slow"][3].startswith("> 20.0 s (1/3)|mean ≥ ")
    assert rows["wild"][4] == "2 finished, 1 diverged|2 by time|"
    assert "not compared: 1 of 3 seeds diverged" in rows["wild"][2]
    assert "2 of 3 seeds have a value" in rows["wild"][2]
    assert not any("best" in mark for mark in rows["wild"][2].split("|")[2:])
    assert "1 seed, no interval" in rows[HOSTILE][2]
    assert "±" not in rows[HOSTILE][1] + rows[HOSTILE][2]


def test_where_accuracies_are_compared_and_why_there(record, tmp_path):
    """The page, the data and the table all say it; `short` was ended by the cap on updates."""
    runs = [record("long", seed, [0.1, 0.2 + 0.01 * (seed % 2), 0.3, 0.99]) for seed in range(3)]
    runs += [record("short", seed, [0.1, 0.5], ended_by="updates") for seed in range(3)]
    build(runs, tmp_path)
    text, page, data = read(tmp_path)
    assert "5 s of virtual time, where short, seed 0 (ended by updates) and 2 other runs end" in text
    assert "at 5 s, mean ± 95 %" in text
    assert data.axis.name == "seconds"
    limits = tuple(Limit(selector="short", seed=seed, ended_by="updates") for seed in range(3))
    assert scenarios(data)[0].horizon == Horizon(at=5.0, is_shared=False, limits=limits)
    accuracies = {row.selector: [run.accuracy_at_horizon for run in row.runs] for row in scenarios(data)[0].rows}
    assert accuracies == {"short": [0.5] * 3, "long": pytest.approx([0.2, 0.21, 0.2])}
    rows = {name(row): row for row in page.rows if row}
    assert rows["short"][2].startswith("0.500 ± 0.000|n = 3|best mean")
    assert rows["long"][2].startswith("0.203 ± 0.014|n = 3|−0.297")
    assert rows["short"][4] == "3 finished|by updates|"
    flat = table(tmp_path)
    assert (flat["long"]["axis"], flat["long"]["horizon"], flat["long"]["ended_by"]) == ("seconds", "5.0", "time=3")
    assert float(flat["long"]["test_accuracy_at_horizon_mean"]) == pytest.approx(0.61 / 3)
    assert (flat["long"]["accuracy_standing"], flat["short"]["accuracy_standing"]) == ("behind", "best")


def test_a_note_is_below_the_heading(board, tmp_path):
    build(board, tmp_path, note="default options: a demonstration, not a ranking")
    text, _, data = read(tmp_path)
    assert '<p class="note" role="note">default options: a demonstration, not a ranking</p>' in text
    assert data.note == table(tmp_path)["slow"]["note"] == "default options: a demonstration, not a ranking"
    build(board, tmp_path)
    assert '<p class="note"' not in read(tmp_path)[0]


def test_every_row_shows_all_its_options(record, tmp_path):
    run = record("fedbuff[buffer_size=10]")
    options = {"server_lr": 1.0, "buffer_size": 10, "concurrency": None, "optimizer": "sgd"}
    run = altered(run, {"spec.algorithm.options.local_lr": GONE, "spec.algorithm.options": options})
    build([run], tmp_path)
    data = document(tmp_path)
    shown = re.findall(r"<li><code>(.*?)</code>", record_pages(tmp_path))
    assert shown == ["buffer_size=10", "concurrency=null", "optimizer=sgd", "server_lr=1.0"]
    options = scenarios(data)[0].rows[0].algorithm.options
    assert json.loads(table(tmp_path)["fedbuff"]["options"]) == options


def test_scenarios_of_one_name_are_told_apart(record, tmp_path):
    small, large = record(), record(scenario_hash="beef")
    alter(large, "spec.scenario.clients", 500)
    build([small, large], tmp_path)
    text, page, _ = read(tmp_path)
    for clients in (100, 500):
        assert f"<h1>slow_tail with clients={clients} <code" in text
        assert (tmp_path / "fedbench-leaderboard" / f"slow-tail-with-clients-{clients}.html").is_file()
    assert len({at["aria-label"] for at in page.attributes("div") if at.get("aria-label", "").startswith("Results")}) == 2


def test_public_data_of_the_task_itself_are_marked(record, tmp_path):
    run, other = record("fedecho"), record("fedavg")
    alter(run, "spec.algorithm.requires", ["public_data"])
    for one in (run, other):
        alter(one, "spec.scenario.public", {"source": "held_out", "size": 1420})
    build([run, other], tmp_path)
    text, page, data = read(tmp_path)
    assert "† fedecho also had 1,420 public examples held out of this task’s own training data, which flatters it" in text
    assert [name(row) for row in page.rows if row] == ["fedavg", "fedecho†"]
    assert [row.flattered for row in scenarios(data)[0].rows] == [False, True]
    assert table(tmp_path)["fedecho"]["flattered_by_public_data"] == "True"
    for one in (run, other):
        alter(one, "spec.scenario.public.source", "fashion_mnist")
    build([run, other], tmp_path)
    assert "†" not in read(tmp_path)[0]


def test_nothing_is_wider_than_its_box():
    """What is absolutely placed inside a box that scrolls must belong to it, or it makes a phone's
    page as wide as the table."""
    style = (Path(site.__file__).parent / "assets" / "style.css").read_text()
    assert re.search(r"\.scroll \{[^}]*position: relative", style)


def test_hostile_names_stay_text(board, tmp_path):
    build(board, tmp_path, title=f"{HOSTILE} & more")
    for file in tmp_path.rglob("*.html"):
        text = file.read_text()
        assert "alert('x')</script>" not in text
        assert "<script>" not in text
        page = Page(text)
        assert all("src" in at for at in page.attributes("script"))
        idents = [at["id"] for _, at in page.tags if "id" in at]
        assert len(idents) == len(set(idents))


def test_nothing_comes_from_elsewhere(board, tmp_path):
    """Links to papers are for the reader; the pages themselves load nothing from outside."""
    build(board, tmp_path)
    data = document(tmp_path)
    papers = {paper.link for one in data.algorithms if one.facts for paper in one.facts.sources}
    without_papers = "|".join(f'href="{re.escape(link)}"' for link in papers - {""})
    for file in [*tmp_path.rglob("*.html"), tmp_path / "assets" / "style.css"]:
        text = re.sub(without_papers, "", file.read_text())
        assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)|@import|url\(", text), file


def test_papers_of_built_in_algorithms(record, tmp_path):
    own = record("fedprox")
    alter(own, "spec.algorithm.origin", {"kind": "object", "class": "Mine"})
    build([record("fedavg"), own, record("unknown_here")], tmp_path)
    text, data = record_pages(tmp_path), document(tmp_path)
    papers = {one.label: one.facts and one.facts.sources[0].short for one in data.algorithms}
    assert papers == {"fedavg": "McMahan et al. 2017", "fedprox": None, "unknown_here": None}
    assert text.count("McMahan et al. 2017, <a href=") == 1


def test_accessible(board, tmp_path):
    build(board, tmp_path)
    _, page, _ = read(tmp_path)
    assert all(at.get("scope") in ("col", "row", "rowgroup") for at in page.attributes("th"))
    assert len(page.attributes("caption")) == len(page.attributes("table"))
    assert sum("aria-sort" in at for at in page.attributes("th")) == 2  # one column in each result table
    assert not any("hidden" in at for at in page.attributes("label")), "a rule of the style would show it"
    charts = [at for at in page.attributes("svg") if at.get("class") == "chart"]
    assert [at["role"] for at in charts if at["aria-label"]] == ["img"] * 2 * 4, "an axis each"
    assert len(page.attributes("title")) == 3 + 4, "of the pages, and of the rows of the standings"


def test_losses_are_shown_where_jobs_can_be_lost_and_nowhere_else(board, record, tmp_path):
    """Seeds with 3 + 2 + 0 of 40 jobs and 3 + 2 + 10 of 60 lost or late; another algorithm of the
    scenario lost none."""
    flaky = [record(name, seed, scenario="flaky", scenario_hash="f1a") for name in ("fedavg", "fedbuff") for seed in (0, 1)]
    for run in flaky:
        alter(run, "spec.scenario.dropout", 0.05)
        none = dict.fromkeys(("jobs_left", "jobs_dropped_out", "jobs_late", "steps_done", "steps_wasted"), 0)
        alter(run, "ledger", {"jobs": 40, **none})
    for run in flaky[:2]:
        alter(run, "ledger", {"jobs_left": 3, "jobs_dropped_out": 2, "steps_done": 100, "steps_wasted": 30, "busy_fraction": 0.5})
    alter(flaky[1], "ledger", {"jobs": 60, "jobs_late": 10, "steps_done": 200})
    build([*board, *flaky], tmp_path)
    text, page, data = read(tmp_path)
    tables = re.findall(r'<table class="results".*?</table>', text, re.DOTALL)
    flaky_columns, *others = (len(re.findall(r"<th scope=.col", table)) for table in tables)
    assert {flaky_columns - other for other in others} == {1}
    assert ["Lost or late" in table for table in tables] == [True, False, False]
    rows = {name(row): row for row in page.rows[:3] if row}
    assert rows["fedavg"][7:10] == ["19 %|3 left|2 dropped out|5 late|", "3.00 kB|", "50 %|22 % in vain|"]
    assert rows["fedbuff"][7:10] == ["0 %|", "3.00 kB|", "–|"]
    assert "lost_share" not in scenarios(data)[1].rows[0].measures
    assert text.count("<dt>Lost or late, in vain</dt>") == 2, "on the overview and on one of the scenarios"
    with data_file(tmp_path).with_suffix(".csv").open(newline="") as file:
        shares = {(row["scenario"], row["selector"]): row["lost_share_mean"] for row in csv.DictReader(file)}
    assert (shares["flaky", "fedavg"], shares["flaky", "fedbuff"], shares["slow_tail", "fedavg"]) == ("0.1875", "0.0", "")


def test_losses_are_not_explained_where_there_are_none(board, tmp_path):
    build(board, tmp_path)
    assert "Lost or late" not in read(tmp_path)[0]


def test_a_run_without_any_curve(record, tmp_path):
    build([record(curve=[], state="stalled")], tmp_path)
    text, page, _ = read(tmp_path)
    assert "<figure>" not in text
    row = next(row for row in page.rows if row)
    assert (row[1].startswith("–|"), row[3]) == (True, "1 stalled|")
    assert "In no table: fedavg, since a seed has no evaluation." in text


def test_a_mean_over_other_seeds_than_its_comparison(record, tmp_path):
    """What is not compared says so, since a row without a mark is behind; a mark's seeds spare the
    mean's note only if alike."""
    runs = [record("best", seed, [0.1, 0.90 + 0.01 * seed]) for seed in range(4)]
    runs += [record("one", 2, [0.1, 0.9]), *(record("other", seed, [0.1, 0.91 - 0.004 * seed]) for seed in (1, 2, 3))]
    build(runs, tmp_path)
    text, page, _ = read(tmp_path)
    assert "In no table: one, since it has seeds 2, other rows have 0 to 3." in text
    cells = {name(row): row[2] for row in page.rows if row}
    assert cells["one"] == "0.900|1 seed, no interval|not compared|"
    assert "|n = 4|" in cells["best"]
    assert cells["other"].endswith(" to best|cannot be told apart with 3 seeds|")


def test_warnings_are_in_the_details_of_their_run(record, tmp_path):
    quiet, loud = record("fedecho", 0), record("fedecho", 1)
    alter(loud, "warnings", [f"moved nothing {HOSTILE}"])
    build([quiet, loud], tmp_path)
    text, data = record_pages(tmp_path), document(tmp_path)
    assert [run.warnings for run in scenarios(data)[0].rows[0].runs] == [(), (f"moved nothing {HOSTILE}",)]
    assert text.count("<small>moved nothing &lt;script&gt;") == 1
