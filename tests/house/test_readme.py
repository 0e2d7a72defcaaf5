"""What README shows runs as it stands: every block, line by line, with small budgets."""

from __future__ import annotations

import functools
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import typer.main
import yaml

from fedbench.cli.main import app
from fedbench.scenarios.load import load
from tests.cli.commands import fedbench

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
PYTHON = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
YAML = re.findall(r"```yaml\n(.*?)```", README, re.DOTALL)
LINES = [line.strip() for line in re.sub(r"```.*?```", "", README, flags=re.DOTALL).splitlines() if line.startswith("    ")]
COMMANDS = [line for line in LINES if line.startswith("fedbench ")]
SMALLER = {"run": ["--set", "budget.seconds=2", "-j", "1"], "theory": ["--quick"], "bench": ["--rounds", "3"]}
FEW = ["-p", "calm", "-a", "fedavg", "-a", "fedbuff", "-j", "1", "--quiet"]
SMALLER |= {"tune": FEW, "suite run": FEW, "suite plan": FEW[:6]}
IN_ORDER = [line for line in COMMANDS if " smoke" in line or "/smoke" in line]  # each goes on from what those before it left
SLOW = ("fedbench theory", "fedbench bench")


@pytest.fixture(scope="module", name="folder")
def _folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a reader is who has written damped.py and made the runs."""
    folder = tmp_path_factory.mktemp("readme")
    (folder / "damped.py").write_text(next(block for block in PYTHON if "class Damped" in block))
    made = run(next(line for line in COMMANDS if line.startswith("fedbench run")), folder)
    assert made.returncode == 0, made.stderr
    return folder


@functools.cache
def run(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """A line as the shell has it: comments left out, stars filled in; RECORD stands for a record's
    folder."""
    arguments: list[str] = []
    for word in shlex.split(line, comments=True)[1:]:
        places = (
            sorted(folder.glob(word.replace("RECORD", "runs/digits-demo/fedavg/*"))) if "*" in word or word == "RECORD" else []
        )
        arguments += [str(place.relative_to(folder)) for place in (places[:1] if word == "RECORD" else places)] or [word]
    smaller = SMALLER.get(arguments[0]) or SMALLER.get(" ".join(arguments[:2]), [])
    return fedbench(*arguments, *smaller, cwd=folder)


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(line, id=line.partition("#")[0].strip(), marks=[pytest.mark.slow] if line.startswith(SLOW) else [])
        for line in COMMANDS
    ],
)
def test_fedbench_lines(line: str, folder: Path) -> None:
    for earlier in IN_ORDER[: IN_ORDER.index(line)] if line in IN_ORDER else []:
        run(earlier, folder)
    result = run(line, folder)
    assert result.returncode == 0, f"README: {line}\n{result.stdout}{result.stderr}"


@pytest.mark.parametrize("block", PYTHON, ids=lambda block: block.strip().splitlines()[-1])
def test_python_blocks(block: str, folder: Path) -> None:
    """As scripts, beside damped.py."""
    command = [sys.executable, "-c", block]
    environment = {**os.environ, "MPLBACKEND": "Agg"}
    result = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert result.returncode == 0, f"README:\n{block}\n{result.stderr}"
    assert len([line for line in block.splitlines() if line.strip()]) <= 30


def test_the_block_of_own_data_runs(tmp_path: Path) -> None:
    """As keys of a scenario, beside a file of visits to four hospitals, of which three have
    enough."""
    (block,) = YAML
    hospital = np.repeat(["north", "east", "south", "west"], [100, 90, 80, 40])
    columns = {"hospital": hospital, "outcome": np.arange(310) % 2, "age": np.linspace(0, 1, 310), "dose": np.ones(310)}
    pd.DataFrame(columns).to_parquet(tmp_path / "visits.parquet")
    content = load("digits-demo", ["clients=3", "public=null", "budget.seconds=5"]).resolved() | yaml.safe_load(block)
    (tmp_path / "visits.yaml").write_text(yaml.safe_dump(content))
    result = fedbench("run", "visits.yaml", "-a", "fedavg[cohort_size=3]", cwd=tmp_path)
    assert result.returncode == 0, f"README:\n{block}\n{result.stderr}"


def test_there_are_blocks_of_every_kind() -> None:
    assert len(PYTHON) == 3
    assert len(COMMANDS) >= 15


def test_other_lines_name_targets_that_exist() -> None:
    targets = set(re.findall(r"^([a-z0-9]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for line in LINES:
        if line not in COMMANDS:
            words = shlex.split(line, comments=True)
            assert words == [".", ".venv/bin/activate"] or (words[0] == "make" and words[1] in targets), f"README: {line}"


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "ARCHITECTURE.md"])
def test_verbs_and_targets_in_sentences_exist(page: str) -> None:
    text = (ROOT / page).read_text()
    verbs = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    targets = set(re.findall(r"^([a-z0-9]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert {verb for verb in re.findall(r"`fedbench ([a-z]+)", text) if verb not in verbs} == set()
    assert {target for target in re.findall(r"`make ([a-z0-9]+)", text) if target not in targets} == set()


def test_links_lead_somewhere() -> None:
    links = [link for link in re.findall(r"\]\(([^)]+)\)", README) if not link.startswith("http")]
    assert [link for link in links if not (ROOT / link).exists()] == []
