"""Tables: escaped, with misses and lower bounds seen, and with all digits where they are for
machines."""

from __future__ import annotations

import csv
import dataclasses
import io
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbench.analysis.axes import AXES, SECONDS
from fedbench.analysis.board import Board
from fedbench.analysis.board_table import BoardLine, board_lines
from fedbench.analysis.metric_table import MetricLine
from fedbench.analysis.pictures.boards import Heat, HeatGroup, HeatRow, heat
from fedbench.analysis.standings import Comparison
from fedbench.analysis.statistics import estimate
from fedbench.figures.tables import csv as csv_module
from fedbench.figures.tables.board import Grid, over_points, over_targets
from fedbench.figures.tables.csv import as_csv, metric_csv
from fedbench.figures.tables.latex import escaped, latex
from fedbench.figures.tables.markdown import markdown
from fedbench.figures.tables.metric import over_metric

HOSTILE = r"\input{/etc/passwd} $x_1^2$ 50 % # ~ & <b>|`*[a](b)`"
TEN, UNKNOWN = "10 clients at work", "an unknown number of clients at work"


@pytest.fixture(name="lines")
def _lines(boards: dict[str, Board]) -> list[BoardLine]:
    return board_lines(boards)


def of(row: str, point: str = "calm", **more: object) -> BoardLine:
    values: dict[str, object] = {
        "system": TEN, "target": None, "has_verdict": True, "cost": 12.34, "hits": 4, "attempts": 4, "median": None,
        "regret": (1.5, 1.25, 1.75), "is_best": False, "gradients": None, "bytes": None, "at_work": None, "seeds": 4, "unfinished": 0,
    }  # fmt: skip
    return BoardLine(point=point, row=row, **values | more)  # type: ignore[arg-type]


def one_point(lines: list[BoardLine]) -> Grid:
    return over_targets([line for line in lines if line.point == "calm"])


def test_latex_has_booktabs_and_its_comments(lines: list[BoardLine]) -> None:
    text = latex(one_point(lines), ["fedbench table", "suite s (abc)"])
    assert text.startswith("% fedbench table\n% suite s (abc)\n% Needs \\usepackage{booktabs}.\n")
    for rule in ("toprule", "midrule", "bottomrule"):
        assert text.count(rf"\{rule}") == 1
    assert rf"\multicolumn{{7}}{{@{{}}l}}{{\emph{{{UNKNOWN}: 80 \%}}}} \\" in text
    assert r"fast & $\bullet$~2.4 &  & $\bullet$~1.00 & [" in text
    assert r"slow\_one & 12.4 &  & " in text
    assert r"never & \multicolumn{2}{c}{miss 5/5} & \multicolumn{2}{c}{never}" in text
    assert r"\textbf" not in text
    assert r"\multicolumn{2}{c}{80 \%}" in text


def test_a_cost_with_misses_is_a_lower_bound() -> None:
    bound, none = (1.5, 1.25, None), (2.0, 0.0, None)
    lines = [of("a", hits=1, regret=bound), of("a", target=0.5, regret=None), of("a", target=0.6, hits=0), of("b", regret=none)]
    grid = over_targets(lines)
    assert r"a & $\geq$ 12.3 & miss 3/4 & $\geq$ 1.50 & [1.25, $\infty$] & 12.3 &  & \multicolumn{2}{c}{miss 4/4} \\" in latex(
        grid, []
    )
    text = markdown(grid, [])
    assert "| a | ≥ 12.3 miss 3/4 | ≥ 1.50 [1.25, ∞] | 12.3 | miss 4/4 |" in text
    assert "| b | 12.3 | 2.00 | – | – |" in text, "too few seeds for an interval"
    assert "≥ a lower bound" in text


def test_who_is_alone_or_without_a_verdict() -> None:
    lines = [of("a", regret=None), of("b", system="all clients at work", has_verdict=False, regret=None)]
    text = markdown(over_targets(lines, {"c": "it has 2 seeds"}), [])
    assert "| a | 12.3 | alone |" in text
    assert "| b | 12.3 | ? |" in text
    assert "? no verdict" in text
    assert text.rstrip().endswith("Not compared: c, it has 2 seeds.")


