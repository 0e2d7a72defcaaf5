"""The page is read back with the standard library's HTML parser."""

import csv
import json
import re
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from fedbench.errors import UsageError
from fedbench.leaderboard import build, check, site, words

VOID = {"meta", "link", "br", "hr", "img", "input", "wbr"}
HOSTILE = "<script>alert('x')</script>"


class Page(HTMLParser):
    """Checks that tags nest; collects the cells of the result tables, ids, tags and attributes."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.rows, self.scripts = [], [], [], 0
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append((tag, dict(attributes)))
        if self.in_results and tag == "tr":
            self.rows.append([])
        if self.in_results and tag in ("td", "th") and ("tbody", {}) in self.open:
            self.rows[-1].append("")

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open[-1][0] == tag, f"</{tag}> closes {self.open[-1]} in line {self.getpos()}"
        self.open.pop()

    def handle_data(self, data):
        if self.in_results and self.rows and self.rows[-1] and any(tag in ("td", "th") for tag, _ in self.open):
            self.rows[-1][-1] += data + "|" if data.strip() else ""

    @property
    def in_results(self):
        return any(tag == "table" and at.get("class") == "results" for tag, at in self.open)

    def attributes(self, tag):
        return [at for name, at in self.tags if name == tag]


@pytest.fixture
def board(record):
    """Ties, one that misses, one that diverges, and a second scenario with one seed and hostile names."""
    best = [record("fedavg", seed, [0.1, 0.7, 0.85, 0.90 + 0.01 * seed]) for seed in range(3)]
    tied = [record("fedbuff[buffer_size=10]", seed, [0.1, 0.8, 0.85, 0.92 - 0.02 * seed]) for seed in range(3)]
    misses = [record("slow", 0, [0.1, 0.5, 0.8, 0.8, 0.8]), *(record("slow", s, [0.1, 0.2, 0.3, 0.4, 0.5]) for s in (1, 2))]
    broken = [record("wild", 0), record("wild", 1), record("wild", 2, [0.1, 0.5], state="diverged", test_accuracy=None)]
    alone = [record(HOSTILE, 7, scenario=f"x{HOSTILE}", scenario_hash="abad1dea")]
    return [*best, *tied, *misses, *broken, *alone]


def name(cells):
    """Of a row: what stands before its options and its command."""
    return cells[0].partition("options|")[0].replace("|", "")


def read(folder):
    text = (folder / "index.html").read_text()
    return text, Page(text), json.loads((folder / "data.json").read_text())


def table(folder):
    """The rows of data.csv by selector."""
    with (folder / "data.csv").open(newline="") as file:
        return {row["selector"]: row for row in csv.DictReader(file)}


def test_table_says_what_the_data_says(board, tmp_path):
    assert build(board, tmp_path / "site") == tmp_path / "site" / "index.html"
    _, page, data = read(tmp_path / "site")
    shown = [row for row in page.rows if row]
    rows = [row for scenario in data["scenarios"] for row in scenario["rows"]]
    assert len(shown) == len(rows) == 5
    for cells, row in zip(shown, rows, strict=True):
        assert name(cells) == row["selector"]
        assert cells[1].startswith(words.interval(row["measures"]["test_accuracy_at_horizon"]) + "|")
        assert cells[2].startswith(words.hits(row["to_target"][0], data["axis"]) + "|")
        assert ("cannot be told apart" in cells[1]) == (row["accuracy"]["standing"] == "tied")
        assert cells[3].startswith(words.outcomes(row["outcomes"]) + "|")
        assert cells[4].startswith(words.interval(row["measures"]["test_accuracy"]) + "|")
        assert {"data-copy": row["command"]}.items() <= next(
            at for at in page.attributes("button") if at.get("data-copy") == row["command"]
        ).items()


def test_what_a_reader_must_be_told(board, tmp_path):
    build(board, tmp_path)
    _, page, _ = read(tmp_path)
    rows = {name(row): row for row in page.rows if row}
    assert "best mean" in rows["fedavg"][1]
    assert "to best|cannot be told apart with 3 seeds" in rows["fedbuff[buffer_size=10]"][1]
    assert rows["slow"][2].startswith("> 20.0 s (1/3)|mean ≥ ")
    assert rows["wild"][3] == "2 finished, 1 diverged|2 by time|"
    assert "not compared: 1 of 3 seeds diverged" in rows["wild"][1]
    assert "2 of 3 seeds have a value" in rows["wild"][1]
    assert not any("best" in mark for mark in rows["wild"][1].split("|")[2:])
    assert "1 seed, no interval" in rows[HOSTILE][1]
    assert "±" not in rows[HOSTILE][1]


def test_where_accuracies_are_compared_and_why_there(record, tmp_path):
    """The page, the data and the table all say it; `short` was ended by the cap on updates."""
    runs = [record("long", seed, [0.1, 0.2, 0.3, 0.99]) for seed in (0, 1)]
    runs += [record("short", seed, [0.1, 0.5], ended_by="updates") for seed in (0, 1)]
    build(runs, tmp_path)
    text, page, data = read(tmp_path)
    assert "5 s of virtual time, where short, seed 0 (ended by updates) and 1 other run end" in text
    assert "at 5 s, mean ± 95 %" in text
    assert data["axis"]["name"] == "seconds"
    assert data["scenarios"][0]["horizon"] == {
        "at": 5.0,
        "is_shared": False,
        "limits": [{"selector": "short", "seed": seed, "ended_by": "updates"} for seed in (0, 1)],
    }
    rows = {name(row): row for row in page.rows if row}
    assert rows["short"][1].startswith("0.500 ± 0.000|n = 2|best mean")
    assert rows["long"][1].startswith("0.200 ± 0.000|n = 2|−0.300")
    assert rows["short"][3] == "2 finished|by updates|"
    flat = table(tmp_path)
    assert (flat["long"]["axis"], flat["long"]["horizon"], flat["long"]["ended_by"]) == ("seconds", "5.0", "time=2")
    assert float(flat["long"]["test_accuracy_at_horizon_mean"]) == pytest.approx(0.2)
    assert (flat["long"]["accuracy_standing"], flat["short"]["accuracy_standing"]) == ("behind", "best")


def test_another_axis(board, tmp_path):
    build(board, tmp_path, axis="updates")
    text, page, data = read(tmp_path)
    assert "30 updates, where " in text
    assert "compared on server updates" in text
    assert ">Updates to 0.8<" in text
    assert next(row for row in page.rows if row)[2].startswith("10 (3/3)")
    assert data["scenarios"][0]["rows"][0]["curve"]["at"] == [0, 10, 20, 30]
    assert table(tmp_path)["slow"]["updates_to_test_accuracy_0.8_hits"] == "1"
    assert check(tmp_path) == []
    with pytest.raises(UsageError, match="unknown axis 'byte'"):
        build(board, tmp_path, axis="byte")


def test_a_note_is_below_the_heading(board, tmp_path):
    build(board, tmp_path, note="default options: a demonstration, not a ranking")
    text, _, data = read(tmp_path)
    assert '<p class="note" role="note">default options: a demonstration, not a ranking</p>' in text
    assert data["note"] == table(tmp_path)["slow"]["note"] == "default options: a demonstration, not a ranking"
    build(board, tmp_path)
    assert '<p class="note"' not in read(tmp_path)[0]


def test_the_demo_says_that_it_is_no_ranking():
    makefile = (Path(__file__).resolve().parents[2] / "Makefile").read_text()
    demo = re.search(r"^demo:.*?\n\n", makefile, re.DOTALL | re.MULTILINE)[0]
    assert "leaderboard build" in demo
    assert '--note "default options: a demonstration, not a ranking"' in demo


def test_every_row_shows_all_its_options(record, tmp_path):
    run = record("fedbuff[buffer_size=10]")
    run.meta["spec"]["algorithm"]["options"] = {"server_lr": 1.0, "buffer_size": 10, "momentum": None, "optimizer": "sgd"}
    build([run], tmp_path)
    _, page, data = read(tmp_path)
    shown = next(row for row in page.rows if row)[0]
    assert "options|buffer_size=10|momentum=null|optimizer=sgd|server_lr=1.0|" in shown
    options = data["scenarios"][0]["rows"][0]["algorithm"]["options"]
    assert json.loads(table(tmp_path)["fedbuff[buffer_size=10]"]["options"]) == options


def test_sections_of_one_name_are_told_apart(record, tmp_path):
    small, large = record(), record(scenario_hash="beef")
    large.meta["spec"]["scenario"]["clients"] = 500
    build([small, large], tmp_path)
    text, page, _ = read(tmp_path)
    for clients in (100, 500):
        assert f'slow_tail</a><span class="settings"> with clients={clients}</span>' in text
        assert text.count(f'">slow_tail with clients={clients}</a>') == 1  # in the contents
    assert len({at["aria-label"] for at in page.attributes("div") if at.get("aria-label", "").startswith("Results")}) == 2


def test_public_data_of_the_task_itself_are_marked(record, tmp_path):
    run, other = record("fedecho"), record("fedavg")
    run.meta["spec"]["algorithm"]["requires"] = ["public_data"]
    for one in (run, other):
        one.meta["spec"]["scenario"]["public"] = {"source": "held_out", "size": 1420}
    build([run, other], tmp_path)
    text, page, data = read(tmp_path)
    assert "† fedecho also had 1,420 public examples held out of this task’s own training data, which flatters it" in text
    assert [name(row) for row in page.rows if row] == ["fedavg", "fedecho†"]
    assert [row["flattered"] for row in data["scenarios"][0]["rows"]] == [False, True]
    assert table(tmp_path)["fedecho"]["flattered_by_public_data"] == "True"
    for one in (run, other):
        one.meta["spec"]["scenario"]["public"]["source"] = "fashion_mnist"
    build([run, other], tmp_path)
    assert "†" not in read(tmp_path)[0]


def test_nothing_is_wider_than_its_box():
    """What is absolutely placed inside a box that scrolls must belong to it, or it makes a phone's page as wide as the table."""
    style = (Path(site.__file__).parent / "templates" / "style.css").read_text()
    assert re.search(r"\.scroll \{[^}]*position: relative", style)


