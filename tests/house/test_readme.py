"""README is short, and what it names exists. `test_pages` runs its code, and compares what it
prints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import typer.main

from fedbench.cli.main import app

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()


def test_it_is_short() -> None:
    assert len(README.splitlines()) <= 120


def test_an_algorithm_is_ten_lines() -> None:
    (block,) = re.findall(r"# damped.py\n(.*?)```", README, re.DOTALL)
    body = block[block.index("@dataclass") :]
    assert len([line for line in body.splitlines() if line.strip()]) <= 10


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "AGENTS.md"])
def test_verbs_and_targets_in_sentences_exist(page: str) -> None:
    text = (ROOT / page).read_text()
    verbs = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    targets = set(re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert {verb for verb in re.findall(r"`fedbench ([a-z]+)", text) if verb not in verbs} == set()
    assert {target for target in re.findall(r"(?:`|\$ )make ([a-z0-9-]+)", text) if target not in targets} == set()


FINDINGS = " ".join((ROOT / "results/findings.md").read_text().split())
VERDICTS = " ".join((ROOT / "docs/papers/README.md").read_text().split())


@pytest.mark.parametrize(
    ("sentence", "source", "where"),
    [
        ("9,094 runs at 78 kinds", "9,094 runs (9,094 finished) of 42 algorithms", FINDINGS),
        ("9,970 runs of 42 algorithms", "9,970 runs (9,970 finished) of 42 algorithms", FINDINGS),
        (
            "Two halves of the seeds agree on the cheapest algorithm in 55 % of all splits",
            "Two halves of the seeds agree on the cheapest algorithm in 55 % of all splits",
            FINDINGS,
        ),
        (
            "31 were measured: 0 are reproduced, 4 are close, 11 are contradicted, and 16 are not decided",
            "31 measured again: 0 reproduced, 4 close, 16 not decided, 11 contradicted.",
            VERDICTS,
        ),
        ("Of 249 printed results", "print 249 results", VERDICTS),
    ],
)
def test_its_numbers_are_measured(sentence: str, source: str, where: str) -> None:
    """Every number of README stands on the page that is made of the records."""
    assert sentence in " ".join(README.split())
    assert source in where
