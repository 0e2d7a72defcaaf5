"""`fedbench suite`, `tune` and `compare`, from the first command to a sentence, as a user would
go."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from fedbench.cli.main import app
from fedbench.results.store import Store
from fedbench.suites import space as spaces
from fedbench.suites import tuned
from fedbench.suites.suite import LIBRARY, load
from fedbench.suites.tuning import Choice, Score, tuning_of

SMOKE = yaml.safe_load((LIBRARY / "smoke.yaml").read_text())


def said(*arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code == code, result.output + str(result.exception)
    return result.output


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The smoke suite with one point and two trials, of which some seconds are enough."""
    folder = tmp_path_factory.mktemp("suite")
    changes = {
        "points": [
            {**SMOKE["points"][0], "set": {"budget.seconds": 15, "evaluation.every_seconds": 0.1, "targets": [{"value": 0.3}]}}
        ],
        "algorithms": ["fedavg", "fedbuff"],
        "options": {"concurrency": 10},
        "tuning": {**SMOKE["tuning"], "trials": 2, "seeds": {"first": 100, "count": 1}},
    }
    (folder / "small.yaml").write_text(json.dumps({**SMOKE, **changes, "name": "small"}))
    return folder


def test_the_library_is_listed() -> None:
    output = said("suite", "list")
    assert "axes" in output
    assert "smoke" in output


