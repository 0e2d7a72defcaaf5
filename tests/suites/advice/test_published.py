"""What pages say of the test of advice is what came out of it."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from fedbench.results import archive
from tests.suites.advice import acceptance

ROOT = Path(__file__).resolve().parents[3]
KEPT = ROOT / "results/advice"
TOLD = (KEPT / "told.txt").read_text().splitlines()
MADE = "docs/learn/how-the-map-was-made.md"
FORTY, LAST = TOLD[:40], "\n".join(TOLD[50:])


def _words(page: str) -> str:
    return " ".join((ROOT / page).read_text().split())


@pytest.mark.parametrize(
    ("page", "sentence", "source"),
    [
        (
            MADE,
            "At 26 of the forty scenarios one of the five named is within 10 % of the best (48 to 79 %)",
            "all: 26 of 40 named sets have a row within 10 % of the best (48 to 79 %)",
        ),
        (MADE, "15 of the 25 on the map, and 11 of the 15 off it", "on the map: 15 of 25 named sets"),
        (MADE, "15 of the 25 on the map, and 11 of the 15 off it", "off the map: 11 of 15 named sets"),
        (
            MADE,
            "1.88 times as much as the best (the median; 1.14 to no bound)",
            "median cost of the first over the best 1.880 (1.141 to inf); 9 where nobody holds every target",
        ),
        (MADE, "where 36 were asked for", "advice does not hold: expected 36 of 40, and 1.10"),
        (MADE, "At nine of the 14 others no algorithm holds every target", "9 where nobody holds every target"),
        (
            MADE,
            "are good at 20 of the forty, and five drawn by chance at 9.6",
            "the same five everywhere: 20 of 40; five drawn by chance: 9.6 of 40 expected",
        ),
        (
            MADE,
            "are good at nine scenarios, only the same five everywhere at three. Chance alone splits them so, or further, in 15 %",
            "only the five named: 9; only the same five everywhere: 3 (sign test: p = 0.146)",
        ),
        (MADE, "at ten of ten scenarios", "everybody at work: 10 of 10 named sets"),
        (MADE, "By gradients and by bytes it is 22 of forty each", "bytes: 22 of 40 named sets"),
        (MADE, "By gradients and by bytes it is 22 of forty each", "gradient_evaluations: 22 of 40 named sets"),
        (MADE, "77 of 104 measured ratios lie between them", "77 of 104 printed ratios"),
        (
            "docs/learn/choose-an-algorithm.md",
            "at 26 one of the five named was within 10 % of the best (48 to 79 %), where 36 were asked for. The same five algorithms "
            "everywhere would have been good at 20",
            "all: 26 of 40 named sets have a row within 10 % of the best (48 to 79 %)",
        ),
        ("README.md", "at 26 of 40 new ones, one of its five is within 10 % of the best", "all: 26 of 40 named sets"),
        (
            "paper/paper.md",
            "one of them was within 10 % of the best at 26 (95 % interval 48 to 79 %), where 36 were asked for; the same five "
            "everywhere were at 20",
            "all: 26 of 40 named sets have a row within 10 % of the best (48 to 79 %)",
        ),
        (
            "results/changes.yaml",
            "at 26 (48 to 79 %), where 36 were asked for, and the first named costs 1.88 times",
            "(48 to 79 %); median cost of the first over the best 1.880",
        ),
        (
            "CHANGELOG.md",
            "within 10 % of the best at 26, not at 36. The same five everywhere are at 20",
            "the same five everywhere: 20 of 40",
        ),
    ],
)
def test_pages_say_what_came_out(page: str, sentence: str, source: str) -> None:
    assert sentence in _words(page)
    assert source in LAST


def test_pages_say_where_advice_fails() -> None:
    """At five scenarios somebody holds every target, and nobody who was named is near."""
    missed = [line for line in FORTY if re.match(r" ?\d+  miss ", line)]
    assert (len(missed), sum("best nobody" in line for line in missed)) == (14, 9)
    wrong = [line.split()[0] for line in missed if "best nobody" not in line]
    assert wrong == ["1", "4", "6", "7", "28"]
    assert "At scenarios 1, 4, 6, 7 and 28 one does" in _words(MADE)
    nearest = min(re.findall(r" (\d\.\d{3})[,;]", FORTY[5]), key=float)
    assert f"At 6 the nearest named costs {float(nearest):.2f} times as much" in _words(MADE)


@pytest.mark.slow
@pytest.mark.fashion
def test_it_is_told_again_from_the_records(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The page's picture and numbers, without a run; nothing in the archive changes."""
    shutil.copytree(KEPT, tmp_path / "kept")
    picture = tmp_path / "advice.svg"
    acceptance.main([str(tmp_path / "runs"), "--keep", str(tmp_path / "kept"), "--picture", str(picture)])
    assert capsys.readouterr().out.splitlines() == TOLD
    assert picture.read_bytes() == (ROOT / "results/pictures/advice.svg").read_bytes()
    assert [one.run_id for one in archive.read(tmp_path / "kept")] == [one.run_id for one in archive.read(KEPT)]
    assert f"All {len(archive.read(KEPT)):,} runs" in _words("CHANGELOG.md")
