"""The page of findings: true sentences about made-up truths."""

from __future__ import annotations

import pytest

from fedbench.errors import UsageError
from fedbench.suites.findings.page import page
from fedbench.suites.findings.results import Results
from fedbench.suites.suite import Seeds
from tests.conftest import alter
from tests.suites.findings.made_up import results, suite

ROWS = {
    "calm": {"fedavg": 8, "fedbuff": 4, "fedasync": 6, "asysg": 1.5, "centralised": 1},
    "rough": {"fedavg": 12, "fedbuff": 2, "fedasync": None, "asysg": 4, "centralised": 1},
}
DEFAULT = {point: {name: None if at is None else at + 2 for name, at in rows.items()} for point, rows in ROWS.items()}


def written(*several: Results) -> str:
    return page(several, "fedbench suite report made-up")


def section(text: str, heading: str) -> str:
    """The text from a heading to the next one of its level or above."""
    level = heading.split(" ", maxsplit=1)[0]
    lines = text[text.index(f"{heading}\n") :].splitlines()
    ends = [i for i, line in enumerate(lines[1:], 1) if line.startswith("#") and len(line.split(" ")[0]) <= len(level)]
    return "\n".join(lines[: ends[0]] if ends else lines)


def cells(text: str, name: str, number: int = 0) -> list[str]:
    """The cells of the n-th line of a table that begins with a name."""
    line = [line for line in text.splitlines() if line.startswith(f"| {name} |")][number]
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_luck_of_trials_is_told_only_where_something_was_tuned() -> None:
    assert "best of a few trials" in written(results(ROWS, DEFAULT))
    assert "best of a few trials" not in written(results({}, DEFAULT))


def test_the_first_screen_is_a_decision_table() -> None:
    """Clients at work, cost and regret; never a count of firsts."""
    text = written(results(ROWS, DEFAULT))
    screen = section(text, "## Which algorithm costs least? (made-up)")
    assert "| point | 10 clients at work | all clients at work |" not in screen, "a group of one has no column"
    assert cells(screen, "calm")[1] == "**fedbuff** 4.47 s"
    assert cells(screen, "rough")[1] == "**fedbuff** 2.46 s"
    assert (
        "With 10 clients at work, always using `fedbuff` costs 1.00 times as much as the cheapest algorithm of each point"
        in screen
    )
    assert "at worst 1.00 times" in screen
    assert "the cheapest of them with all clients at work takes" in screen
    assert "first at" not in text
    assert "cannot be told from" not in text


def test_a_row_that_may_be_as_cheap_stands_beside_the_cheapest() -> None:
    rows = {"calm": {"fedavg": 8, "fedbuff": 4, "fedasync": 4.01}}
    found = results(rows, {})
    for seed, run in enumerate(found.seats["calm"]["fedasync (tuned)"]):
        run.curves["seconds"][2] = 4.01 + (seed * 7 % 10) / 10
    screen = section(written(found), "## Which algorithm costs least? (made-up)")
    assert cells(screen, "calm")[1].startswith(("**fedbuff** 4.47 s; fedasync 1.", "**fedasync** 4.4"))


def test_the_regret_of_every_row_at_every_point() -> None:
    text = section(written(results(ROWS, DEFAULT)), "### 10 clients at work")
    assert "The systems are 10 of" in text
    assert cells(text, "targets") == ["targets", "80 %", "80 %"]
    assert cells(text, "cheapest, cost") == ["cheapest, cost", "4.47 s", "2.46 s"]
    fedbuff, fedavg, fedasync = (cells(text, name, 1) for name in ("fedbuff", "fedavg", "fedasync"))
    assert fedbuff[1].startswith("**1.00 [0.")
    assert fedavg[1].startswith("1.90 [1.")
    assert fedasync[2] == "never"
    assert cells(text, "fedasync", 0)[1].startswith("≥ ")


def test_a_group_of_one_is_compared_with_nobody() -> None:
    text = section(written(results(ROWS, DEFAULT)), "### All clients at work")
    assert "One algorithm has this system" in text
    assert cells(text, "calm") == ["calm", "asysg", "80 %", "1.95 s"]


