"""The pages of the documentation: their code runs, and prints what they show."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from . import pages

ROOT = pages.ROOT
FOLDERS = (ROOT / "docs", ROOT / "docs/learn", ROOT / "docs/reference")
ALL = [ROOT / "README.md", *(page for folder in FOLDERS for page in sorted(folder.glob("*.md")))]
SLOW = {
    "README",
    "get-started",
    "local-training",
    "tune-fairly",
    "compare",
    "own-algorithm",
    "own-data",
    "own-metric",
    "own-model",
    "own-suite",
    "race",
    "read-a-record",
    "determinism",
    "review-a-claim",
}
MARKED = [pytest.param(page, id=page.stem, marks=[pytest.mark.slow] if page.stem in SLOW else []) for page in ALL]


@pytest.mark.parametrize("page", MARKED)
def test_code_runs_and_prints_what_the_page_shows(page: Path, tmp_path: Path) -> None:
    wrong = [said for said in pages.run(page, tmp_path) if not said.is_right]
    assert wrong == [], "\n".join(f"{page.name}:{one.line}: {one.command}\n{one.printed}" for one in wrong)


@pytest.mark.parametrize("page", ALL, ids=lambda page: page.stem)
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    made = {"../figures/index.rst"}
    assert [link for link in links if link not in made and not (page.parent / link).exists()] == []


def test_every_page_is_in_a_table_of_contents() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in ALL if "toctree" in page.read_text(encoding="utf-8"))
    known = {
        Path(line.rpartition("<")[2].rstrip(">")).stem
        for block in re.findall(r"```\{toctree\}\n(.*?)```", text, re.DOTALL)
        for line in block.splitlines()
    }
    assert {page.stem for page in ALL} - known - {"index", "README"} == set()


@pytest.mark.parametrize(
    ("expected", "printed", "is_right"),
    [
        ("", "anything", True),
        ("a\n", "a  \n", True),
        ("a", "b", False),
        ("a ... d\n", "a b\nc d\n", True),
        ("a ...", "b a", False),
        ("?", "a", False),
        ("...", "error: unknown case", False),
    ],
)
def test_what_is_printed_matches(expected: str, printed: str, is_right: bool) -> None:
    assert pages.matches(expected, printed) is is_right


PAGE = """# Title

```console
$ echo one
two
$ echo three \\
    four
three four
```

```python
# here.py
x = 5
```

```python
from here import x
print(x)
```
```text
6
```

```console
$ false
```
"""


@pytest.fixture(name="page")
def _page(tmp_path: Path) -> Path:
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    return page


def test_blocks_run_in_one_folder_and_what_differs_is_named(page: Path, tmp_path: Path) -> None:
    told = list(pages.run(page, tmp_path))
    assert [(one.line, one.is_right) for one in told] == [(4, False), (6, True), (16, True), (20, False), (25, False)]
    assert told[3].printed == "5\n"


def test_a_page_is_mended_with_what_was_printed(page: Path, tmp_path: Path) -> None:
    mended = pages.fixed(PAGE, list(pages.run(page, tmp_path)))
    assert mended == PAGE.replace("two\n", "one\n").replace("6\n", "5\n")


@pytest.mark.parametrize("block", ["```ruby\nputs 1\n```", "```sh\nls\n```"])
def test_a_block_that_is_not_run_needs_a_reason(block: str, page: Path, tmp_path: Path) -> None:
    page.write_text(block)
    with pytest.raises(ValueError, match=r"a block (of kind ruby|that is not run)"):
        list(pages.run(page, tmp_path))


def test_keys_that_no_scenario_has_are_found(page: Path, tmp_path: Path) -> None:
    page.write_text("```yaml\nclientz: 5\n```")
    with pytest.raises(ValueError, match="clientz"):
        list(pages.run(page, tmp_path))
