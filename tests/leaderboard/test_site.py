"""The files of a site: written, checked, and the same for the same records."""

import json
import re
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fedbench.cli.leaderboard import app
from fedbench.errors import UsageError
from fedbench.leaderboard.site import build, check
from fedbench.results.store import Store
from tests.changes import GONE, put
from tests.conftest import alter
from tests.leaderboard.reading import HOSTILE, data_file, named, pages, read, record_pages, scenarios, table


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
    files = {file.relative_to(tmp_path / "a") for file in (tmp_path / "a").rglob("*") if file.is_file()}
    assert files == {file.relative_to(tmp_path / "b") for file in (tmp_path / "b").rglob("*") if file.is_file()}
    for name in files:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("index.html", "fedavg", "fedbest"),
        ("rules.html", "test set is never", "test set is sometimes"),
        ("table.html", "All rows", "Some rows"),
        ("algorithms/slow.html", "slow", "fast"),
        ("fedbench-leaderboard/slow-tail/slow-given.html", "slow", "fast"),
        ("assets/table.js", "ascending", "descending"),
        ("data/rows.js", "fedavg", "fedbest"),
        ("data/curves/fedbench-leaderboard/slow-tail.js", "0.5", "0.6"),
        ("data/fedbench-leaderboard.csv", "fedavg", "fedbest"),
        ("data/fedbench-leaderboard.json", "0.9", "0.8"),
    ],
)
def test_check_finds_a_changed_file(board, tmp_path, name, old, new):
    build(board, tmp_path)
    assert check(tmp_path) == []
    path = tmp_path / name
    path.write_text(path.read_text().replace(old, new, 1))
    assert check(tmp_path)


def test_check_finds_a_missing_file(board, tmp_path):
    build(board, tmp_path)
    (tmp_path / "compare.html").unlink()
    (problem,) = check(tmp_path)
    assert "compare.html: cannot be read" in problem


def test_check_finds_a_page_that_is_not_its_own(board, tmp_path):
    build(board, tmp_path)
    (tmp_path / "algorithms" / "planted.html").write_text("<p>best</p>")
    (problem,) = check(tmp_path)
    assert problem.endswith("planted.html: a page that the data do not give")


def test_a_build_removes_what_an_earlier_one_left_and_nothing_else(board, tmp_path):
    mine = tmp_path / "algorithms" / "mine.html"
    mine.parent.mkdir()
    mine.write_text("mine")
    outside = tmp_path.parent / "outside.html"
    outside.write_text("not of this site")
    build(board, tmp_path, title="First")
    names = json.loads((tmp_path / "data" / "files.json").read_text())
    (tmp_path / "data" / "files.json").write_text(json.dumps([*names, "../outside.html", str(outside)]))
    build(board, tmp_path, title="Second")
    assert not list(tmp_path.rglob("*first*/*.html"))
    assert not (tmp_path / "data" / "first.json").exists()
    assert (mine.read_text(), outside.read_text()) == ("mine", "not of this site")


@pytest.mark.parametrize("title", ["Site", "Table", "index", "Rules"])
def test_a_title_may_be_a_word_of_the_site(board, tmp_path, title):
    build(board, tmp_path, title=title)
    assert check(tmp_path) == []


def test_what_check_would_refuse_is_not_written(record, tmp_path):
    with pytest.raises(UsageError, match=r"more or other than a site shows: .*at most 20000 characters"):
        build([named(record(), "a" * 30_000)], tmp_path)
    with pytest.raises(UsageError, match="unable to parse raw data as a unicode string"):
        build([named(record(), "a\ud800")], tmp_path)
    odd = record()
    odd.spec.algorithm.options["name"] = "a\ud800"
    with pytest.raises(UsageError, match=r"a name holds '\\ud800', which is no whole character"):
        build([odd], tmp_path)
    assert not list(tmp_path.rglob("*.html"))


def test_names_are_no_markdown(record, tmp_path):
    """A selector that closes its code and goes on with a picture from elsewhere."""
    name = "fast` ![x](https://evil.example/p.png) [go](https://evil.example) <https://evil.example> ` ``"
    build([named(record(seed=seed), name) for seed in range(2)], tmp_path)
    for file in tmp_path.rglob("*.html"):
        text = file.read_text()
        assert not re.search(r'(src|href)="https://evil', text), file


@pytest.mark.parametrize("text", ["{", "[]", '{"schema": 1}', '{"schema": 6, "title": "t", "points": [{}]}', "[" * 100_000])
@pytest.mark.parametrize("name", ["site", "fedbench-leaderboard"])
def test_check_reports_broken_data(board, tmp_path, name, text):
    build(board, tmp_path)
    (tmp_path / "data" / f"{name}.json").write_text(text)
    (problem,) = check(tmp_path)
    assert f"{name}.json" in problem


@pytest.mark.parametrize("name", ["../../etc/passwd", "a/b", "A", "", 7])
def test_check_reads_no_file_of_another_folder(board, tmp_path, name):
    build(board, tmp_path)
    (tmp_path / "data" / "site.json").write_text(json.dumps({"schema": 6, "documents": [name]}))
    (problem,) = check(tmp_path)
    assert "site.json: not what a leaderboard is made from: documents.0" in problem


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


def test_the_demo_says_that_it_is_no_ranking():
    makefile = (Path(__file__).resolve().parents[2] / "Makefile").read_text()
    demo = re.search(r"^demo:.*?\n\n", makefile, re.DOTALL | re.MULTILINE)[0]
    assert "leaderboard build" in demo
    assert '--note "default options: a demonstration, not a ranking"' in demo


