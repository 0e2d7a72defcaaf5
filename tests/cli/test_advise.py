"""`fedbench advise`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import fedbench as fb
from fedbench.analysis.map.saved import write
from fedbench.cli.main import app
from tests.analysis.map.made_up_map import made_up
from tests.cli.commands import fedbench
from tests.terminal import on_a_terminal


@pytest.fixture(scope="module", name="folder")
def _folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("advise")
    write(folder / "map.npz", made_up())
    return folder


def test_it_prints_the_answer(folder: Path) -> None:
    file = str(folder / "map.npz")
    shown = CliRunner().invoke(
        app, ["advise", "digits-demo", "--map", file, "--set", "at_work=6", "--cost", "bytes", "--seed", "3"]
    )
    assert shown.exit_code == 0
    assert shown.stdout == f"{fb.advise('digits-demo', overrides=['at_work=6'], map=file, cost='bytes', seed=3)}\n"


def test_as_json_it_is_one_object(folder: Path) -> None:
    shown = CliRunner().invoke(app, ["advise", "digits-demo", "--map", str(folder / "map.npz"), "--json"])
    assert json.loads(shown.stdout) == json.loads(json.dumps(fb.advise("digits-demo", map=folder / "map.npz").as_dict()))
    assert shown.stdout.count("\n") == 1


def test_on_a_terminal_sentences_fit_and_what_is_copied_is_whole(folder: Path) -> None:
    command = [sys.executable, "-c", "from fedbench.cli.main import main; main()", "advise", "digits-demo", "--map", "map.npz"]
    code, text = on_a_terminal(command, folder)
    lines = text.splitlines()
    assert code == 0
    assert max(len(line) for line in lines if not line.startswith("  fedbench run")) <= 80
    assert f"  {fb.advise('digits-demo', map=folder / 'map.npz').command}" in lines


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--map", "missing.npz"], "error: map missing.npz: cannot be read: No such file or directory\n"),
        (["--map", "text.npz"], "error: map text.npz: it is broken, or no map: BadZipFile\n"),
        (["--map", "map.npz", "--cost", "byte"], "error: advise: unknown cost 'byte'; did you mean 'bytes'?\n"),
    ],
)
def test_what_is_wrong_is_one_line(folder: Path, words: list[str], message: str) -> None:
    (folder / "text.npz").write_text("text")
    ended = fedbench("advise", "digits-demo", *words, cwd=folder)
    assert (ended.returncode, ended.stdout, ended.stderr) == (2, "", message)