def test_how_sure_it_is() -> None:
    text = section(written(results(ROWS, DEFAULT)), "### 10 clients at work")
    assert "the ratio that a board shows with a probability of 80 %" in text
    found = cells(text, "calm", 1)
    assert float(found[1]) > 1
    assert found[2] == "100 %"
    assert found[3].startswith("1.90 [")
    assert found[4] == "the same"


def test_the_table_of_algorithms() -> None:
    one = results(ROWS, DEFAULT)
    for run in one.seats["calm"]["fedbuff (tuned)"] + one.seats["rough"]["fedbuff (tuned)"]:
        alter(run, "ledger.busy_fraction", 0.2)
    clients = one.suite.scenario_at(one.suite.points[0]).clients
    found = cells(section(written(one), "### The algorithms"), "fedbuff")
    assert found[1] == "10 clients at work"
    assert found[2] == f"{100 * 0.2 * clients / 10:.0f}"
    assert float(found[3]) > 1
    assert found[-1] == "0"


def test_no_bracket_is_without_width() -> None:
    text = written(results(ROWS, DEFAULT))
    assert "[1.00, 1.00]" not in text


def test_nobody_arrives() -> None:
    text = written(results({"calm": {"fedavg": None, "fedbuff": None}}, {"calm": {"fedavg": None}}))
    assert cells(text, "calm")[1] == "nobody reaches a target"
    assert "always using" not in text


def test_a_suite_that_looks_for_no_options() -> None:
    """Every row with what it reaches and where it ends, a number a seed."""
    found = results({}, DEFAULT, suite(points=("calm", "rough")).model_copy(update={"tuning": None}))
    text = written(found)
    assert "## Which algorithm costs least?" not in text
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("| rough |")]
    assert {row[1]: row[2] for row in rows} == {
        "fedavg": "10 of 10",
        "fedbuff": "10 of 10",
        "fedasync": "0 of 10",
        "asysg": "10 of 10",
        "centralised": "10 of 10",
    }
    assert [row[3] for row in rows if row[1] == "fedbuff"] == [", ".join(["90.0"] * 10)]
    assert [row[4] for row in rows if row[1] == "fedbuff"] == [", ".join(str(40 + seed) for seed in range(10))]


def test_what_is_missing_or_broken_is_said() -> None:
    one = results(ROWS, DEFAULT, suite(algorithms=("fedavg", "fedbuff", "fedasync", "asysg", "centralised", "fedprox")))
    one.seats["calm"]["fedbuff (tuned)"].pop()
    alter(one.seats["calm"]["fedavg"][0], "provenance.dirty", True)
    for run in one.seats["rough"]["fedasync"]:
        alter(run, "outcome.state", "diverged")
    text = written(one)
    assert "- made-up: left out, 9 of 10 seeds: fedbuff (tuned) at calm." in text
    assert "- made-up: left out, no run: fedprox at calm, fedprox at rough." in text
    assert "- made-up: 1 runs were made with local changes, and are not valid by the rules." in text
    assert "189 finished" in text
    assert "Runs with default options that did not finish, over all points: `fedasync` 10." in text


def test_what_has_no_intervals_is_refused() -> None:
    one = results(ROWS, DEFAULT)
    single = Results(one.suite.model_copy(update={"seeds": Seeds(count=1)}), one.frozen, one.seats)
    with pytest.raises(UsageError, match="findings of suite made-up: intervals need at least 2 seeds, it has 1"):
        page([single], "command")


def test_public_data_make_a_group_of_their_own() -> None:
    one = results({"calm": {"fedavg": 8, "fedbuff": 4, "fedecho": 2}}, {})
    for run in one.seats["calm"]["fedecho (tuned)"]:
        alter(run, "spec.scenario.public", {"source": "held_out", "size": 10})
    text = written(one)
    assert "- made-up: public data are held out of the training data, which flatters algorithms that use them." in text
    assert cells(section(text, "### 10 clients at work, public data"), "calm")[1] == "fedecho"
    assert cells(text, "calm")[1].startswith("**fedbuff**")
