"""What is shown of runs: nothing where nobody looks on, lines if asked, bars on a terminal, one text in a notebook."""

from __future__ import annotations

import sys
import types
from pathlib import Path
from typing import Any

import pytest

import fedbench as fb
from tests.terminal import on_a_terminal

SMALL = ["clients=6", "budget.seconds=2", "local.steps=1", "task.model=softmax"]
TWO = ["fedavg[cohort_size=2]", "fedbuff[buffer_size=2]"]
SCRIPT = f"""
import sys
import fedbench as fb
fb.run("digits-demo", {TWO!r}, overrides={SMALL!r}, **eval(sys.argv[1]))
"""


@pytest.mark.parametrize("show", [None, False])
def test_nobody_looks_on(show: bool | None, capfd: pytest.CaptureFixture[str]) -> None:
    fb.run("digits-demo", TWO, overrides=SMALL, progress=show)
    assert capfd.readouterr() == ("", "")


def test_lines_if_asked(capfd: pytest.CaptureFixture[str]) -> None:
    fb.run("digits-demo", TWO, seeds=2, overrides=SMALL, progress=True)
    out, err = capfd.readouterr()
    assert out == ""
    assert [line.split(": finished")[0] for line in err.splitlines()] == [
        "1 of 4: fedavg[cohort_size=2] seed 0",
        "2 of 4: fedavg[cohort_size=2] seed 1",
        "3 of 4: fedbuff[buffer_size=2] seed 0",
        "4 of 4: fedbuff[buffer_size=2] seed 1",
    ]


def test_warnings_are_in_the_line_of_their_run(capfd: pytest.CaptureFixture[str]) -> None:
    fb.run("digits-demo", ["ace[concurrency=2]", "fedavg[cohort_size=2]"], overrides=SMALL, progress=True)
    warned, fine = capfd.readouterr().err.splitlines()
    assert "; warning: ace: the model is still x0, since 4 of 6 clients never reported" in warned
    assert "warning" not in fine


def test_bars_on_a_terminal(tmp_path: Path) -> None:
    """Words in brackets are shown, not taken for colours."""
    code, text = on_a_terminal([sys.executable, "-c", SCRIPT, "{}"], tmp_path)
    assert code == 0, text
    assert "2 of 2: fedbuff[buffer_size=2] seed 0: finished" in text
    assert "1 of 2 runs" in text
    assert max(len(line) for part in text.splitlines() for line in part.split("\r")) <= 80


def test_silence_on_a_terminal(tmp_path: Path) -> None:
    assert on_a_terminal([sys.executable, "-c", SCRIPT, "{'progress': False}"], tmp_path) == (0, "")


def test_a_notebook(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """One place under the cell, written again and again."""
    texts: list[str] = []

    class Place:
        def update(self, data: dict[str, str], *, raw: bool) -> None:
            texts.append(data["text/plain"])

    def display(data: dict[str, str], *, raw: bool, display_id: bool) -> Place:
        return Place()

    ipython: Any = types.ModuleType("IPython")
    ipython.get_ipython = lambda: types.SimpleNamespace(kernel=object())
    ipython.display = types.ModuleType("IPython.display")
    ipython.display.display = display
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", ipython.display)
    fb.run("digits-demo", TWO, overrides=SMALL)
    assert texts[-1] == "2 of 2 runs"
    assert any("fedavg[cohort_size=2] seed 0" in text for text in texts)
    assert capfd.readouterr() == ("", "")
