"""The page of findings: true sentences about made-up truths."""

from __future__ import annotations

import pytest

from fedbench.errors import UsageError
from fedbench.suites.findings.page import page
from fedbench.suites.findings.results import Results, reference_of
from fedbench.suites.suite import Seeds
from tests.suites.findings.made_up import results, suite

ROWS = {
    "calm": {"fedavg": 8, "fedbuff": 4, "fedasync": 4, "asysg": 1.5, "centralised": 1},
    "rough": {"fedavg": 12, "fedbuff": 2, "fedasync": None, "asysg": 4, "centralised": 1},
}
PUBLISHED = {point: {name: None if at is None else at + 4 for name, at in rows.items()} for point, rows in ROWS.items()}


def written(*several: Results) -> str:
    return page([(one, reference_of(one)) for one in several], "fedbench suite report made-up", 1)


def cells(text: str, name: str) -> list[str]:
    (line,) = [line for line in text.splitlines() if line.startswith(f"| {name} |")]
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_who_is_first() -> None:
    text = written(results(ROWS, PUBLISHED))
    assert "Made by `fedbench suite report made-up` from committed records; version 1 of the rules, `docs/rules.md`." in text
    assert "200 runs (200 finished) of 5 algorithms" in text
    assert "Of all rows with tuned options, these are first, or cannot be told from the first, at so many of 2 points: " in text
    assert "at so many of 2 points: `asysg` 1, `fedbuff` 1." in text
    assert "Like for like, these are first" in text
    assert "at so many of 2 points: `fedbuff` 2, `fedasync` 1." in text
    assert "earliest row, like for like, is largest at rough: 5.03 [" in text
    assert "over that of the earliest asynchronous one, like for like, is largest at rough, 5.03 [" in text
    assert "Of the points where neither misses a target it is smallest at calm: 1.89 [" in text
    first = cells(text, "calm")
    assert first[1:3] == ["asysg", "2.0"]
    assert set(first[3].split(", ")) == {"fedasync", "fedbuff"}
    assert first[4:6] == ["4.5", "8.5"]
    assert first[7].startswith("1.89 ["), "FedAvg is the only synchronous one"
    assert cells(text, "centralised")[1] == "not ranked"
    assert "- made-up: with more than 10 clients at work at a time, by definition: asysg. These are not like for like." in text


def test_a_gap_to_a_row_that_misses_is_a_lower_bound() -> None:
    """The budget is all that is known of it, so it is never the smallest gap."""
    rows = {"calm": {"fedavg": None, "fedbuff": 18}, "rough": {"fedavg": 12, "fedbuff": 4}, "third": {"fedavg": 8, "fedbuff": 4}}
    text = written(results(rows, {}, suite(points=tuple(rows))))
    assert cells(text, "calm")[4].startswith("≥ 1.08 [")
    assert "is largest at rough: 2.79 [" in text
    assert "it is smallest at third: 1.89 [" in text


def test_without_a_number_of_clients_there_is_one_group() -> None:
    one = results(ROWS, PUBLISHED)
    free = Results(one.suite.model_copy(update={"options": {}}), one.frozen, one.seats)
    text = written(free)
    assert "by definition" not in text
    assert "first, like for like" not in text
    assert cells(text, "calm")[1:4] == ["asysg", "2.0", "8.5"]


def test_who_reaches_the_hardest_target() -> None:
    text = written(results(ROWS, PUBLISHED))
    rough = "- **rough** (delay): It is rough. 80 % is reached with every seed by 3 of 4 rows; with no seed by fedasync; the"
    assert rough in text


def test_all_points_together() -> None:
    found = cells(written(results(ROWS, PUBLISHED)), "fedasync")
    assert found[1:6] == ["0 of 2", "50 [50, 50]", "50", "0", "50 [50, 50]"]
    assert cells(written(results(ROWS, PUBLISHED)), "asysg")[1] == "1 of 2"
    assert found[-1] == "2.00", "the median trial needs 8 s and the best one 4 s"


def test_nobody_arrives() -> None:
    """There is no first one, no gap, and no front."""
    text = written(results({"calm": {"fedavg": None, "fedbuff": None}}, {"calm": {"fedavg": None}}))
    assert cells(text, "calm")[1] == "nobody reaches a target"
    assert "reached with every seed by 0 of 2 rows; with no seed by fedavg, fedbuff." in text
    assert "these are first" not in text


def test_without_tuned_rows() -> None:
    one = results({}, {"calm": {"fedavg": 4}})
    text = page([(Results(one.suite, None, one.seats), None)], "command", 1)
    assert cells(text, "calm")[6] == "fedavg"
    assert "hardest" not in text
    assert "All points together" not in text


def test_a_suite_that_looks_for_no_options() -> None:
    """Every row with what it reaches and where it ends, a number a seed."""
    found = results({}, PUBLISHED, suite(points=("calm", "rough")).model_copy(update={"tuning": None}))
    text = page([(found, None)], "fedbench suite report made-up", 1)
    assert "### What every row comes to" in text
    assert "Who is first" not in text
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
    one = results(ROWS, PUBLISHED, suite(algorithms=("fedavg", "fedbuff", "fedasync", "asysg", "centralised", "fedprox")))
    one.seats["calm"]["fedbuff (tuned)"].pop()
    one.seats["calm"]["fedavg"][0].meta["provenance"]["dirty"] = True
    for run in one.seats["rough"]["fedasync"]:
        run.meta["outcome"]["state"] = "diverged"
    text = written(one)
    assert "- made-up: left out, 9 of 10 seeds: fedbuff (tuned) at calm." in text
    assert "- made-up: left out, no run: fedprox at calm, fedprox at rough." in text
    assert "- made-up: 1 runs were made with local changes, and are not valid by the rules." in text
    assert "189 finished" in text
    assert "Runs with published options that did not finish, over all points: `fedasync` 10." in text


def test_what_has_no_intervals_is_refused() -> None:
    one = results(ROWS, PUBLISHED)
    single = Results(one.suite.model_copy(update={"seeds": Seeds(count=1)}), one.frozen, one.seats)
    with pytest.raises(UsageError, match="findings of suite made-up: intervals need at least 2 seeds, it has 1"):
        page([(single, None)], "command", 1)


def test_public_data_are_an_advantage() -> None:
    rows = {"calm": {"fedavg": 8, "fedbuff": 4, "fedecho": 2}}
    one = results(rows, {})
    for run in one.seats["calm"]["fedecho (tuned)"]:
        run.meta["spec"]["scenario"]["public"] = {"source": "held_out", "size": 10}
    text = written(one)
    assert "- made-up: with unlabelled public data, by definition: fedecho. These are not like for like." in text
    assert "- made-up: public data are held out of the training data, which flatters who uses them." in text
    assert cells(text, "calm")[1:4:2] == ["fedecho", "fedbuff"]


def test_two_suites_are_set_beside_each_other() -> None:
    text = written(results(ROWS, PUBLISHED), results({"calm": ROWS["calm"]}, {}, suite("second", points=("calm",))))
    assert "## Does second order them as made-up does?" in text
    (line,) = [line for line in text.splitlines() if line.startswith("| calm | 4 |")]
    assert "1.00 [" in line
