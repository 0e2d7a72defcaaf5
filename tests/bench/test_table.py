"""The table in a page, and that the one of the documentation is made of the saved rows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fedbench.bench import table
from fedbench.bench.report import Row, load
from fedbench.errors import UsageError

ROOT = Path(__file__).resolve().parents[2]
WHERE = {
    "cpu": "a CPU",
    "cores": 2,
    "instruction_set": "avx2",
    "libraries": {"jax": "1.0", "numpy": "2"},
    "rounds": 9,
    "commit": "c" * 40,
}
SLOW = Row("case", "loop", 8.0, 7.0, 9.0, 2e5, 1.6e6, 1, "torch", "", 6.5, 9.5, None, 4.0)
FAST = Row("case", "jax", 3.0, 2.9, 3.1, 2e5, 6e5, 1, "jax", "", 2.5, 3.5, 1.25, 4.0)
ABSENT = Row("case", "pfl", None, None, None, None, None, 1, "pfl", "skipped: pfl is not installed")


def test_what_was_asked_stands_beside_the_fastest() -> None:
    assert table.cells([SLOW, FAST, ABSENT]) == [
        ("case", "200 ms", "loop", "1.6 s", "8 (6.5 to 9.5)", ""),
        ("case", "200 ms", "jax", "600 ms, after compiling for 1.2 s", "3 (2.5 to 3.5)", "4: not reached"),
        ("case", "", "pfl", "skipped: pfl is not installed", "", ""),
    ]
    assert table.cells([SLOW])[0][-1] == "4: reached"


def test_the_calibration_is_no_rival() -> None:
    assert table.cells([replace(FAST, versus="calibration"), SLOW]) == table.cells([SLOW])


def test_the_machine_is_named() -> None:
    assert table.about(WHERE) == "a CPU, 2 cores, avx2, jax 1.0; medians of 9 rounds in turns, at commit cccccccccc"
    assert table.about({**WHERE, "load": 2.04}).endswith("at commit cccccccccc, under a load of 2.0")


def test_a_table_takes_the_place_of_the_one_before(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"above\n{table.BEGIN}\n{table.END}\nbelow\n")
    for _ in range(2):
        table.put(page, table.markdown([FAST], WHERE))
    text = page.read_text()
    assert text.startswith(f"above\n{table.BEGIN}\na CPU, 2 cores")
    assert text.endswith(f"4: not reached |\n{table.END}\nbelow\n")
    assert text.count("a CPU") == 1


@pytest.mark.parametrize("text", ["nothing", table.BEGIN, f"{table.END}\n{table.BEGIN}"])
def test_a_page_without_marks_is_named_and_stays(text: str, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(text)
    with pytest.raises(UsageError, match=r"table .*page\.md: expected the lines <!-- fedbench bench --table -->"):
        table.put(page, "new")
    assert page.read_text() == text


def test_the_documentation_shows_the_saved_rows() -> None:
    shown = (ROOT / "docs/learn/speed.md").read_text().partition(f"{table.BEGIN}\n")[2].partition(f"\n{table.END}")[0]
    assert shown == table.markdown(*load(ROOT / "results/whole-runs.json"))
