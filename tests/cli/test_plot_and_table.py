"""`fedbench plot` and `fedbench table`: from a store, an archive and a suite to files, and what is
said of what does not go."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fedbench.cli.figures import MAKERS
from fedbench.cli.main import app
from fedbench.errors import FedbenchError
from fedbench.results import archive
from fedbench.results.store import Store
from fedbench.suites import suite as suites
from fedbench.suites import trials as trials_table
from fedbench.suites.space import load as load_space
from fedbench.suites.tuning import Outcome, trials
from tests.cli.commands import fedbench
from tests.conftest import altered, sealed, storable

ENGINE = ["timeline", "labels", "sensitivity", "design"]
SMOKE = ["--suite", "smoke", "-p", "calm", "--options", "default"]


@pytest.fixture(scope="module", name="store")
def _store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three rows, of which one misses its target."""
    root = tmp_path_factory.mktemp("runs")
    curves = {"fedavg": (0.1, 0.5, 0.8, 0.9, 0.9), "fedbuff": (0.1, 0.8, 0.9, 0.9, 0.9), "mifa": (0.1, 0.2, 0.3, 0.4, 0.4)}
    for selector, curve in curves.items():
        for seed in range(3):
            one = storable(selector, seed, curve)
            ledger = {
                "staleness_histogram": [1, 2], "staleness_mean": 0.67, "staleness_max": 1, "jobs_consumed": 3, "participation_min": 0,
                "participation_gini": 0.2, "participation_max": 2,
            }  # fmt: skip
            Store(root).write(sealed(altered(one, {"ledger": ledger})))
    return root