def test_commands(board, tmp_path):
    build(board, tmp_path)
    data = read(tmp_path)[2]
    commands = {row["selector"]: row["command"] for scenario in data["scenarios"] for row in scenario["rows"]}
    assert commands["fedbuff[buffer_size=10]"] == "fedbench run slow_tail -a 'fedbuff[buffer_size=10]' --seeds 3"
    assert commands[HOSTILE].endswith(" --seeds 1 --first-seed 7")


def test_an_object_has_no_command(record, tmp_path):
    run = record("mine")
    run.meta["spec"]["algorithm"]["origin"] = {"kind": "object", "class": "Mine"}
    build([run], tmp_path)
    text, page, _ = read(tmp_path)
    assert "no command" in next(row for row in page.rows if row)[0]
    assert "given in Python as an object of class Mine: put the class into a file" in text
    assert not any("data-copy" in at for at in page.attributes("button"))
    assert check(tmp_path) == []


def test_hostile_names_stay_text(board, tmp_path):
    build(board, tmp_path, title=f"{HOSTILE} & more")
    text, page, _ = read(tmp_path)
    assert "alert('x')</script>" not in text
    assert "<script>alert" not in text
    assert len(page.attributes("script")) == 3  # ours, and the points of two charts
    idents = [at["id"] for _, at in page.tags if "id" in at]
    assert len(idents) == len(set(idents))


