"""The table with which `run` ends says what the boards say of the same records."""

from __future__ import annotations

from pathlib import Path

import pytest

from fedbench.analysis.summary import summarize
from fedbench.cli.outcome import print_outcome
from fedbench.launch.records import Records
from fedbench.results.record import Record
from tests.conftest import alter, record

HELD = (0.1, 0.85, 0.85, 0.85, 0.85)  # from 5 s on, of 20 s
COSTS = {name: [0, 10, 20, 30, 40] for name in ("version", "steps", "gradient_evaluations", "bytes")}


def ended(capsys: pytest.CaptureFixture[str], records: Records, store: str = "runs") -> tuple[list[list[str]], list[str]]:
    """The cells of the table line by line, and what stands below it."""
    print_outcome(records, Path(store))
    out, err = capsys.readouterr()
    return [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in out.splitlines()], err.splitlines()


def runs(selector: str, *curves: tuple[float, ...]) -> list[Record]:
    return [record(selector, seed, curve, columns=COSTS) for seed, curve in enumerate(curves)]


def test_medians_hits_and_bounds(capsys: pytest.CaptureFixture[str]) -> None:
    late, never = (0.1, 0.1, 0.85, 0.85, 0.85), (0.1, 0.2, 0.3, 0.4, 0.5)
    lines, below = ended(capsys, Records([*runs("fedbuff", HELD, late, never), *runs("fedavg", never, never, HELD)]))
    assert lines[0] == ["slow_tail"] or lines[0][0].startswith("slow_tail with")
    assert lines[1] == ["algorithm", "target", "held", "time", "updates", "gradients", "traffic", "final accuracy"]
    assert [line[:7] for line in lines[2:]] == [
        ["fedbuff", "0.8", "2/3", "10.0 s", "20", "20", "20 B"],
        ["fedavg", "0.8", "1/3", "> 20.0 s", "> 40", "> 40", "> 40 B"],
    ], "in the order in which they were asked for"
    assert below[-4:] == ["6 records in runs", "next:", "  fedbench leaderboard build", "  fedbench compare fedbuff fedavg"]


def test_the_boards_say_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    records = Records(runs("fedbuff", HELD, HELD, (0.1, 0.85, 0.5, 0.85, 0.9)))
    (row,) = summarize(records)[0].rows
    (_, _, line), _ = ended(capsys, records)
    (held,) = row.to_target
    assert (line[2], line[3]) == (f"{held.hits}/{held.total}", f"{held.median:#.3g} s")
    final = row.measures["test_accuracy"]
    assert line[-1] == f"{final.mean:.3f} ± {final.half_width:.3f}"


def test_one_algorithm_another_store_and_a_run_that_broke_off(capsys: pytest.CaptureFixture[str]) -> None:
    broken = record("fedavg", 1, HELD, columns=COSTS, state="diverged")
    lines, below = ended(capsys, Records([*runs("fedavg", HELD), broken]), "my runs")
    assert lines[1][-1] == "outcome"
    assert lines[2][2] == "1/2"
    assert lines[2][-1] == "1 finished, 1 diverged"
    assert below[-3:] == ["2 records in my runs", "next:", "  fedbench leaderboard build --store 'my runs'"]


def test_without_targets_it_is_what_whole_runs_spent(capsys: pytest.CaptureFixture[str]) -> None:
    several = runs("fedavg", HELD)
    alter(several[0], "spec.scenario.targets", [])
    alter(several[0], "ledger.gradient_evaluations", 400)
    lines, below = ended(capsys, Records(several))
    assert lines[1] == ["algorithm", "updates", "gradients", "traffic", "final accuracy"]
    assert lines[2] == ["fedavg", "40", "400", "3 kB", "0.850"]
    assert "held" not in "".join(below)


def test_a_long_table_is_cut_and_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    """First to the last target, then to the rows that hold it first."""
    targets = [{"metric": "test_accuracy", "value": value} for value in (0.3, 0.8)]
    late, never = (0.1, 0.4, 0.85, 0.85, 0.85), (0.1, 0.4, 0.4, 0.4, 0.4)
    several = [one for n in range(7) for one in runs(f"fedavg[cohort_size={n + 2}]", HELD if n == 6 else late)]
    for one in several:
        alter(one, "spec.scenario.targets", targets)
    lines, below = ended(capsys, Records(several))
    assert [line[1] for line in lines[2:]] == ["0.8"] * 7
    assert lines[2][0] == "fedavg[cohort_size=2]", "in the order in which they were asked for"
    assert "cut to 12 lines: the last target, who holds it first; all: fedbench table" in below
    more = [one for n in range(20) for one in runs(f"fedbuff[buffer_size={n + 2}]", never, HELD if n == 19 else never)]
    for one in more:
        alter(one, "spec.scenario.targets", targets)
    lines, _ = ended(capsys, Records([*more, *several]), "elsewhere")
    assert len(lines) == 2 + 12
    assert [line[0] for line in lines[2:4]] == ["fedavg[cohort_size=8]", "fedavg[cohort_size=2]"], "who holds it first"
    assert lines[9][:3] == ["fedbuff[buffer_size=21]", "0.8", "1/2"]
    few, below = ended(capsys, Records(several[:6]))
    assert len(few) == 2 + 12
    assert not any(line.startswith("cut to") for line in below)


def test_without_targets_the_most_accurate_ones_are_kept(capsys: pytest.CaptureFixture[str]) -> None:
    several = [one for n in range(13) for one in runs(f"fedavg[cohort_size={n + 2}]", (0.1, 0.2, 0.2, 0.2, 0.3 + n / 100))]
    for one in several:
        alter(one, "spec.scenario.targets", [])
    lines, below = ended(capsys, Records(several))
    assert len(lines) == 2 + 12
    assert lines[2][0] == "fedavg[cohort_size=14]"
    assert any(line.endswith("all: fedbench table --metric test_accuracy") for line in below)
