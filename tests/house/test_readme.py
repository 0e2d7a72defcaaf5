"""What README shows runs as it stands."""

from __future__ import annotations

import itertools
import re
import shlex
from pathlib import Path

import matplotlib as mpl
import pytest

from fedbench import registry
from fedbench.bench import select
from fedbench.scenarios.load import load

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()


@pytest.mark.parametrize("block", re.findall(r"```python\n(.*?)```", README, re.DOTALL), ids=["run", "own algorithm"])
def test_python_blocks(block: str) -> None:
    mpl.use("Agg")
    names: dict[str, object] = {"__name__": "readme"}
    exec(compile(block, "README.md", "exec", dont_inherit=True), names)
    assert len(names["records"]) in (2, 4)  # type: ignore[arg-type]
    assert len([line for line in block.splitlines() if line.strip()]) <= 30


def test_commands_name_things_that_exist() -> None:
    commands = [shlex.split(line.strip(), comments=True) for line in README.splitlines() if line.startswith("    fedbench ")]
    assert len(commands) >= 7
    for command in commands:
        for option, value in itertools.pairwise(command):
            if option == "-a":
                registry.algorithm(value)
        if command[1] in ("plan", "run"):
            load(command[2])
        if command[1] == "bench":
            assert select(group=command[command.index("--group") + 1])
