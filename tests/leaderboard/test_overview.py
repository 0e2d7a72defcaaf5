"""The front page of a suite, and the site around it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from fedbench.errors import UsageError
from fedbench.leaderboard import check, write
from fedbench.leaderboard.form import problem
from fedbench.leaderboard.pages import overview
from fedbench.leaderboard.pages.frame import Site
from fedbench.results.record import Record
from tests.leaderboard.reading import Page
from tests.leaderboard.suite import DOCUMENT, full

Make = Callable[..., Record]


def test_the_page_says_it_without_colour_and_escapes_texts(record: Make) -> None:
    documents = [full(record), full(record, "other")]
    page = overview.render(Site(documents), documents[0])
    assert "<code>a</code> is first; &lt;b&gt;never&lt;/b&gt; run." in page
    assert '<span class="hidden">first, like for like: </span><a href="made-up/calm/fast-tuned.html">10.0</a>' in page
    assert '<span class="hidden">first: </span><a href="made-up/calm/crowd-tuned.html">5.0</a>' in page
    assert "<code>fast</code>." in page
    assert "<strong>First</strong> is the earliest." in page
    assert "Left out, no run: untried at calm." in page
    assert "Published options" not in page, "there is no such board"
    assert '<a href="other.html">other</a>' in page
    assert "18 runs" in page, "six rows of three runs each, none counted twice"


def test_every_page_is_there_and_links_to_what_is_there(record: Make, tmp_path: Path) -> None:
    asv = {"machines": [{"label": "m", "cpu": "c", "commits": ["ab", "cd"], "days": ["2026-01-01", "2026-01-02"], "cases": [
        {"name": "sum", "values": [2e-3, 1e-3]}, {"name": "once", "values": [None, 1.0]}]}]}  # fmt: skip
    changed = [{"date": "2026-01-01", "text": "`a` came."}, {"date": "2026-01-02", "text": "<b>went</b>."}]
    index = write([full(record), full(record, "other")], tmp_path, asv=asv, changed=changed)
    assert index == tmp_path / "index.html"
    assert check(tmp_path) == []
    pages = sorted(tmp_path.rglob("*.html"))
    assert len(pages) == 2 + 4 + 12 + 5 + len(("algorithms", "table", "compare", "rules", "speed", "changes"))
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


def test_names_are_addresses(record: Make, tmp_path: Path) -> None:
    for documents in ([], [full(record)] * 2, [full(record, "rules")], [full(record, "../up")], [full(record, "A b")]):
        with pytest.raises(UsageError, match="expected names of lower case letters"):
            write(documents, tmp_path / "site")
    assert not (tmp_path / "site").exists()


def test_the_scripts_have_what_the_pages_say(record: Make, tmp_path: Path) -> None:
    write([full(record)], tmp_path)
    text = (tmp_path / "data" / "rows.js").read_text()
    found = json.loads(re.fullmatch(r"window\.fedbench = (.*);\n", text, re.DOTALL)[1])  # type: ignore[index]
    rows = {row["id"]: row for values in found["rows"] if (row := dict(zip(found["fields"], values, strict=True)))}
    assert len(rows) == 6
    crowd = rows["made-up/calm/crowd/tuned"]
    assert (crowd["seconds"], crowd["first"], crowd["like_for_like"]) == (5, True, False)
    assert crowd["seconds_by_seed"] == {str(seed): 5 for seed in range(10)}
    assert rows["made-up/calm/pooled/tuned"]["place"] is None
    assert found["factors"]["1"]["3"] == pytest.approx(4.30265), "Student's t with 2 degrees of freedom at 97.5 %"
    assert found["factors"]["3"]["3"] == pytest.approx(7.6488, abs=0.001), "three pairs, as on the board, hold together"
    assert (crowd["pairs"], crowd["every_seconds"]) == (3, 1.0), "the pooled row is not ranked"
    curves = (tmp_path / "data" / "curves" / "made-up" / "calm.js").read_text()
    assert curves.startswith('window.fedbenchCurves("made-up/calm", {"crowd/tuned":{"at":[0.0,5.0,10.0,15.0]')


def test_a_point_on_a_logarithmic_grid(record: Make, tmp_path: Path) -> None:
    """It has a quotient in the place of a distance, and the scripts get both."""
    points = [one | {"every_seconds": None, "ratio": 1.05} for one in DOCUMENT["points"]]
    document = full(record, points=points)
    assert problem(json.loads(json.dumps(document)), "document") == ""
    write([document], tmp_path)
    assert check(tmp_path) == []
    text = (tmp_path / "data" / "rows.js").read_text()
    found = json.loads(re.fullmatch(r"window\.fedbench = (.*);\n", text, re.DOTALL)[1])  # type: ignore[index]
    rows = [dict(zip(found["fields"], values, strict=True)) for values in found["rows"]]
    assert {(row["every_seconds"], row["ratio"]) for row in rows} == {(None, 1.05)}


def test_points_without_a_board_have_no_shades(record: Make) -> None:
    one = full(record, boards={**DOCUMENT["boards"], "tuned": {**DOCUMENT["boards"]["tuned"], "rough": []}})
    page = overview.render(Site([one]), one)
    assert "no row" in page
