"""The documentation in a site: copied as it is, and seen if it was changed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import ValidationError
from typer.testing import CliRunner

from fedbench.cli.leaderboard import app
from fedbench.documents.site import Content
from fedbench.errors import UsageError
from fedbench.leaderboard import documentation
from fedbench.leaderboard.site import check, write
from fedbench.results.record import Record
from tests.leaderboard.suite import full

Make = Callable[..., Record]


@pytest.fixture(name="built")
def _built(tmp_path: Path) -> Path:
    """As Sphinx leaves it, with what it remembers."""
    folder = tmp_path / "built"
    for name, content in {
        "learn/index.html": b"<p>learn</p>", "reference/index.html": b"<p>reference</p>", "_static/a.png": b"\x89PNG\xff",
        ".buildinfo": b"x", ".doctrees/index.doctree": b"x", "learn/.hidden": b"x",
    }.items():  # fmt: skip
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def test_files_are_copied_and_linked_from_every_page(record: Make, built: Path, tmp_path: Path) -> None:
    docs = documentation.read(built)
    assert sorted(docs) == ["_static/a.png", "learn/index.html", "reference/index.html"]
    site = tmp_path / "site"
    write([full(record)], site, docs=docs)
    assert check(site) == []
    for name, content in docs.items():
        assert (site / "docs" / name).read_bytes() == content
        assert f"docs/{name}" in json.loads((site / "data" / "files.json").read_text())
    assert '<a href="docs/learn/index.html">Learn</a>' in (site / "index.html").read_text()
    assert '<a href="../docs/reference/index.html">Reference</a>' in (site / "made-up" / "calm.html").read_text()


def test_what_was_changed_or_is_missing_is_named(record: Make, built: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    write([full(record)], site, docs=documentation.read(built))
    (site / "docs/learn/index.html").write_text("<p>other</p>")
    (site / "docs/_static/a.png").unlink()
    (site / "docs/learn/more.html").write_text("<p>more</p>")
    changed, missing, foreign = sorted(check(site), key=lambda line: ("more" in line, "a.png" in line))
    assert changed.endswith("docs/learn/index.html: not the file that was copied here; build the leaderboard again")
    assert "docs/_static/a.png: cannot be read" in missing
    assert foreign.endswith("docs/learn/more.html: a page that the data do not give")


def test_files_that_are_no_more_are_removed(record: Make, built: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    write([full(record)], site, docs=documentation.read(built))
    write([full(record)], site)
    assert check(site) == []
    assert [path for path in site.rglob("*") if path.is_file() and "docs" in path.parts] == []
    assert "Learn" not in (site / "index.html").read_text()


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["suites", "smoke", "--docs", str(tmp_path / "none")])
    assert isinstance(done.exception, UsageError)
    assert "without learn/index.html; `make docs` builds it" in str(done.exception)


@pytest.mark.parametrize("page", documentation.PAGES)
def test_a_folder_without_the_pages_is_refused(page: str, built: Path) -> None:
    (built / page).unlink()
    with pytest.raises(UsageError, match=rf"docs .*: expected the built documentation, got a folder without {page}; `make docs`"):
        documentation.read(built)


def test_too_many_files_and_what_is_no_file(built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (built / "learn" / "more.html").symlink_to("/dev/zero")
    with pytest.raises(UsageError, match=r"docs .*more\.html: cannot be read: it is no plain file"):
        documentation.read(built)
    monkeypatch.setattr(documentation, "MOST", 3)
    with pytest.raises(UsageError, match="expected at most 3 files, got 4"):
        documentation.read(built)


@pytest.mark.parametrize("path", ["../up.html", "/root.html", "a/../b", ".hidden", "a//b", "a/.b", "", "a\\b"])
def test_paths_stay_in_the_folder(path: str) -> None:
    def content(docs: dict[str, str]) -> Content:
        return Content(schema=6, documents=("a",), docs=docs)

    assert content({"learn/index.html": "0" * 64}).docs
    for docs in ({path: "0" * 64}, {"a": "x"}):
        with pytest.raises(ValidationError, match="docs\\."):
            content(docs)
