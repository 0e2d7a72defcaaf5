"""What is shown of runs: nothing where nobody looks on, lines if asked, bars on a terminal, one
text in a notebook."""

from __future__ import annotations

import sys
import types
from pathlib import Path
from typing import Any

import pytest

import fedbench as fb
from fedbench.launch.progress import _ended
from tests.conftest import alter, record
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


def test_a_warning_ends_the_line_of_its_run(capfd: pytest.CaptureFixture[str]) -> None:
    fb.run("digits-demo", ["fedecho[distill_lr=3e-6]", "fedbuff"], overrides=["budget.seconds=2"], progress=True)
    one, other = capfd.readouterr().err.splitlines()
    assert "s); warning: fedecho: distillation moved the model by " in one
    assert "warning" not in other


def test_bars_on_a_terminal(tmp_path: Path) -> None:
    """Words in brackets are shown, not taken for colours."""
    code, text = on_a_terminal([sys.executable, "-c", SCRIPT, "{}"], tmp_path)
    assert code == 0, text
    assert "2 of 2: fedbuff[buffer_size=2] seed 0: finished" in text
    assert "1 of 2 runs" in text
    assert max(len(line) for part in text.splitlines() for line in part.split("\r")) <= 80


def test_bars_without_a_line_for_each_run(tmp_path: Path) -> None:
    """For thousands of short runs."""
    script = SCRIPT.replace(
        "fb.run(", "from fedbench.launch.progress import watching\nwith watching(lines=False) as shown:\n    fb.run("
    )
    code, text = on_a_terminal([sys.executable, "-c", script, "{'progress': False, 'watch': shown}"], tmp_path)
    assert code == 0, text
    assert "1 of 2 runs" in text
    assert "of 2: fed" not in text


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
    fb.run("digits-demo", ["fedecho[distill_lr=3e-6]", "fedbuff"], overrides=["budget.seconds=2"])
    done, warning = texts[-1].splitlines()
    assert done == "2 of 2 runs"
    assert warning.startswith("fedecho[distill_lr=3e-06] seed 0: warning: fedecho: distillation moved")
    assert capfd.readouterr() == ("", "")


def test_a_run_in_which_nobody_is_ever_there_says_so() -> None:
    empty, busy = record(), record()
    for one, available in ((empty, 0.0), (busy, 0.1)):
        counts = {"updates": 0, "trained_steps": 0, "avoided_steps": 0}
        alter(one, "ledger", {"available_fraction": available, "end_seconds": 100.0, **counts})
    alter(empty, "provenance.data_warnings", ["features of very different scale"])
    assert "; warning: features of very different scale; warning: no client was ever there before the run ended" in _ended(
        empty, reused=True
    )
    assert "warning" not in _ended(busy, reused=True)
