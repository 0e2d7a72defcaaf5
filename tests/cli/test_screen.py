"""What stands on the screen is what there is: no markup, no pictures of words, nothing that moves
the cursor; whatever happens, words."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fedbench.cli import main
from fedbench.cli.output import visible
from tests.terminal import on_a_terminal

FEDBENCH = [sys.executable, "-c", "from fedbench.cli.main import main; main()"]
SMALL = [part for one in ("clients=6", "budget.seconds=1", "local.steps=1", "task.model=softmax") for part in ("--set", one)]
PLUGIN = """
import fedbench as fb
from fedbench.algorithms.fedbuff import FedBuff


class Fire(FedBuff):
    name = "fire"


class Ends(FedBuff):
    name = "ends"

    def step(self, state, batch, tools):
        raise SystemExit(0)


class Begins(FedBuff):
    name = "begins"

    def __post_init__(self):
        raise SystemExit(0)


class TooLarge(FedBuff):
    name = "too_large"

    def dispatch(self, info):
        return 10.0 ** 1000
"""


def fedbench(*arguments: str, cwd: Path, shell: str = "") -> subprocess.CompletedProcess[str]:
    """`shell`: what a shell does before it, or with its output."""
    environment = {**os.environ, "PYTHON": sys.executable}
    command = [*FEDBENCH, *arguments]
    if shell:
        command = ["bash", "-c", shell, "bash", *command]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=300, check=False)


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    (tmp_path / "fire.py").write_text(PLUGIN)
    (tmp_path / "ends.py").write_text("raise SystemExit(0)\n")
    return tmp_path


VERBS = {
    "run": ["run", "digits-demo", "-a", "./fire.py:Fire[buffer_size=5]", "-a", "./fire.py:Fire[buffer_size=3]", *SMALL],
    "plan": ["plan", "digits-demo", "-a", "fedbuff[buffer_size=5]", "-a", "fedbuff[buffer_size=3]"],
    "trace": ["trace", "digits-demo", "-a", "fedbuff[buffer_size=3]", "--until", "1"],
    "info": ["info", "fedbuff"],
    "unknown": ["info", "fed[bold]avg:fire:"],
    "selector": ["plan", "digits-demo", "-a", "fedbuff[/bold]"],
    "scenario": ["plan", "[red]digits:x:", "-a", "fedavg"],
    "record": ["verify", "[red]runs:fire:"],
    "test": ["test", "./fire.py:Fire[buffer_size=2]"],
    "applicability": ["applicability", "digits-demo", "-a", "fedbuff[buffer_size=5]"],
}
SHOWN = {
    "run": ["fire[buffer_size=5] seed 0: finished", "fire[buffer_size=3] seed 0: finished"],
    "plan": ["fedbuff[buffer_size=5]", "fedbuff[buffer_size=3]"],
    "trace": [],
    "info": ["fedbuff"],
    "unknown": ["fed[bold]avg:fire:"],
    "selector": ["fedbuff[/bold]", "expected param=value"],
    "scenario": ["[red]digits:x:"],
    "record": ["[red]runs:fire:"],
    "test": ["fire"],
    "applicability": ["digits-demo: 1 of 1 run"],
}


@pytest.mark.slow
@pytest.mark.parametrize("verb", VERBS)
def test_brackets_and_colons_stay_on_a_terminal_and_in_a_pipe(verb: str, plugin: Path) -> None:
    arguments = [*VERBS[verb], *(["--output", "t.json"] if verb == "trace" else [])]
    code, terminal = on_a_terminal([*FEDBENCH, *arguments], plugin)
    piped = fedbench(*arguments, cwd=plugin)
    assert piped.returncode == code
    for text in (" ".join(terminal.split()), piped.stdout + piped.stderr):
        assert "Traceback" not in text
        for shown in SHOWN[verb]:
            assert shown in text.replace("│ ", "").replace(" │", "")


def test_json_goes_straight_to_standard_output(plugin: Path) -> None:
    """A store whose path looks like a style and a picture, on a terminal of 80 columns too."""
    store = str(plugin / "abs:x:b[bold]")
    arguments = ["run", "digits-demo", "-a", "./fire.py:Fire", *SMALL, "--store", store, "--json"]
    row = json.loads(fedbench(*arguments, cwd=plugin).stdout)
    assert Path(row["record"]).is_relative_to(store)
    assert (Path(row["record"]) / "record.json").exists()
    _, terminal = on_a_terminal([*FEDBENCH, *arguments], plugin)
    (line,) = (line for line in terminal.splitlines() if line.startswith("{"))
    assert json.loads(line)["record"] == row["record"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a[bold]:fire:", "a[bold]:fire:"),
        ("two\nlines", "two\nlines"),
        ("\x1b[31mred\x07", r"\x1b[31mred\x07"),
        ("\u202eright to left", r"\u202eright to left"),
        ("\udcff", r"\udcff"),
        ("Müller 数", "Müller 数"),
        ("tab\there\r", r"tab\there\r"),
    ],
)
def test_what_would_move_the_cursor_is_shown(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_control_characters_in_a_name(tmp_path: Path) -> None:
    result = fedbench("info", "abc\x1b[31m\udcff", cwd=tmp_path)
    assert result.returncode == 2
    assert r"unknown name 'abc\x1b[31m\udcff'" in result.stderr
    assert "\x1b" not in result.stderr


LONG = "x" * 300
REFUSED = {
    "full disk": (["list", "algorithms"], 'exec "$@" > /dev/full', 1, "error: No space left on device"),
    "full disk, json": (["list", "algorithms", "--json"], 'exec "$@" > /dev/full', 1, "error: No space left on device"),
    "full disk, one line": (["--version"], 'exec "$@" > /dev/full', 1, "error: No space left on device"),
    "closed output": (["list", "algorithms"], 'exec "$@" >&-', 0, ""),
    "reader gone": (["info", "fedavg", "--json"], 'set -o pipefail; "$@" | true', 1, ""),
    "file size": (
        ["run", "digits-demo", "-a", "fedavg[cohort_size=2]", *SMALL],
        'ulimit -f 4; exec "$@"',
        1,
        "error: store runs: File too large: runs/digits-demo/fedavg/",
    ),
    "long store": (
        ["run", "digits-demo", "-a", "fedavg[cohort_size=2]", *SMALL, "--store", LONG],
        "",
        1,
        "File name too long",  # of the store, or since Python 3.13 of what is written there
    ),
    "long record": (["verify", LONG], "", 2, "there is no such folder"),
    "long scenario": (["plan", f"{LONG}.yaml", "-a", "fedavg"], "", 2, "cannot be read: File name too long"),
    "long algorithm": (["plan", "digits-demo", "-a", f"{LONG}.py:X"], "", 2, "cannot be read: File name too long"),
    "long name of a scenario": (["run", "digits-demo", "-a", "fedavg", "--set", f"name={LONG}"], "", 2, "name must be text that"),
    "name that is not UTF-8": (["plan", "./a\udcff.yaml", "-a", "fedavg"], "", 2, "cannot be read"),
    "too large": (["plan", "digits-demo", "-a", "./fire.py:TooLarge"], "", 1, "OverflowError"),
    "plug-in ends at its import": (
        ["plan", "digits-demo", "-a", "./ends.py:X"],
        "",
        2,
        "ends.py, line 1, in <module>: SystemExit",
    ),
    "plug-in ends as it is made": (["plan", "digits-demo", "-a", "./fire.py:Begins"], "", 1, "must not end the program"),
    "plug-in ends in a step": (["run", "digits-demo", "-a", "./fire.py:Ends", *SMALL], "", 1, "must not end the program"),
    "plug-in ends in a test": (["test", "./fire.py:Begins"], "", 1, "must not end the program"),
}


def test_ctrl_c_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Of a verb that says nothing of its own about it."""

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("fedbench.cli.suite_results.opened", interrupted)
    monkeypatch.setattr("sys.argv", ["fedbench", "suite", "pack", "smoke"])
    assert main._exit_code() == 130
    assert capsys.readouterr().err == "error: interrupted\n"


@pytest.mark.parametrize("case", REFUSED)
def test_what_the_machine_or_a_plugin_refuses_is_said(case: str, plugin: Path) -> None:
    arguments, shell, code, shown = REFUSED[case]
    result = fedbench(*arguments, cwd=plugin, shell=shell)
    assert shown in result.stderr
    assert "Traceback" not in result.stderr
    assert "Exception ignored" not in result.stderr
    assert result.returncode == code
