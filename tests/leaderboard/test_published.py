"""The published page is what the published records give, to the byte."""

from __future__ import annotations

import json
from pathlib import Path

from fedbench.leaderboard import build, check
from fedbench.results.store import Store

RESULTS = Path(__file__).resolve().parents[2] / "results"


def test_the_published_page_is_of_the_published_records(tmp_path: Path) -> None:
    published = RESULTS / "leaderboard"
    assert check(published) == []
    given = json.loads((published / "data.json").read_text())
    build(Store(RESULTS / "records"), tmp_path, title=given["title"], note=given["note"], axis=given["axis"]["name"])
    for file in sorted(tmp_path.iterdir()):
        assert file.read_bytes() == (published / file.name).read_bytes(), f"{file.name}: build results/leaderboard again"
