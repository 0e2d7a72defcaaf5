"""A folder appears whole and without faults, or not at all."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fedbench.cli.main import app
from fedbench.cli.submissions import today
from fedbench.errors import FedbenchError, UsageError
from fedbench.results import held
from fedbench.results.store import Store
from fedbench.submissions.check import check
from fedbench.submissions.make import make
from fedbench.submissions.manifest import MANIFEST, as_yaml, parse
from tests.engine.isolation.plugins import confined
from tests.submissions.conftest import BUILT_IN, NAME, WORDS, Made


def test_the_manifest_comes_back(made: Made) -> None:
    content = (made.folder / MANIFEST).read_bytes()
    manifest = parse(content)
    assert manifest.title == WORDS.title
    assert manifest.plugins["traced"].class_ == "Traced"
    assert as_yaml(manifest).encode() == content


def test_nothing_is_overwritten(made: Made) -> None:
    before = (made.folder / MANIFEST).read_bytes()
    with pytest.raises(UsageError, match="it is there already"):
        make(made.folder.parent, WORDS, made.suite, [BUILT_IN], made.store, None, None)
    assert (made.folder / MANIFEST).read_bytes() == before


def test_two_at_once_do_not_collide(made: Made, tmp_path: Path) -> None:
    """One makes it, the other is told so; one of another name goes on."""
    with held.new_folder(tmp_path / f".writing-{NAME}"):
        with pytest.raises(UsageError, match=f"submission .*{NAME}: another process is making it"):
            make(tmp_path, WORDS, made.suite, [BUILT_IN], made.store, None, None)
        make(tmp_path, replace(WORDS, name="other"), made.suite, [BUILT_IN], made.store, None, None)
    assert [one.name for one in tmp_path.iterdir()] == ["other"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"name": "../x"}, "expected a name"),
        ({"name": "X"}, "expected a name"),
        ({"title": ""}, "title: "),
        ({"authors": []}, "authors: "),
        ({"contact": "\u202e"}, r"contact: .*U\+202E"),
        ({"date": "today"}, "date: "),
        ({"tuning_trials": -1}, "tuning_trials: "),
    ],
)
def test_words_that_cannot_be_taken(made: Made, tmp_path: Path, change: dict[str, object], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        make(tmp_path, replace(WORDS, **change), made.suite, [BUILT_IN], made.store, None, None)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_a_store_that_lacks_the_runs(made: Made, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="it has none of the"):
        make(tmp_path / "out", WORDS, made.suite, ["scaffold"], made.store, None, None)


def test_faults_leave_no_folder(made: Made, tmp_path: Path) -> None:
    """A seed is missing in the store."""
    store = Store(shutil.copytree(made.store.root, tmp_path / "runs"))
    spec = made.suite.runs(made.suite.point("calm"), BUILT_IN)[1]
    shutil.rmtree(store.folder(spec.scenario.name, spec.algorithm.name, spec.run_id))
    with pytest.raises(
        FedbenchError, match=r"nothing was made.*\n.*fedavg at calm: expected all 3 seeds of the suite, missing 1"
    ):
        make(tmp_path / "out", WORDS, made.suite, [BUILT_IN], store, None, None)
    assert list((tmp_path / "out").iterdir()) == []


@confined
def test_the_commands_from_the_store_to_a_retraction(made: Made, tmp_path: Path) -> None:
    def fedbench(*arguments: str, code: int = 0) -> str:
        result = CliRunner().invoke(app, [*arguments])
        assert result.exit_code == code, (result.output, result.exception)
        return result.output

    out = tmp_path / "submissions"
    words = ["--name", NAME, "--title", WORDS.title, "--author", "A. Nobody", "--contact", "nobody@example.org"]
    given = ["-a", BUILT_IN, "-a", made.plugin, "--store", str(made.store.root), "--tuned", str(made.tuned), "-o", str(out)]
    text = fedbench("submit", "smoke", *words, *given)
    assert "9 records in 3 rows" in text
    assert f"next: fedbench leaderboard check {out / NAME} --sample 3 --run-plugins\n" in text
    assert "good: checked (0 faults" in fedbench("leaderboard", "check", str(out / NAME), "--record")
    text = fedbench("leaderboard", "check", str(out / NAME), "--sample", "3", "--draw", "5", "--run-plugins", "--record")
    assert "3 of 3 records that were run again are identical" in text
    assert "good: re-run-identical" in text
    before = tmp_path / "before.jsonl"
    shutil.copy(out / "history.jsonl", before)
    assert "good: retracted" in fedbench("leaderboard", "retract", NAME, "--reason", "a mistake", "--submissions", str(out))
    again = fedbench("leaderboard", "check", str(out / NAME), code=1)
    assert f"good was retracted on {today()} (a mistake) and stays so; hand it in under another name" in again
    text = fedbench("leaderboard", "history", str(out), "--since", str(before))
    assert [line.partition(" ")[2].partition(" (")[0] for line in text.splitlines()] == [
        "good: received",
        "good: checked",
        "good: re-run",
        "good: retracted: a mistake",
    ]
    shutil.copy(before, out / "history.jsonl")
    (out / "history.jsonl").write_bytes(before.read_bytes().replace(b"checked", b"chocked"))
    assert "lines were changed or taken out" in fedbench("leaderboard", "history", str(out), "--since", str(before), code=1)


def test_a_check_that_could_run_nothing_says_so(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fedbench.cli.submissions.rerun", lambda report, *_, **__: report)
    result = CliRunner().invoke(app, ["leaderboard", "check", str(made.folder), "--sample", "3"])
    assert "0 records were run again: none is of a built-in algorithm; --run-plugins draws among all" in result.output


def test_a_check_as_json_has_no_raw_text(made: Made) -> None:
    result = CliRunner().invoke(app, ["leaderboard", "check", str(made.folder), "--json"])
    assert result.exit_code == 0
    assert result.output.isascii()
    assert check(made.folder, apart=False).as_dict()["validity"] == "checked"