def test_nothing_comes_from_elsewhere(board, tmp_path):
    build(board, tmp_path)
    text, page, _ = read(tmp_path)
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)|@import|url\(", text)
    assert not any("src" in at for _, at in page.tags)
    assert {at["href"] for at in page.attributes("a") if not at["href"].startswith("#")} == {"data.json", "data.csv"}


def test_accessible(board, tmp_path):
    build(board, tmp_path)
    _, page, _ = read(tmp_path)
    assert all(at.get("scope") in ("col", "row") for at in page.attributes("th"))
    assert len(page.attributes("caption")) == len(page.attributes("table"))
    assert sum("aria-sort" in at for at in page.attributes("th")) == 2  # one column in each result table
    assert sum(at.get("role") == "img" and "aria-labelledby" in at for at in page.attributes("svg")) == 2
    assert len(page.attributes("title")) == 3


def test_losses_are_shown_where_jobs_can_be_lost_and_nowhere_else(board, record, tmp_path):
    """Seeds with 3 + 2 + 0 of 40 jobs and 3 + 2 + 10 of 60 lost or late; another algorithm of the scenario lost none."""
    flaky = [record(name, seed, scenario="flaky", scenario_hash="f1a") for name in ("fedavg", "fedbuff") for seed in (0, 1)]
    for run in flaky:
        run.meta["spec"]["scenario"]["dropout"] = 0.05
        run.meta["ledger"] |= {
            "jobs": 40,
            "jobs_left": 0,
            "jobs_dropped_out": 0,
            "jobs_late": 0,
            "steps_done": 0,
            "steps_wasted": 0,
        }
    for run in flaky[:2]:
        run.meta["ledger"] |= {"jobs_left": 3, "jobs_dropped_out": 2, "steps_done": 100, "steps_wasted": 30, "busy_fraction": 0.5}
    flaky[1].meta["ledger"] |= {"jobs": 60, "jobs_late": 10, "steps_done": 200}
    build([*board, *flaky], tmp_path)
    text, page, data = read(tmp_path)
    tables = re.findall(r'<table class="results".*?</table>', text, re.DOTALL)
    assert [len(re.findall(r"<th scope=.col", table)) for table in tables] == [11, 10, 10]
    assert ["Lost or late" in table for table in tables] == [True, False, False]
    rows = {name(row): row for row in page.rows[:3] if row}
    assert rows["fedavg"][6:9] == ["19 %|3 left|2 dropped out|5 late|", "3.00 kB|", "50 %|22 % in vain|"]
    assert rows["fedbuff"][6:9] == ["0 %|", "3.00 kB|", "–|"]
    assert "lost_share" not in data["scenarios"][1]["rows"][0]["measures"]
    assert text.count("<dt>Lost or late, in vain</dt>") == 1
    with (tmp_path / "data.csv").open(newline="") as file:
        shares = {(row["scenario"], row["selector"]): row["lost_share_mean"] for row in csv.DictReader(file)}
    assert (shares["flaky", "fedavg"], shares["flaky", "fedbuff"], shares["slow_tail", "fedavg"]) == ("0.1875", "0.0", "")


def test_losses_are_not_explained_where_there_are_none(board, tmp_path):
    build(board, tmp_path)
    assert "Lost or late" not in read(tmp_path)[0]


def test_csv_has_a_line_per_row(board, tmp_path):
    build(board, tmp_path)
    rows = table(tmp_path)
    assert len(rows) == 5
    assert rows["slow"]["seconds_to_test_accuracy_0.8_median"] == ""
    assert rows["slow"]["seconds_to_test_accuracy_0.8_hits"] == "1"
    assert rows["wild"]["outcomes"] == "diverged=1 finished=2"


def test_same_records_same_bytes(board, tmp_path):
    build(board, tmp_path / "a")
    build(list(reversed(board)), tmp_path / "b")
    for name in ("index.html", "data.json", "data.csv"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == ["data.csv", "data.json", "index.html"]


def test_a_run_without_any_curve(record, tmp_path):
    build([record(curve=[], state="failed")], tmp_path)
    text, page, _ = read(tmp_path)
    assert "<figure>" not in text
    assert next(row for row in page.rows if row)[3] == "1 failed|"


@pytest.mark.parametrize("name", ["index.html", "data.csv", "data.json"])
def test_check_finds_a_changed_file(board, tmp_path, name):
    build(board, tmp_path)
    assert check(tmp_path) == []
    path = tmp_path / name
    path.write_text(
        path.read_text().replace("0.9", "0.8", 1) if name == "data.json" else path.read_text().replace("fedavg", "fedbest", 1)
    )
    assert check(tmp_path)


@pytest.mark.parametrize("text", ["{", "[]", '{"schema": 1}', '{"schema": 2, "title": "t", "scenarios": [{}]}'])
def test_check_reports_broken_data(board, tmp_path, text):
    build(board, tmp_path)
    (tmp_path / "data.json").write_text(text)
    (problem,) = check(tmp_path)
    assert "data.json" in problem


def test_check_of_nothing(tmp_path):
    with pytest.raises(UsageError, match="fedbench leaderboard build"):
        check(tmp_path)


def test_no_records(tmp_path):
    with pytest.raises(UsageError, match="no finished records"):
        build([], tmp_path)


@pytest.mark.skipif(sys.platform == "win32", reason="a file as parent")
def test_a_folder_that_cannot_be_written(board, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match=r"leaderboard .*file/site: cannot be written \(Not a directory\); choose"):
        build(board, tmp_path / "file" / "site")