def test_another_axis(board, tmp_path):
    build(board, tmp_path, axis="updates")
    text, page, data = read(tmp_path)
    assert "40 updates, where " in text
    assert "compared on server updates" in text
    assert ">Updates to 0.8<" in text
    assert [row[3].partition("|")[0] for row in page.rows if row][:2] == ["10 (3/3)", "20 (3/3)"], "by cost"
    assert scenarios(data)[0].rows[0].curves["updates"].at == (0, 10, 20, 30, 40)
    assert table(tmp_path)["slow"]["updates_to_test_accuracy_0.8_hits"] == "1"
    assert check(tmp_path) == []
    with pytest.raises(UsageError, match="unknown axis 'byte'"):
        build(board, tmp_path, axis="byte")


def test_commands(board, tmp_path):
    build(board, tmp_path)
    data = read(tmp_path)[2]
    commands = {row.selector: row.command for scenario in scenarios(data) for row in scenario.rows}
    assert (
        commands["fedbuff[buffer_size=10,concurrency=10]"]
        == "fedbench run slow_tail -a 'fedbuff[buffer_size=10,concurrency=10]' --seeds 3"
    )
    assert commands[HOSTILE].endswith(" --seeds 1 --first-seed 7")


def test_an_object_has_no_command(record, tmp_path):
    run = record("mine")
    alter(run, "spec.algorithm.origin", {"kind": "object", "class": "Mine"})
    build([run], tmp_path)
    text = record_pages(tmp_path)
    assert "no command" in text
    assert "given in Python as an object of class Mine: put the class into a file" in text
    assert "data-copy" not in text + pages(tmp_path)
    assert check(tmp_path) == []


def test_axis_and_note_from_the_shell(storable, tmp_path):
    for seed in range(3):
        Store(tmp_path / "runs").write(storable("fedavg", seed))
        Store(tmp_path / "runs").write(storable("fedbuff", seed))
    arguments = [
        "build",
        "--store",
        str(tmp_path / "runs"),
        "-o",
        str(tmp_path / "site"),
        "--axis",
        "rounds",
        "--note",
        "for a test",
    ]
    assert CliRunner().invoke(app, arguments).exit_code == 0
    data = read(tmp_path / "site")[2]
    assert (data.axis.name, data.note) == ("updates", "for a test")


RESTRUCTURED = [
    ("title", 1),
    ("note", None),
    ("axis", []),
    ("axis.unit", {}),
    ("points", {}),
    ("points", []),
    ("points.0.name", None),
    ("algorithms.0.facts", 7),
    ("boards.given.slow_tail.0.cost", "5"),
    ("boards.given.slow_tail.0.cost", 0.0),
    ("boards.given.slow_tail.0.regret", [1.0, 2.0]),
    ("boards.given.slow_tail.0.against", {"slow": [1.0, None, 2.0]}),
    ("boards.given.slow_tail.0.group", 10),
    ("groups.given.slow_tail.0.axes.seconds", {}),
    ("groups", GONE),
    ("boards.other", {}),
    ("profiles.factors", [None]),
    ("sections", {}),
    ("sections.given.slow_tail", []),
    ("sections.given.slow_tail.name", None),
    ("sections.given.slow_tail.settings", "a=1"),
    ("sections.given.slow_tail.hash", 7),
    ("sections.given.slow_tail.clients", "20"),
    ("sections.given.slow_tail.clients", -1),
    ("sections.given.slow_tail.targets", [1]),
    ("sections.given.slow_tail.horizon", GONE),
    ("sections.given.slow_tail.horizon.at", "1"),
    ("sections.given.slow_tail.horizon.limits", [{}]),
    ("sections.given.slow_tail.rows", "rows"),
    ("sections.given.slow_tail.rows.0", {}),
    ("sections.given.slow_tail.rows.0.selector", ["x"]),
    ("sections.given.slow_tail.rows.0.seeds", [-1]),
    ("sections.given.slow_tail.rows.0.seeds", 3),
    ("sections.given.slow_tail.rows.0.provenance", [{}]),
    ("algorithms.0.family", None),
    ("algorithms.0.full_name", "x"),
    ("sections.given.slow_tail.rows.0.outcomes", {"finished": "3"}),
    ("sections.given.slow_tail.rows.0.accuracy.p", "0.05"),
    ("sections.given.slow_tail.rows.0.accuracy.standing", GONE),
    ("sections.given.slow_tail.rows.0.measures", []),
    ("sections.given.slow_tail.rows.0.measures.test_accuracy", None),
    ("sections.given.slow_tail.rows.0.curves.seconds.at", [None]),
    ("sections.given.slow_tail.rows.0.curves.seconds", {"band": "range"}),
    ("sections.given.slow_tail.rows.0.to_target", [[]]),
    ("sections.given.slow_tail.rows.0.runs.0.run_id", ["a"]),
    ("sections.given.slow_tail.rows.0.runs.0.provenance", "mine"),
    ("sections.given.slow_tail.rows.0.runs.0.outcome", {}),
    ("sections.given.slow_tail.rows.0.algorithm", {}),
]


@pytest.mark.parametrize(("path", "value"), RESTRUCTURED)
def test_check_names_what_is_not_of_the_form(board, tmp_path, path, value):
    """One line, whatever stands in the place of a part."""
    build(board, tmp_path)
    data = json.loads(data_file(tmp_path).read_text())
    put(data, path, value)
    data_file(tmp_path).write_text(json.dumps(data))
    (problem,) = check(tmp_path)
    assert "not what a leaderboard is made from" in problem
    assert "\n" not in problem
