"""What stands beside the code is true of it: the description of the results, the paper, the
version."""

from __future__ import annotations

import json
import re
from importlib.metadata import version
from pathlib import Path

import pytest
import yaml

import fedbench
from fedbench.bibliography import bibtex
from fedbench.extras import DISTRIBUTION
from fedbench.kernels.build import build_info

from . import croissant

ROOT = Path(__file__).resolve().parents[2]
PAPER = (ROOT / "paper/paper.md").read_text()
HEAD, BODY = PAPER.removeprefix("---\n").split("\n---\n")
WORDS = " ".join(BODY.split())


def test_the_description_of_the_results_is_of_these_files() -> None:
    """`python -m tests.house.croissant` writes it again."""
    assert json.loads(croissant.FILE.read_text()) == croissant.described()


def test_the_paper_has_the_parts_that_a_journal_asks_for() -> None:
    head = yaml.safe_load(HEAD)
    assert {"title", "tags", "authors", "affiliations", "date", "bibliography"} <= set(head)
    assert {one["affiliation"] for one in head["authors"]} <= {one["index"] for one in head["affiliations"]}
    sections = re.findall(r"^# (.*)$", BODY, re.MULTILINE)
    assert sections[:4] == ["Summary", "Statement of need", "State of the field", "Software design"]
    assert sections[-1] == "References"
    assert 750 <= len(BODY.split()) <= 1750


def test_the_papers_bibliography_is_ours() -> None:
    entries = (ROOT / "paper/paper.bib").read_text()
    cited = sorted(set(re.findall(r"@([a-z]+\d{4}[a-z0-9]*)", BODY)))
    assert entries == "\n\n".join(map(bibtex, cited)) + "\n"


FINDINGS = " ".join((ROOT / "results/findings.md").read_text().split())
VERDICTS = " ".join((ROOT / "docs/papers/README.md").read_text().split())


@pytest.mark.parametrize(
    ("sentence", "source", "where"),
    [
        ("print 249 results", "print 249 results", VERDICTS),
        (
            "31 were measured again under rules that were fixed beforehand: 0 were reproduced, 4 were close, 11 were contradicted, "
            "and 16 could not be decided",
            "31 measured again: 0 reproduced, 4 close, 16 not decided, 11 contradicted.",
            VERDICTS,
        ),
        ("9,970 runs of 42 algorithms", "9,970 runs (9,970 finished) of 42 algorithms, 10 seeds a row", FINDINGS),
        ("tuned with 17 trials", "Each algorithm was tuned with 17 trials", FINDINGS),
        (
            "always using FedAsync [@xie2019] costs at least 1.12 times (95 % interval 1.11 to 1.18) as much as the cheapest algorithm "
            "of each point, on average over 13 points",
            "always using `fedasync` costs ≥ 1.12 [1.11, 1.18] times as much as the cheapest algorithm of each point, "
            "on average over 13 points",
            FINDINGS,
        ),
        (
            "takes 0.32 times the seconds of the cheapest with 10 at work, and 4.5 times the gradients, on average over 13 points",
            "takes 0.32 times the seconds of the cheapest with 10 clients at work, and 4.5 times the gradients, on average over 13 points",
            FINDINGS,
        ),
        ("a ratio of 1.24 with a probability of 80 %", "a ratio of 1.24 with a probability of 80 %", FINDINGS),
        ("from 9,094 runs at 78 points", "9,094 runs (9,094 finished) of 42 algorithms", FINDINGS),
        ("is 0.51 by time, where 0.20 was allowed", "It is to be at most 0.20", FINDINGS),
        ("is 0.51 by time, where 0.20 was allowed", "| virtual time | 0.51 |", FINDINGS),
        (
            "agree on the cheapest algorithm in 55 % of all splits",
            "agree on the cheapest algorithm in 55 % of all splits",
            FINDINGS,
        ),
    ],
)
def test_the_papers_numbers_are_measured(sentence: str, source: str, where: str) -> None:
    """Every number of the paper stands on the page that is made of the records."""
    assert sentence in WORDS
    assert source in where


MADE = " ".join((ROOT / "docs/learn/how-the-map-was-made.md").read_text().split())


@pytest.mark.parametrize(
    ("sentence", "source"),
    [
        ("9,094 runs are made, and all of them finished", "9,094 runs (9,094 finished)"),
        (
            "is 0.51 where 0.20 was allowed, 0.56 by gradients and 0.84 by bytes. The nearest point of the design does as well by time "
            "(0.50)",
            "| virtual time | 0.51 | 0.50 | 0.57 | 5 | 7 of 12 | **does not predict** | | gradient evaluations | 0.56 | 0.64 | 0.56 | 4 | "
            "4 of 12 | **does not predict** | | traffic | 0.84 | 1.03 | 0.84 | 6 | 4 of 12 | **does not predict** |",
        ),
        ("70 % of all runs miss a target", "70 % of the runs miss a target"),
        ("most of 41 need more", "41 algorithms at 60 points"),
    ],
)
def test_what_came_out_of_the_map_is_in_the_findings(sentence: str, source: str) -> None:
    assert sentence in MADE
    assert source in FINDINGS


@pytest.mark.parametrize(("file", "share"), [("kept", "28 %"), ("kept-tuned", "89 %")])
def test_how_often_a_race_keeps_the_best_is_as_it_was_run(file: str, share: str) -> None:
    found = [json.loads(line) for line in (ROOT / f"results/race/{file}.jsonl").read_text().splitlines()]
    assert [one["repeat"] for one in found] == [*range(10)]
    assert all(all(one["kept"].values()) for one in found)
    assert f"{sum(one['share'] for one in found) / 10:.0%}".replace("%", " %") == share
    page = " ".join((ROOT / "docs/learn/race.md").read_text().split())
    assert page.count("10 of 10 repeats") == 2
    assert f"with {share} of the runs" in page


def test_one_version_everywhere() -> None:
    """Of an installation, and of what was released last: CMake, the citation, the changelog."""
    assert build_info()["version"] == fedbench.__version__ == version(DISTRIBUTION)
    cmake = re.search(r"project\(fedbench VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())
    heading = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert cmake is not None
    assert heading is not None
    assert cmake[1] == yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"] == heading[1]


NUMBERED = re.compile(r"#L\d|\.(?:py|cpp|h|hpp|cu|yaml)`?(?:\]\([^)]*\))?(?::|,? lines? )\d")
"""A line of a file by its number, which the next change of the file makes another line."""


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "papers").glob("*.md")), ids=lambda page: page.stem)
def test_pages_of_papers_quote_lines_without_their_numbers(page: Path) -> None:
    assert NUMBERED.findall(page.read_text()) == []


def test_numbers_of_lines_are_found() -> None:
    for text in ("[x](../../fedbench/x.py#L12)", "fedbench/x.py:12", "`csrc/x.cpp`, lines 3 to 4", "[x.py](../x.py), line 7"):
        assert NUMBERED.search(text), text
    assert not NUMBERED.search("Alg. 1 line 11; [rules.py](../../fedbench/papers/rules.py), which was committed")
