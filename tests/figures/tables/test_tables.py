"""Tables: escaped, with misses and lower bounds seen, and with all digits where they are for
machines."""

from __future__ import annotations

import csv
import io
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbench.analysis.board import Board
from fedbench.analysis.board_table import BoardLine, board_lines
from fedbench.figures.tables import csv as csv_module
from fedbench.figures.tables.board import over_points, over_targets
from fedbench.figures.tables.csv import COLUMNS, as_csv
from fedbench.figures.tables.latex import escaped, latex
from fedbench.figures.tables.markdown import markdown

ADVANTAGES = {"fast": ["public & free data"]}
HOSTILE = r"\input{/etc/passwd} $x_1^2$ 50 % # ~ & <b>|`*[a](b)`"


@pytest.fixture(name="lines")
def _lines(boards: dict[str, Board]) -> list[BoardLine]:
    return board_lines(boards, {"calm": boards["calm"]})


def of(row: str, point: str = "calm", **more: object) -> BoardLine:
    values: dict[str, object] = {
        "target": None, "mean": 12.34, "half_width": 0.56, "hits": 4, "attempts": 4, "median": None, "bytes": None, "place": 0,
        "first": False, "first_alike": None, "seeds": 2, "unfinished": 0,
    }  # fmt: skip
    return BoardLine(point=point, row=row, **values | more)  # type: ignore[arg-type]


def test_latex_has_booktabs_and_its_comments(lines: list[BoardLine]) -> None:
    text = latex(over_targets([line for line in lines if line.point == "calm"], ADVANTAGES), ["fedbench table", "suite s (abc)"])
    assert text.startswith("% fedbench table\n% suite s (abc)\n% Needs \\usepackage{booktabs}.\n")
    for rule in ("toprule", "midrule", "bottomrule"):
        assert text.count(rf"\{rule}") == 1
    assert r"fast\textsuperscript{1} & $\bullet$$\circ$~$2.4 \pm 0.4$ & " in text
    assert r"slow\_one & $12.4 \pm 0.4$ & " in text
    assert r"never & \multicolumn{2}{c}{miss 5/5}" in text
    assert r"\textsuperscript{1}~public \& free data." in text
    assert r"\textbf" not in text
    assert r"\multicolumn{2}{c}{80 \%}" in text
    assert "all targets" not in text  # of one


def test_a_mean_with_misses_is_a_lower_bound() -> None:
    grid = over_targets([of("a", hits=1), of("a", target=0.5), of("a", target=0.6, hits=0), of("b", half_width=None)], {})
    assert r"a & $\geq 12.3 \pm 0.6$ & miss 3/4 & $12.3 \pm 0.6$ &  & \multicolumn{2}{c}{miss 4/4} \\" in latex(grid, [])
    text = markdown(grid, [])
    assert "| a | ≥ 12.3 ± 0.6, miss 3/4 | 12.3 ± 0.6 | miss 4/4 |" in text
    assert "| b | 12.3 | – | – |" in text
    assert "≥ is a lower bound" in text


def test_points_side_by_side_and_references_last(lines: list[BoardLine]) -> None:
    more = [*lines, of("pooled", place=None), of("pooled", "rough", place=None)]
    grid = over_points(more, ["pooled", "fast", "slow_one", "never"], {})
    assert grid.heads == ("calm", "rough")
    assert [row.name for row in grid.rows] == ["fast", "slow_one", "never", "pooled"]
    text = markdown(grid, ["a --> b"])
    assert "| (pooled) | 12.3 ± 0.6 | 12.3 ± 0.6 |" in text
    assert "| never | miss 5/5 | – |" in text
    assert text.startswith("<!--\na -- b\n-->\n\n| algorithm | calm | rough |")
    assert "references" in text
    assert r"(pooled) & $12.3 \pm 0.6$ &  & $12.3 \pm 0.6$ &  \\" in latex(grid, [])


def test_a_wide_table_goes_on_below() -> None:
    grid = over_points([of("a", f"p{i}") for i in range(9)], ["a"], {})
    for letters, count in ((200, 1), (50, 3), (1, 9)):
        text = latex(grid, [], letters)
        assert text.count(r"\begin{tabular}") == count
        assert all(text.count(f"{{p{i}}}") == 1 for i in range(9))


def test_csv_has_all_digits_and_is_tidy(lines: list[BoardLine]) -> None:
    text = as_csv(lines, ["fedbench table"], ADVANTAGES)
    assert text.startswith("# fedbench table\n")
    rows = list(csv.DictReader(io.StringIO(text.partition("\n")[2])))
    assert tuple(rows[0]) == COLUMNS
    assert len(rows) == len(lines)
    for row, line in zip(rows, lines, strict=True):
        assert float(row["seconds"]) == line.mean
        assert float(row["half_width"]) == line.half_width
        assert (row["target"] == "") == (line.target is None)
        assert row["lower_bound"] == str(int(line.hits < line.attempts))
        assert row["first_like_for_like"] == ("" if line.point == "rough" else str(int(bool(line.first_alike))))
    assert rows[0]["advantages"] == "public & free data"


def test_columns_of_csv_are_documented() -> None:
    assert [name for name in COLUMNS if name not in (csv_module.__doc__ or "")] == []


@given(st.text())
def test_escaped_text_has_no_command_and_is_ascii(text: str) -> None:
    shown = escaped(text)
    assert shown.isascii()
    assert shown.count("{") == shown.count("}") + shown.count(r"\{") - shown.count(r"\}")
    assert "%" not in shown.replace(r"\%", "")
    assert "\n" not in shown


def test_hostile_names(tmp_path: Path) -> None:
    grid = over_targets([of(HOSTILE)], {HOSTILE: [HOSTILE]})
    assert r"\input" not in latex(grid, [])
    (row,) = (line for line in markdown(grid, []).splitlines() if "passwd" in line and line.startswith("|"))
    assert row.replace(r"\|", "").count("|") == 3
    assert "<b>" not in row


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="there is no pdflatex")
def test_latex_compiles(tmp_path: Path, lines: list[BoardLine]) -> None:
    tables = [over_points(lines, ["fast", "never", "slow_one"], ADVANTAGES), over_targets([of(HOSTILE)], {HOSTILE: [HOSTILE]})]
    body = "\n".join(latex(table, [HOSTILE]) for table in tables)
    (tmp_path / "a.tex").write_text(rf"\documentclass{{article}}\usepackage{{booktabs}}\begin{{document}}{body}\end{{document}}")
    made = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "a.tex"],
        cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert made.returncode == 0, made.stdout[-2000:]
