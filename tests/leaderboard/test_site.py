"""The page is read back with the standard library's HTML parser."""

import csv
import json
import re
import sys
from html.parser import HTMLParser

import pytest

from fedbench.errors import UsageError
from fedbench.leaderboard import build, check, words
from fedbench.leaderboard.document import command

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


def read(folder):
    text = (folder / "index.html").read_text()
    return text, Page(text), json.loads((folder / "data.json").read_text())


def test_table_says_what_the_data_says(board, tmp_path):
    assert build(board, tmp_path / "site") == tmp_path / "site" / "index.html"
    _, page, data = read(tmp_path / "site")
    shown = [row for row in page.rows if row]
    rows = [row for scenario in data["scenarios"] for row in scenario["rows"]]
    assert len(shown) == len(rows) == 5
    for cells, row in zip(shown, rows, strict=True):
        assert cells[0].replace("|", "") == row["selector"]
        assert cells[1].startswith(words.interval(row["measures"]["test_accuracy"]) + "|")
        assert cells[2].startswith(words.time(row["times"][0]) + "|")
        assert ("tied with the best" in cells[1]) == (row["accuracy_standing"] == "tied")
        assert cells[3] == words.outcomes(row["outcomes"]) + "|"
        assert {"data-copy": row["command"]}.items() <= next(
            at for at in page.attributes("button") if at.get("data-copy") == row["command"]
        ).items()


def test_what_a_reader_must_be_told(board, tmp_path):
    build(board, tmp_path)
    _, page, _ = read(tmp_path)
    rows = {row[0].replace("|", ""): row for row in page.rows if row}
    assert "best mean" in rows["fedavg"][1]
    assert "tied with the best" in rows["fedbuff[buffer_size=10]"][1]
    assert rows["slow"][2].startswith("> 20 s (1/3)|mean ≥ ")
    assert rows["wild"][3] == "2 finished, 1 diverged|"
    assert "2 of 3 seeds have a value" in rows["wild"][1]
    assert not any("mean" in mark for mark in rows["wild"][1].split("|")[2:])
    assert "1 seed, no interval" in rows[HOSTILE][1]
    assert "±" not in rows[HOSTILE][1]


def test_commands(board, tmp_path):
    build(board, tmp_path)
    data = read(tmp_path)[2]
    commands = {row["selector"]: row["command"] for scenario in data["scenarios"] for row in scenario["rows"]}
    assert commands["fedbuff[buffer_size=10]"] == "fedbench run slow_tail -a 'fedbuff[buffer_size=10]' --seeds 3"
    assert commands[HOSTILE].endswith(" --seeds 1 --first-seed 7")


def test_seeds_with_a_gap_take_two_commands():
    assert command("s", "a", [0, 1, 4]) == "fedbench run s -a 'a' --seeds 2 && fedbench run s -a 'a' --seeds 1 --first-seed 4"


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
    assert [len(re.findall(r"<th scope=.col", table)) for table in tables] == [12, 11, 11]
    assert ["Lost or late" in table for table in tables] == [True, False, False]
    rows = {row[0]: row for row in page.rows[:3] if row}
    assert rows["fedavg|"][6:9] == ["19 %|3 left|2 dropped out|5 late|", "3.00 kB|", "50 %|22 % in vain|"]
    assert rows["fedbuff|"][6:9] == ["0 %|", "3.00 kB|", "–|"]
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
    with (tmp_path / "data.csv").open(newline="") as file:
        rows = {row["selector"]: row for row in csv.DictReader(file)}
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


@pytest.mark.parametrize("text", ["{", "[]", '{"schema": 99}', '{"schema": 1, "title": "t", "scenarios": [{}]}'])
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