def test_points_side_by_side_system_by_system(boards: dict[str, Board]) -> None:
    pooled = HeatRow("pooled", tuple(of("pooled", point, system="", regret=None) for point in ("calm", "rough")))
    alone = HeatGroup(TEN, (None, None), (HeatRow("alone", (of("alone", regret=None), None)),))
    data = heat(boards)
    grid = over_points(Heat(data.points, (alone, *data.groups, HeatGroup("", (None, None), (pooled,)))))
    assert grid.heads == ("calm", "rough")
    assert [(block.title, [row.name for row in block.rows]) for block in grid.blocks] == [
        (TEN, ["alone"]),
        (UNKNOWN, ["cheapest, cost", "fast", "slow_one", "never"]),
        ("references, not compared", ["pooled"]),
    ]
    text = markdown(grid, ["a --> b"])
    assert "| pooled | 12.3 | 12.3 |" in text
    assert "| alone | 12.3 | – |" in text
    assert "| cheapest, cost | 2.4 | 4.4 |" in text
    assert "| never | never | – |" in text
    assert text.startswith("<!--\na -- b\n-->\n\n| algorithm | calm | rough |")
    assert r"pooled & 12.3 &  & 12.3 &  \\" in latex(grid, [])


def test_a_wide_table_goes_on_below() -> None:
    points = tuple(f"p{i}" for i in range(9))
    rows = tuple(HeatRow(name, tuple(of(name, point) for point in points)) for name in "ab")
    grid = over_points(Heat(points, (HeatGroup(TEN, (None,) * 9, rows),)))
    for letters, count in ((300, 1), (60, 5), (1, 9)):
        text = latex(grid, [], letters)
        assert text.count(r"\begin{tabular}") == count
        assert all(text.count(f"{{p{i}}}") == 1 for i in range(9))


def test_csv_has_all_digits_and_is_tidy(lines: list[BoardLine]) -> None:
    text = as_csv(lines, ["fedbench table"])
    assert text.startswith("# fedbench table\n")
    rows = list(csv.DictReader(io.StringIO(text.partition("\n")[2])))
    assert len(rows) == len(lines)
    for row, line in zip(rows, lines, strict=True):
        assert float(row["seconds"]) == line.cost
        assert row["regret"] == ("" if line.regret is None else repr(line.regret[0]))
        assert row["regret_high"] == ("" if line.regret is None or line.regret[2] is None else repr(line.regret[2]))
        assert (row["target"] == "") == (line.target is None) == (row["in_set"] != "")
        assert row["lower_bound"] == str(int(line.hits < line.attempts))


def test_columns_of_csv_are_documented() -> None:
    head, *_ = as_csv([of("a")], []).splitlines()
    assert [name for name in head.split(",") if name not in (csv_module.__doc__ or "")] == []


@pytest.mark.parametrize("name", [one.name for one in dataclasses.fields(BoardLine)])
def test_csv_forgets_no_field_of_a_line(name: str) -> None:
    line = of("a", median=1.0, gradients=1.0, bytes=1.0, at_work=1.0)
    other = {"regret": (2.0, 1.0, 3.0), "target": 0.5, "hits": 3, "attempts": 5}.get(name, f"{getattr(line, name)}0")
    assert as_csv([dataclasses.replace(line, **{name: other})], []) != as_csv([line], [])


@given(st.text())
def test_escaped_text_has_no_command_and_is_ascii(text: str) -> None:
    shown = escaped(text)
    assert shown.isascii()
    assert shown.count("{") == shown.count("}") + shown.count(r"\{") - shown.count(r"\}")
    assert "%" not in shown.replace(r"\%", "")
    assert "\n" not in shown