def test_a_suite_from_plan_to_sentence(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(small)
    suite = str(small / "small.yaml")
    plan = said("suite", "plan", suite, "--untimed")
    assert "12 runs to compare, 6 to find options" in plan
    rows = [json.loads(line) for line in said("suite", "plan", suite, "--untimed", "--json").splitlines()]
    assert [(row["selector"], row["refused"]) for row in rows] == [("fedavg", ""), ("fedbuff", "")]
    assert "0 of 6" in said("suite", "status", suite)

    said("tune", suite, "--quiet", "-o", "tuned")
    frozen = yaml.safe_load(Path("tuned/small.yaml").read_text())
    assert set(frozen["points"]["calm"]) == {"fedavg", "fedbuff"}
    said("suite", "run", suite, "--quiet", "--tuned", "tuned/small.yaml")
    assert "6 of 6" in said("suite", "status", suite)
    both = {one.run_id for one in Store(Path("runs/small")) if "validation" not in json.dumps(one.spec.overrides)}
    assert f"{len(both)} of {len(both)}" in said("suite", "status", suite, "--tuned", "tuned/small.yaml")

    said("suite", "pack", suite, "--tuned", "tuned/small.yaml", "--archives", "results")
    assert said("verify", "results/small", "--sample", "1").endswith("identical\n")
    assert re.search(
        r"2 records of suite small: 2 identical \(", said("suite", "verify", suite, "--sample", "2", "--archives", "results")
    )
    for records in ("runs/small", "results/small"):
        rows = ("-r", records, "--suite", suite, "--tuned-in", "tuned")
        text = said("compare", "fedavg", "fedbuff (tuned)", *rows)
        assert re.match(r"suite small \([0-9a-f]{16}\), tuned options\ncalm", text), text
        assert "calm, 30 %: fedavg " in text
        mixed = said("compare", "fedavg (default)", "fedavg (tuned)", *rows)
        assert "default options and suite small" in mixed
        line = json.loads(said("compare", "fedavg", "fedbuff", *rows, "--json").splitlines()[-1])
        assert (line["point"], line["target"], line["seeds"]) == ("calm", 0.3, 3)
    assert said("compare", "fedavg", "fedbuff[concurrency=10]", "-r", "results/small").startswith("digits-demo")
    refused = CliRunner().invoke(
        app, ["compare", "fedavg", "fedbufff (tuned)", "-r", "results/small", "--suite", suite, "--tuned-in", "tuned"]
    )
    assert "has no row 'fedbufff (tuned)'; did you mean 'fedbuff'?" in str(refused.exception)


def test_a_suite_of_tuned_rows_only_costs_half(small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    content = json.loads((small / "small.yaml").read_text()) | {"rows": "tuned"}
    Path("small.yaml").write_text(json.dumps(content))
    assert "\n6 runs to compare" in said("suite", "plan", "small.yaml", "--untimed")
    assert "0 of 0" in said("suite", "status", "small.yaml")
    refused = CliRunner().invoke(app, ["suite", "run", "small.yaml"]).exception
    assert "suite small compares tuned options only: add --tuned FILE; `fedbench tune small.yaml` makes it" in str(refused)
    assert load("small.yaml").content_hash() != load(small / "small.yaml").content_hash()
    suite, choice = load("small.yaml"), Choice(1, {"local_lr": 0.2}, Score(0, 1.0, 0.5, 0), 2, 0, {}, "0" * 32)
    frozen = tuned.content(suite, spaces.load(tuning_of(suite).space), {("calm", "fedavg"): choice})
    assert [row for _, row, _ in tuned.rows(suite, frozen, suite.points, suite.selectors())] == ["fedavg (tuned)"]
    del content["tuning"]
    Path("small.yaml").write_text(json.dumps(content))
    assert "rows: tuned rows need a part `tuning`" in str(CliRunner().invoke(app, ["suite", "plan", "small.yaml"]).exception)


def test_lines_of_runs_name_their_point(small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there are several; the scenario of all points has one name."""
    monkeypatch.chdir(tmp_path)
    content = json.loads((small / "small.yaml").read_text()) | {"seeds": {"first": 0, "count": 2}}
    calm = content["points"][0] | {"set": {**content["points"][0]["set"], "budget.seconds": 1}}
    content["points"] = [calm, calm | {"name": "few", "set": {**calm["set"], "clients": 10}}]
    Path("small.yaml").write_text(json.dumps(content))
    lines = said("suite", "run", "small.yaml", "-a", "fedavg").splitlines()
    ended = [line.split(": ")[1:3] for line in lines if " of 4: " in line]
    assert sorted(ended) == [[point, f"fedavg seed {seed}"] for point in ("calm", "few") for seed in (0, 1)]
    tried = said("tune", "small.yaml", "-a", "fedavg", "-o", "tuned")
    assert Counter(re.findall(r"^\d of \d: (\w+): fedavg", tried, re.MULTILINE)) == {"calm": 3, "few": 3}
    alone = said("suite", "run", "small.yaml", "-a", "fedbuff", "-p", "few")
    assert "1 of 2: fedbuff" in alone


def test_from_records_to_findings(small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An archive is enough: a machine that has no records goes on from it."""
    monkeypatch.chdir(tmp_path)
    suite, options = str(small / "small.yaml"), ("--tuned", "results/tuned/small.yaml")
    said("tune", suite, "--quiet", "-o", "results/tuned")
    said("suite", "run", suite, "--quiet", *options, "--watch", "csv:points.csv")
    said("suite", "pack", suite, *options)
    runs = list(Store(Path("runs/small")))
    said("suite", "unpack", suite, "--store", "elsewhere")
    again = {record.run_id: record.as_dict() for record in Store(Path("elsewhere"))}
    compared = [record for record in runs if "validation" not in json.dumps(record.spec.overrides)]
    assert again == {record.run_id: record.as_dict() for record in compared}
    told = [row.partition(",")[0] for row in Path("points.csv").read_text().splitlines()[1:]]
    assert Counter(told).items() <= {record.run_id: len(record.curves["seconds"]) for record in compared}.items()
    assert told
    assert "0 of them to be computed" in said("suite", "run", suite, "--quiet", *options, "--store", "elsewhere")

    said("suite", "freeze", suite, "-o", "references/small.json")
    frozen = json.loads(Path("references/small.json").read_text())
    assert set(frozen["made_of"]) == {"fedavg", "fedbuff"}
    assert re.search(r"calm .* - *\n", said("suite", "plan", suite, "--untimed")), "nothing is known of it yet"
    monkeypatch.setattr("fedbench.cli.suite.reference_file", lambda name: Path(f"references/{name}.json"))
    assert re.search(rf"calm .* {frozen['resolution']['calm']:.2f} *\n", said("suite", "plan", suite, "--untimed"))
    said("suite", "report", suite)
    page = Path("results/findings.md").read_text()
    assert f"Made by `fedbench suite report {suite}`" in page
    assert "| calm |" in page
    nothing = CliRunner().invoke(app, ["suite", "report", suite, "--archives", "nowhere"]).exception
    assert f"there is no archive nowhere/small; pack the records of its store first: fedbench suite pack {suite}" in str(nothing)
    for verb in (["table", "--suite", suite], ["plot", "heat", "--suite", suite, "-o", "heat.pdf"]):
        assert "pack the records of its store first" in str(CliRunner().invoke(app, [*verb, "--archives", "nowhere"]).exception)


def test_tuning_goes_on_from_its_table(small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the records have gone, nothing is computed again, and the choice is the same."""
    monkeypatch.chdir(tmp_path)
    suite = str(small / "small.yaml")
    said("tune", suite, "-a", "fedavg", "--quiet", "-o", "tuned", "--store", "first")
    chosen = Path("tuned/small.yaml").read_text()
    assert "0 of them to be computed" in said("tune", suite, "-a", "fedavg", "--quiet", "-o", "tuned", "--store", "second")
    assert Path("tuned/small.yaml").read_text() == chosen
    said("tune", suite, "--collect", "-o", "tuned", "--store", "second")
    assert Path("tuned/small.yaml").read_text() == chosen, "the other algorithm has no trials yet"


def test_tuning_of_one_algorithm_keeps_what_was_found_for_another(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing that is written is lost, also where the records have gone."""
    monkeypatch.chdir(tmp_path)
    suite = str(small / "small.yaml")
    for selector in ("fedavg", "fedbuff"):
        said("tune", suite, "-a", selector, "--quiet", "-o", "tuned", "--store", selector)
    assert set(yaml.safe_load(Path("tuned/small.yaml").read_text())["points"]["calm"]) == {"fedavg", "fedbuff"}


OWN = '''
from dataclasses import dataclass

from fedbench.algorithms.fedavg import FedAvg
from fedbench.protocols import Log, Positive, option


@dataclass(frozen=True, kw_only=True)
class Own(FedAvg):
    """Averages."""

    name = "own"
    local_lr: Positive = option(0.1, search=Log(0.05, 0.5))
'''


def test_an_algorithm_of_ones_own_is_tuned_by_what_it_declares(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a suite that does not have it, from the plan to its tuned row."""
    monkeypatch.chdir(tmp_path)
    Path("own.py").write_text(OWN)
    Path("mute.py").write_text(OWN.replace(", search=Log(0.05, 0.5)", ""))
    suite, who = str(small / "small.yaml"), ("-a", "./own.py:Own", "--store", "own")
    assert "6 runs to compare, 3 to find options" in said("suite", "plan", suite, "--untimed", "-a", "./own.py:Own")
    assert "3 trials in tuned/small-trials.parquet, 1 choices" in said("tune", suite, *who, "--quiet", "-o", "tuned")
    (choice,) = yaml.safe_load(Path("tuned/small.yaml").read_text())["points"]["calm"].items()
    assert choice[0] == "./own.py:Own"
    assert choice[1]["options"] == {} or 0.05 <= choice[1]["options"]["local_lr"] <= 0.5
    said("suite", "run", suite, *who, "--tuned", "tuned/small.yaml", "--quiet")
    assert re.search("calm +6 of 6 +3 of 3", said("suite", "status", suite, *who, "--tuned", "tuned/small.yaml"))
    left = said("tune", suite, "-a", "fedavg", "--store", "own", "--quiet", "-o", "tuned")
    assert "left out of tuned/small-trials.parquet, since neither the suite nor -a has them: ./own.py:Own" in left
    for verb in (("suite", "plan", suite, "--untimed"), ("tune", suite, "--quiet")):
        refused = str(CliRunner().invoke(app, [*verb, "-a", "./mute.py:Own"]).exception)
        assert "search space axes: it has no entry for algorithm own, and declares none" in refused, verb


def test_what_is_wrong_is_said(small: Path, tmp_path: Path) -> None:
    suite = str(small / "small.yaml")
    assert "unknown suite 'smokes'; did you mean 'smoke'" in str(CliRunner().invoke(app, ["suite", "plan", "smokes"]).exception)
    wrong = CliRunner().invoke(app, ["suite", "run", suite, "-a", "fedaavg"]).exception
    assert "suite small: it has no algorithm 'fedaavg'; did you mean 'fedavg'" in str(wrong)
    nowhere = CliRunner().invoke(app, ["suite", "run", suite, "--on", "moon"]).exception
    assert "--on must be here, slurm, ray or ray:HOST:PORT, got 'moon'" in str(nowhere)
    empty = CliRunner().invoke(app, ["suite", "pack", suite, "--store", str(tmp_path)]).exception
    assert "has none of the 6 runs of suite small" in str(empty)
