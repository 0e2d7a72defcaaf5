"""What the page says of another network is found again, by foreign code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.suites.mapped.carried_again import carried

RESULTS = Path(__file__).resolve().parents[3] / "results"
WORDS = {"virtual time": "seconds", "gradient evaluations": "gradient_evaluations", "traffic": "bytes"}


@pytest.mark.slow
def test_what_holds_with_another_network_is_found_again() -> None:
    """Tau, the cost of the first of the map, and every point at which it is too dear."""
    text = (RESULTS / "findings.md").read_text(encoding="utf-8")
    chapter = re.search(r"^### What holds in map-cnn\n.*?(?=^##)", text, re.M | re.S)
    assert chapter is not None
    said = {
        axis: (int(points), tau, regret, int(count))
        for axis, points, tau, regret, count in re.findall(
            r"^\| (.+?) \| (\d+) \| (-?[\d.]+) \[.*?\| .*? \| (?:≥ )?([\d.]+) \[.*?\| (\d+) of \d+ \|$", chapter[0], re.M
        )
    }
    lines = dict(re.findall(r"^(\w.*?), where the first.*?:\n\n((?:- .*\n)+)", chapter[0], re.M))
    found = carried(RESULTS, "map", "map-cnn")
    assert said.keys() == WORDS.keys()
    for words, axis in WORDS.items():
        points, tau, regret, missed = found[axis]
        assert said[words] == (points, f"{tau:.2f}", f"{regret:.2f}", len(missed))
        shown = dict(re.findall(r"- (\S+) \(.*?\): (.*)", lines[words.capitalize()]))
        assert shown == missed
