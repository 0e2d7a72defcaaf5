"""The front page of a suite, and the site around it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from fedbench.documents.site import Beside
from fedbench.documents.suite import Document, rows_at
from fedbench.errors import UsageError
from fedbench.leaderboard.pages import overview
from fedbench.leaderboard.pages.frame import Site
from fedbench.leaderboard.site import check, write
from fedbench.results.record import Record
from tests.leaderboard.reading import Page
from tests.leaderboard.suite import CONTENT, full

Make = Callable[..., Record]


def test_the_page_says_it_without_colour_and_escapes_texts(record: Make) -> None:
    documents = [full(record), full(record, "other")]
    page = overview.render(Site(documents), documents[0])
    assert "<code>a</code> costs least; &lt;b&gt;never&lt;/b&gt; run." in page
    assert '<span class="hidden">in the set of the best: </span>1.00<small class="interval">' in page
    assert '≥ 4.10<small class="interval">[3.28, ∞]</small>' in page
    assert '<a href="made-up/calm/fast-tuned.html"><strong>fast</strong></a> <span class="whole">10.0 s</span>' in page
    assert '<small>or <span class="whole">near 1.10</span></small>' in page
    assert page.index('id="decisions-title"') < page.index("<code>a</code> costs least") < page.index('id="tuned-title"')
    assert "<strong>Regret</strong> is a ratio." in page
    assert "Left out, no run: untried at calm." in page
    assert "Default options" not in page, "there is no such board"
    assert '<a href="other.html">other</a>' in page
    assert "runs, 27 on boards" in page, "nine rows of three runs each, none counted twice"


def test_every_page_is_there_and_links_to_what_is_there(record: Make, tmp_path: Path) -> None:
    rivals = {"about": "on a CPU", "head": ["case", "ratio"], "rows": [["sum", "<3"]]}
    days = ["2026-01-01", "2026-01-02"]
    cases = [{"name": "sum", "values": [2e-3, 1e-3]}, {"name": "once", "values": [None, 1.0]}]
    speed = {"rivals": rivals, "machines": [{"label": "m", "cpu": "c", "commits": ["ab", "cd"], "days": days, "cases": cases}]}
    changed = [{"date": "2026-01-01", "text": "`a` came."}, {"date": "2026-01-02", "text": "<b>went</b>."}]
    beside = Beside.model_validate({"speed": speed, "changes": changed})
    index = write([full(record), full(record, "other")], tmp_path, beside=beside)
    assert index == tmp_path / "index.html"
    assert check(tmp_path) == []
    pages = sorted(tmp_path.rglob("*.html"))
    assert len(pages) == 2 + 4 + 18 + 7 + len(("algorithms", "table", "compare", "rules", "speed", "changes"))
    for page in pages:
        text = page.read_text()
        read = Page(text)
        for tag, attribute in (("a", "href"), ("link", "href"), ("script", "src")):
            for address in {at[attribute] for at in read.attributes(tag) if attribute in at}:
                path = address.partition("#")[0]
                assert not path or path.startswith("https://") or (page.parent / path).is_file(), f"{page}: {address}"
        idents = [at["id"] for _, at in read.tags if "id" in at]
        assert len(idents) == len(set(idents)), page
        assert 'aria-current="page"' in text or page.parent != tmp_path, "a page of the way around says where one is"
    assert "&lt;b&gt;went" in (tmp_path / "changes.html").read_text()
    assert "now 1 ms, at first 2 ms" in (tmp_path / "speed.html").read_text()
    assert "<td>sum</td><td>&lt;3</td>" in (tmp_path / "speed.html").read_text()


def test_names_are_addresses(record: Make, tmp_path: Path) -> None:
    def renamed(name: str) -> Document:
        return full(record).model_copy(update={"name": name})

    for documents in ([], [full(record)] * 2, [full(record, "rules")], [renamed("../up")], [renamed("A b")]):
        with pytest.raises(UsageError, match="expected names of lower case letters"):
            write(documents, tmp_path / "site")
    assert not (tmp_path / "site").exists()


def test_the_scripts_have_what_the_pages_say(record: Make, tmp_path: Path) -> None:
    write([full(record)], tmp_path)
    text = (tmp_path / "data" / "rows.js").read_text()
    found = json.loads(re.fullmatch(r"window\.fedbench = (.*);\n", text, re.DOTALL)[1])  # type: ignore[index]
    rows = {row["id"]: row for values in found["rows"] if (row := dict(zip(found["fields"], values, strict=True)))}
    assert len(rows) == 9
    slow, pooled = rows["made-up/calm/slow/tuned"], rows["made-up/calm/pooled/tuned"]
    assert (slow["system"], slow["cost"], slow["is_bound"], slow["in_set"]) == ("10 clients at work", 41, True, False)
    assert slow["regret"] == [4.1, 3.28, None]
    near = rows["made-up/calm/near/tuned"]
    assert near["against"] == ["f", ["= 0.27 [0.21, 0.32]"]], "of its own system, with the rows that follow"
    assert slow["against"] == ["", []]
    words = {name: dict(zip(rows, texts, strict=True)) for name, texts in found["words"].items()}
    assert [words[name]["made-up/calm/slow/tuned"] for name in ("cost", "regret", "in_set")] == [
        "≥ 41.0 s",
        "≥ 4.10 [3.28, ∞]",
        "no",
    ]
    assert words["regret"]["made-up/calm/pooled/tuned"] == "–"
    assert {one["name"] for one in found["columns"] if one["target"] is None} <= set(found["fields"])
    assert set(found["words"]) <= {one["name"] for one in found["columns"]} | {"targets"}, "no text is without a column"
    assert (pooled["system"], pooled["regret"], pooled["standing"]) == ("not compared", None, "reference")
    assert [row["algorithm"] for row in rows.values()][:6] == ["fast", "near", "slow", "crowd", "mob", "pooled"]
    curves = (tmp_path / "data" / "curves" / "made-up" / "calm.js").read_text()
    assert curves.startswith('window.fedbenchCurves("made-up/calm", {"crowd/tuned":{"at":[0.0,5.0,10.0,15.0]')


def test_a_point_on_a_logarithmic_grid(record: Make, tmp_path: Path) -> None:
    """It has a quotient in the place of a distance."""
    points = [one | {"every_seconds": None, "ratio": 1.05} for one in CONTENT["points"]]
    write([full(record, points=points)], tmp_path)
    assert check(tmp_path) == []


def test_points_without_a_board_have_no_shades(record: Make) -> None:
    one = full(record, **{
        part: {**CONTENT[part], "tuned": {**CONTENT[part]["tuned"], "rough": []}} for part in ("boards", "groups")
    })  # fmt: skip
    page = overview.render(Site([one]), one)
    assert "no row" in page


def test_many_rows_are_counted_by_their_names() -> None:
    rows = [f"{name} at point-{k}" for k in range(31) for name in ("a [x at y]", "b")]
    assert rows_at(rows[:2]) == "a [x at y] at point-0, b at point-0"
    assert rows_at(rows[:60]).startswith("a [x at y] at point-0, b at point-0, ")
    assert rows_at(rows[:61]) == "a [x at y] at 31 points, b at 30 points"
