"""`fedbench race`, as a user would go."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fedbench.results.store import Store
from fedbench.suites.own_race import plan as plans
from fedbench.suites.race import decisions
from tests.suites.own_race.conftest import MINE, SETTINGS, given
from tests.terminal import on_a_terminal

from .commands import fedbench

SET = [word for one in SETTINGS for word in ("--set", one)]
PROGRAM = "from fedbench.cli.main import main; main()"
ROWS = ["-a", "fedavg", "-a", "fedbuff"]


def digests(store: Path) -> dict[str, str]:
    return {record.run_id: record.digests.result for record in Store(store)}


def test_from_the_command_to_the_answer(tmp_path: Path) -> None:
    """With an algorithm in a file. The command says what it does, and how to go on."""
    (tmp_path / "mine.py").write_text(MINE)
    command = [
        "race",
        "digits-demo",
        "-a",
        "fedbuff",
        "-a",
        "./mine.py:Mine",
        "--minutes",
        "9",
        "--no-tune",
        *SET,
        "--set",
        "budget.seconds=4",
    ]
    first = fedbench(*command, cwd=tmp_path, OMP_NUM_THREADS="1")
    assert first.returncode == 0, first.stderr
    assert first.stdout.startswith("race on digits-demo: ")
    assert len(first.stdout.splitlines()) <= 25
    assert "first seed: all 2 rows with their default options: 2 runs, about" in first.stderr
    assert "records, plan and decisions: runs/race-digits-demo" in first.stderr
    again = fedbench(*command, "--json", cwd=tmp_path, OMP_NUM_THREADS="1")
    found = json.loads(again.stdout)
    assert found["rows"] == 2
    assert sorted(row for one in found["systems"] for row in one["rows"]) == ["./mine.py:Mine", "fedbuff[concurrency=10]"]


@pytest.mark.slow
def test_on_a_terminal_there_are_stages_and_bars(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PROGRAM, "race", "digits-demo", *ROWS, "--minutes", "0.15", "--no-tune", *SET]
    code, text = on_a_terminal(command, tmp_path)
    assert code == 0, text
    assert "first seed: 2 of 2 rows are left" in text
    assert "race on digits-demo: " in text
    assert "2 of 2: fed" not in text


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--minutes", "0"], "error: race: minutes must be a number > 0 and at most 1,000,000, got 0.0\n"),
        (["--set", "targets=[]"], "error: race: scenario digits-demo has no targets, and a race is about who holds them"),
        (["-a", "quafl", "--set", "at_work=5"], "error: race: none of 1 algorithms can run on scenario digits-demo; quafl: "),
    ],
)
def test_wrong_use_is_one_line(arguments: list[str], said: str, tmp_path: Path) -> None:
    result = fedbench("race", "digits-demo", *arguments, cwd=tmp_path)
    assert result.returncode == 2
    assert result.stdout == ""
    assert said in result.stderr
    assert "Traceback" not in result.stderr


def test_a_run_that_fails_is_named_and_the_exit_code_is_1(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(MINE + "\n    def step(self, *arguments):\n        raise ValueError('not today')\n")
    command = ["race", "digits-demo", "-a", "fedavg", "-a", "./mine.py:Mine", "--minutes", "0.02", "--no-tune", *SET]
    result = fedbench(*command, cwd=tmp_path, OMP_NUM_THREADS="1")
    assert result.returncode == 1
    assert (
        "error: 1 row has a run that failed; in another --store a race begins anew. The first: ./mine.py:Mine: " in result.stderr
    )
    assert "not today" in result.stderr


@pytest.mark.slow
def test_a_race_that_is_killed_goes_on_to_the_same_end(tmp_path: Path) -> None:
    """SIGKILL to the command and its workers, each time some records later, by the same plan as a
    race that nobody disturbs."""
    program = [sys.executable, "-c", PROGRAM, "race", "digits-demo", *ROWS, *SET]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    whole, killed, kills = tmp_path / "whole", tmp_path / "killed", 0
    plan = plans.made(given("fedavg", "fedbuff", tune=True, minutes=0.15), lambda: 0.0)
    assert plan.rungs
    for store in (whole, killed):
        Store(store).prepare()
        plans.write(store, plan)
    subprocess.run([*program, "--minutes", "30", "-r", str(whole)], check=True, capture_output=True, env=environment)
    command = [*program, "--minutes", "30", "-j", "2", "-r", str(killed)]
    for more in range(10, 130, 15):
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True, env=environment
        )
        while process.poll() is None and len(list(killed.glob("*/*/*/record.json"))) < more:
            time.sleep(0.01)
        kills += process.poll() is None
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    last = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    assert kills > 3
    assert last.stdout.startswith("race on digits-demo: ")
    assert (killed / decisions.FILE).read_bytes() == (whole / decisions.FILE).read_bytes()
    assert digests(killed) == digests(whole)


@pytest.mark.slow
def test_ctrl_c_ends_with_one_line_and_nothing_is_lost(tmp_path: Path) -> None:
    program = [sys.executable, "-c", PROGRAM, "race", "digits-demo", *ROWS, *SET]
    command = [*program, "--minutes", "30", "-r", str(tmp_path)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    while process.poll() is None and len(list(tmp_path.glob("*/*/*/record.json"))) < 20:
        time.sleep(0.01)
    before = digests(tmp_path)
    os.killpg(process.pid, signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130
    assert told.endswith("interrupted; nothing is lost, the same command goes on\n")
    assert before.items() <= digests(tmp_path).items()
