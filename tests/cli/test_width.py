"""On a terminal of 80 columns no line is wider and nothing is cut off; in a pipe a sentence, or a
row of a table, is one line."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fedbench.cli import compare, output, plan
from fedbench.cli.layout import ABOUT
from fedbench.cli.main import app
from fedbench.cli.output import UNLIMITED
from tests.terminal import on_a_terminal

FEDBENCH = [sys.executable, "-c", "from fedbench.cli.main import main; main()"]
RUN = ["run", "digits-demo", "-a", "fedavg", "-a", "fedbuff[buffer_size=5,local_lr=0.04]", "--seeds", "3"]
RUN += [part for one in ("clients=10", "budget.seconds=4", "task.model=softmax") for part in ("--set", one)]
RUN += ["--set", "targets=[{value: 0.2}, {value: 0.9}]"]
VERBS = [
    ["list", "algorithms"],
    ["list", "scenarios"],
    ["list", "tasks"],
    ["list", "presets"],
    ["info", "fedbuff"],
    ["info", "fedecho"],
    ["info", "digits-flaky"],
    ["info", "shakespeare"],
    ["plan", "digits-demo", *[word for one in ("fedavg", "fedbuff[buffer_size=5]", "quafl", "fedasync") for word in ("-a", one)]],
    ["plan", "digits-demo", "-a", "fedbuff[buffer_size=5,local_lr=0.02,server_lr=0.3,scaling=sqrt,dispatch_before_update=true]"],
    ["compare", "fedavg", "fedbuff[buffer_size=5,local_lr=0.04]"],
    ["suite", "list"],
    ["suite", "plan", "axes", "--untimed", "-p", "base", "-a", "fedavg"],
    ["suite", "plan", "smoke", "--untimed"],
    ["suite", "status", "smoke"],
    ["applicability", "digits-flaky", "-a", "fedlin", "-a", "fedsgd", "-a", "fedbuff"],
]
MEASURED = ("wall s ", "peak mb ", "peak memory ")


@pytest.fixture(scope="module", name="ran")
def _ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A folder in which a terminal has run algorithms, and what the terminal showed."""
    folder = tmp_path_factory.mktemp("ran")
    code, text = on_a_terminal([*FEDBENCH, *RUN], folder)
    assert code == 0, text
    return folder, text


def printed(verb: list[str], columns: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(folder)
    for module in (output, plan, compare):
        monkeypatch.setattr(module, "columns_of", lambda _: columns)
    result = CliRunner().invoke(app, verb)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
@pytest.mark.parametrize("columns", [80, 120])
def test_lines_fit_and_nothing_is_cut_off(
    verb: list[str], columns: int, ran: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = printed(verb, columns, ran[0], monkeypatch).splitlines()
    assert [line for line in lines if len(line) > columns and "/" not in line] == []
    whole = printed(verb, UNLIMITED, ran[0], monkeypatch)
    squeezed = "".join("".join(line.split()) for line in lines)
    for line in whole.splitlines():
        if not line.startswith(MEASURED):
            missing = [word for word in line.split() if word.strip(",:;().") not in squeezed and word != ABOUT]
            assert missing == [], line
    assert sum("…" in line for line in lines) == 0


def test_a_row_is_a_line_in_a_pipe(ran: tuple[Path, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """As many lines as names, and the title and the heads."""
    names = [line.split()[0] for line in printed(["list", "presets"], UNLIMITED, ran[0], monkeypatch).splitlines()]
    assert names[:2] == ["presets", "name"]
    assert len(names) == len(set(names)) > 20
    narrow = printed(["list", "presets"], 80, ran[0], monkeypatch).splitlines()
    assert len(narrow) > 2 * len(names)


def test_a_real_terminal(ran: tuple[Path, str], tmp_path: Path) -> None:
    """`run` to its end, and what shows the longest lines."""
    shown = [ran[1][ran[1].index("algorithm\r\n") :]]
    shown += [on_a_terminal([*FEDBENCH, *verb], tmp_path)[1] for verb in (["info", "fedbuff"], ["doctor"])]
    for text in shown:
        assert [line for line in text.splitlines() if len(line) > 80 and "/" not in line] == []
        assert max(map(len, text.splitlines())) > 60