def test_hostile_names(tmp_path: Path) -> None:
    grid = over_targets([of(HOSTILE)], {HOSTILE: HOSTILE})
    assert r"\input" not in latex(grid, [])
    (row,) = (line for line in markdown(grid, []).splitlines() if "passwd" in line and line.startswith("|"))
    assert row.replace(r"\|", "").count("|") == 4
    assert "<b>" not in row


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="there is no pdflatex")
def test_latex_compiles(tmp_path: Path, boards: dict[str, Board]) -> None:
    tables = [over_points(heat(boards)), over_targets([of(HOSTILE)], {HOSTILE: HOSTILE})]
    body = "\n".join(latex(table, [HOSTILE]) for table in tables)
    (tmp_path / "a.tex").write_text(rf"\documentclass{{article}}\usepackage{{booktabs}}\begin{{document}}{body}\end{{document}}")
    made = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "a.tex"],
        cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert made.returncode == 0, made.stdout[-2000:]


def measured(row: str, point: str = "calm", *values: float, **more: object) -> MetricLine:
    given: dict[str, object] = {
        "system": TEN, "metric": "test_accuracy", "axis": SECONDS, "at": 40.0, "is_limit": True, "comparison": Comparison("behind"),
        "left_out": "",
    }  # fmt: skip
    return MetricLine(point=point, row=row, estimate=estimate(values), **given | more)  # type: ignore[arg-type]


def test_a_metric_has_its_interval_and_the_place_where_it_was_read() -> None:
    ahead = measured("fedavg", "calm", 0.8, 0.82, 0.84, comparison=Comparison("best"))
    grid = over_metric(
        [ahead, measured("mifa", "calm", 0.5), measured("broken", "calm", 0.9, 0.9, left_out="1 of 3 seeds diverged")]
    )
    text = markdown(grid, ["made by"])
    assert "| fedavg | ● 0.820 ± 0.050 |" in text
    assert "| mifa | 0.500 |" in text, "one seed has no interval"
    assert "| broken | – |" in text
    assert "± the half of its 95 % interval, at 40 s of virtual time, the farthest place that all compared runs reach." in text
    assert "● the best mean of its system, or not to be told from it" in text
    assert "Not compared: broken, 1 of 3 seeds diverged." in text
    assert r"fedavg & $\bullet$~0.820 & $\pm$ 0.050 \\" in latex(grid, [])
    assert "●" not in markdown(over_metric([measured("mifa", "calm", 0.5)]), [])


def test_points_of_a_metric_are_columns_with_a_place_each() -> None:
    lines = [
        measured("a", "calm", 2.5, 3.5, metric="test_loss", axis=AXES["bytes"], at=1e6, is_limit=False),
        measured(
            "a", "flaky", 2.5, 2.6, metric="test_loss", axis=AXES["bytes"], at=2e6, is_limit=False, system="all clients at work"
        ),
        measured("b", "flaky", metric="test_loss", axis=AXES["bytes"], at=2e6, is_limit=False, system="", left_out="it is odd"),
    ]
    text = markdown(over_metric(lines), [])
    assert "| algorithm | calm | flaky |" in text
    assert "| a | 3.0 ± 6.4 | – |" in text
    assert "| a | – | 2.55 ± 0.64 |" in text
    assert "at 1 MB (calm), 2 MB (flaky) of traffic." in text
    assert "Not compared: b at flaky, it is odd." in text
    assert text.index("references, not compared") > text.index("all clients at work")


def test_a_metric_as_csv_has_all_digits() -> None:
    text = metric_csv([measured("x, y", "calm", 0.1, 0.3, 0.35), measured("one", "calm", 0.25)], ["made by"])
    assert text.startswith("# made by\n")
    first, second = csv.DictReader(io.StringIO(text.partition("\n")[2]))
    assert (first["algorithm"], first["mean"], first["seeds"], first["standing"]) == ("x, y", repr(0.25), "3", "behind")
    assert float(first["half_width"]) > 0.1
    assert (second["half_width"], second["axis"], second["at"]) == ("", "seconds", "40.0")


def test_rows_may_have_other_names() -> None:
    grid = over_targets([of("fast"), of("slow")])
    named = grid.named({"fast": "Fast & good", "nobody": "x"})
    assert [row.name for row in named.rows] == ["Fast & good", "slow"]
    assert (named.heads, named.notes) == (grid.heads, grid.notes)
    assert r"Fast \& good" in latex(named, [])