@pytest.fixture(scope="module", name="tuned_in")
def _tuned_in(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the trials of one algorithm of the suite smoke."""
    folder, suite = tmp_path_factory.mktemp("tuned"), suites.load("smoke")
    several = list(trials(suite, load_space("axes"), [suite.points[0]], ["fedbuff"]))
    found = [
        (one, [Outcome(run.run_id, run.seed, "finished", 10.0, (0.9,), (one.number + 1.0,), 0.9, "") for run in one.specs])
        for one in several
    ]
    trials_table.write(folder / "smoke-trials.parquet", found, suite.design_hash())
    return folder


def said(*arguments: object) -> str:
    result = CliRunner().invoke(app, [str(one) for one in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def refused(*arguments: object) -> str:
    with pytest.raises(FedbenchError) as error:
        CliRunner().invoke(app, [str(one) for one in arguments], catch_exceptions=False)
    return str(error.value)


@pytest.mark.parametrize("kind", [kind for kind in MAKERS if kind not in ENGINE])
@pytest.mark.extra("plot")
def test_kinds_of_a_store(kind: str, store: Path, tmp_path: Path) -> None:
    caption = said("plot", kind, "-r", store, "-o", tmp_path / "new" / "a.svg")
    assert len(caption.splitlines()) == 1
    assert ">mifa" in (tmp_path / "new" / "a.svg").read_text()


def test_kinds_of_a_suite_that_need_no_runs(tuned_in: Path, tmp_path: Path) -> None:
    for kind, more in (("timeline", ["-a", "fedbuff", "--until", "3", "--clients", "4"]), ("labels", ["--seed", "2"])):
        said("plot", kind, *SMOKE, *more, "-o", tmp_path / f"{kind}.json")
        assert json.loads((tmp_path / f"{kind}.json").read_text())["kind"] == kind
    timeline = json.loads((tmp_path / "timeline.json").read_text())["data"]
    assert (len(timeline), len(timeline[0]["clients"]), timeline[0]["end_seconds"], timeline[0]["seed"]) == (1, 4, 3.0, 0)
    assert timeline[0]["algorithm"] == "fedbuff[concurrency=5]"  # the suite's option
    assert json.loads((tmp_path / "labels.json").read_text())["data"]["seed"] == 2
    said(
        "plot",
        "sensitivity",
        "--suite",
        "smoke",
        "-p",
        "calm",
        "-a",
        "fedbuff",
        "--tuned-in",
        tuned_in,
        "-o",
        tmp_path / "s.json",
    )
    (found,) = json.loads((tmp_path / "s.json").read_text())["data"]
    assert (found["chosen"], len(found["trials"])) == (0, 5)
    said("plot", "design", "--suite", "map", "-o", tmp_path / "d.json")
    data = json.loads((tmp_path / "d.json").read_text())["data"]
    assert (data["suite"], len(data["factors"]), len(data["points"])) == ("map", 8, 78)
    levels = {one["name"]: one["levels"] for one in data["points"]}
    assert levels["design-01"] == [0, 0, 0, 0, 2, 0, 0, 0]
    assert sum(one["is_anchor"] for one in data["points"]) == 9


@pytest.mark.extra("plot")
def test_an_archive_and_a_store_say_the_same(store: Path, tmp_path: Path) -> None:
    packed = tmp_path / "archive"
    archive.write(packed, list(Store(store)))
    for place, name in ((store, "store"), (packed, "archive")):
        said("plot", "curves", "-r", place, "-a", "mifa", "--axis", "bytes", "-o", tmp_path / f"{name}.pdf", "--width", "page")
    assert (tmp_path / "store.pdf").read_bytes() == (tmp_path / "archive.pdf").read_bytes()


def test_tables(store: Path, tmp_path: Path) -> None:
    place = ("table", "-r", store)
    page = said(*place)
    assert f"<!--\nfedbench table --records {store} --format markdown\nrecords {store}; 9 runs at commit abc; fedbench " in page
    assert "| fedbuff | 5.0 | ? | 5.0 |" in page, "no verdict, since the grid has steps of five seconds"
    assert "| mifa | miss 3/3 | ? | miss 3/3 |" in page
    said(*place, "--format", "csv", "-o", tmp_path / "a.csv", "-a", "mifa")
    head, *lines = (tmp_path / "a.csv").read_text().splitlines()[1:]
    assert head.startswith("# records")
    assert {row["algorithm"] for row in csv.DictReader(lines)} == {"mifa"}
    assert r"\toprule" in said(*place, "--format", "latex")


def test_a_table_of_a_metric(store: Path, tmp_path: Path) -> None:
    place = ("table", "-r", store, "--metric", "test_accuracy")
    page = said(*place)
    assert f"fedbench table --records {store} --metric test_accuracy --format markdown" in page
    assert page.index("| fedavg | ") < page.index("| fedbuff | ")
    assert "at 20 s of virtual time, the farthest place that all compared runs reach" in page
    early = said(*place, "--at", "7", "--format", "csv", "-a", "mifa")
    (row,) = csv.DictReader(early.splitlines()[2:])
    assert (row["algorithm"], row["at"], round(float(row["mean"]), 6)) == ("mifa", "7.0", 0.2)
    assert r"\toprule" in said(*place, "--axis", "bytes", "--format", "latex")
    said(*place, "-o", tmp_path / "a.md")
    assert "| mifa |" in (tmp_path / "a.md").read_text()


def test_scenarios_without_targets_have_a_table_of_a_metric(tmp_path: Path) -> None:
    changes = ("targets=[]", "budget.seconds=3", "task.model=softmax")
    said(
        "run", "digits-demo", "-a", "fedavg", "--store", tmp_path / "runs", *(word for one in changes for word in ("--set", one))
    )
    assert "no board; --metric test_accuracy makes a table of accuracies" in refused("table", "-r", tmp_path / "runs")
    assert "| fedavg | " in said("table", "-r", tmp_path / "runs", "--metric", "test_accuracy")


def test_names_of_rows(store: Path, tmp_path: Path) -> None:
    """A selector may be as on the command line; one that is no row here is said."""
    names = tmp_path / "names.yaml"
    names.write_text("fedavg[cohort_size=10]: FedAvg\nfedbuff: Buffered\nfednova: FedNova\n")
    result = CliRunner().invoke(app, ["table", "-r", str(store), "--names", str(names)], catch_exceptions=False)
    assert "| FedAvg |" in result.stdout
    assert "| Buffered | 5.0 |" in result.stdout
    assert f"names {names}: no such row here: fednova" in result.stderr
    metric = said("table", "-r", store, "--names", names, "--metric", "test_accuracy", "--format", "csv")
    assert {row["algorithm"] for row in csv.DictReader(metric.splitlines()[2:])} == {"FedAvg", "Buffered", "mifa"}
    assert "Buffered" in said("table", "-r", store, "--names", names, "--format", "csv", "-a", "fedbuff")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("fedavg: 3", "fedavg: expected a name of at most 100 printable letters, got 3"),
        ("fedavg:", "fedavg: expected a name of at most 100 printable letters, got None"),
        ("fedavg: ' '", "fedavg: expected a name of at most 100 printable letters, got ' '"),
        ('fedavg: "a\\nb"', "fedavg: expected a name of at most 100 printable letters, got 'a\\nb'"),
        (f"fedavg: {'a' * 101}", "fedavg: expected a name of at most 100 printable letters, got 'aaa"),
        ("fedavg: mifa", "table: fedavg and mifa have the same name 'mifa'; give them others with --names"),
        ("{fedavg: A, fedbuff: A}", "table: fedavg and fedbuff have the same name 'A'"),
        ("{fedavg: A, 'fedavg[cohort_size=10]': B}", "row fedavg has two names, 'A' and 'B'"),
        ("[fedavg]", "expected a mapping of keys, got list"),
        ("a: [", "not valid YAML"),
        (None, "cannot be read: No such file or directory"),
    ],
)
def test_what_is_no_name(content: str | None, words: str, store: Path, tmp_path: Path) -> None:
    file = tmp_path / "names.yaml"
    if content is not None:
        file.write_text(content)
    found = refused("table", "-r", store, "--names", file)
    assert words in found
    assert "\n" not in found


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["plot", "curve", "-o", "a.pdf"], "plot: unknown kind 'curve'; did you mean 'curves'?"),
        (["plot", "curves", "-o", "a.jpeg"], "figure a.jpeg: expected a file that ends in .pdf, .svg, .png, .json, got '.jpeg'"),
        (["plot", "curves", "-o", "a.pdf", "-a", "fedbuf"], "it has no row 'fedbuf'; did you mean 'fedbuff'?"),
        (["plot", "curves", "-o", "a.pdf", "-p", "digit"], "it has no point 'digit'"),
        (["plot", "curves", "-o", "a.pdf", "--axis", "byte"], "unknown axis 'byte'; did you mean 'bytes'?"),
        (["plot", "curves", "-o", "a.pdf", *["-a", "mifa"] * 9], "figure: at most 8 rows are bold, got 9: mifa"),
        (["plot", "curves", "-o", "a.pdf", "--width", "1"], "figure: width must be from 40 to 500 mm, got 1"),
        (["plot", "curves", "-o", "a.pdf", "--options", "tuned"], "--options chooses rows of a suite; say which with --suite"),
        (["plot", "timeline", "-o", "a.pdf"], "plot: expected one to four algorithms, name them with -a"),
        (["plot", "design", "--suite", "smoke", "-o", "a.pdf"], "suite smoke: its points are those of no design"),
        (["plot", "sensitivity", "-o", "a.pdf"], "expected --suite, which says what is tried where"),
        (["plot", "labels", "--suite", "smoke", "-o", "a.pdf"], "suite smoke: expected one --point, got 0; choose of calm, flaky"),
        (["plot", "labels", *SMOKE[:3], "clam", "-o", "a.pdf"], "suite smoke: unknown point 'clam'; did you mean 'calm'?"),
        (["plot", "heat", "--suite", "smoke", "--options", "tune", "-o", "a.pdf"], "--options must be one of tuned, default, got 'tune'"),
        (["table", "--suite", "smoke", "--options", "published"], "these rows are called default now; write --options default"),
        (["plot", "heat", "--suite", "smoke", "-o", "a.pdf"], "none is a run of suite smoke"),
        (["table", "--format", "html"], "--format must be one of latex, markdown, csv, got 'html'"),
        (["table", "--metric", "accuracy"], "unknown metric 'accuracy'; did you mean 'test_accuracy'"),
        (["table", "--metric", "test_accuracy", "--axis", "byte"], "unknown axis 'byte'; did you mean 'bytes'?"),
        (["table", "--metric", "test_accuracy", "--at", "21"], "expected a place > 0 and at most 20, where fedavg, seed 0 ends, got 21"),
        (["table", "--metric", "test_accuracy", "--at", "0"], "expected a place > 0 and at most 20, where fedavg, seed 0 ends, got 0"),
        (["table", "--at", "3"], "--at says where a metric is read; say which with --metric"),
        (["table", "--axis", "bytes"], "--axis says where a metric is read; say which with --metric"),
        (["table", "-a", "fedbuf"], "it has no row 'fedbuf'; did you mean 'fedbuff'?"),
    ],
)  # fmt: skip
@pytest.mark.extra("plot")
def test_what_does_not_go(arguments: list[str], words: str, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert words in refused(*arguments, "-r", store)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.extra("plot")
def test_no_records(tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    for verb in (["plot", "curves", "-o", "a.pdf"], ["table"]):
        assert f"record {missing}: there is no such folder" in refused(*verb, "-r", missing)


def test_as_a_program(store: Path, tmp_path: Path) -> None:
    """An error is a line and exit code 2."""
    result = fedbench("plot", "curves", "-r", str(store), "-o", "a.gif", cwd=tmp_path)
    assert result.returncode == 2
    assert result.stderr.startswith("error: figure a.gif: expected a file that ends in .pdf, .svg, .png, .json, got '.gif'")
    assert len(result.stderr.splitlines()) == 1
