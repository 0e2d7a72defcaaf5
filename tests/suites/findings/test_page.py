"""The page of findings: true sentences about made-up truths."""

from __future__ import annotations

from fedbench.suites.findings.page import page
from fedbench.suites.findings.results import Results, reference_of
from tests.suites.findings.made_up import results, suite

ROWS = {
    "calm": {"fedavg": 8, "fedbuff": 4, "fedasync": 4, "ace": 1.5, "centralised": 1},
    "rough": {"fedavg": 12, "fedbuff": 2, "fedasync": None, "ace": 4, "centralised": 1},
}
PUBLISHED = {point: {name: None if at is None else at + 4 for name, at in rows.items()} for point, rows in ROWS.items()}


def written(*several: Results) -> str:
    return page([(one, reference_of(one)) for one in several], "fedbench suite report made-up", 1)


def cells(text: str, name: str) -> list[str]:
    (line,) = [line for line in text.splitlines() if line.startswith(f"| {name} |")]
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_who_is_first() -> None:
    text = written(results(ROWS, PUBLISHED))
    assert "Made by `fedbench suite report made-up` from committed records, under version 1 of the rules." in text
    assert "200 runs (200 finished) of" in text
    assert "most often with tuned options: `ace` 1, `fedbuff` 1, of 2 points." in text
    assert "most often among rows that keep at most 10 clients at work: `fedbuff` 2, `fedasync` 1, of 2 points." in text
    assert "`fedavg` needs 5.03 [" in text
    assert (
        "times as long as the earliest row with at most 10 clients at work at rough, where the gap is largest, and 1.89 [" in text
    )
    first = cells(text, "calm")
    assert first[1:3] == ["ace", "2.0"]
    assert set(first[3].split(", ")) == {"fedasync", "fedbuff"}
    assert first[4:6] == ["4.5", "8.5"]


def test_who_reaches_the_hardest_target() -> None:
    text = written(results(ROWS, PUBLISHED))
    assert "### Who reaches 80 %, with tuned options" in text
    assert "- **rough**: 3 of 4 rows reach it with every seed; with no seed fedasync; nobody is both earlier there" in text


def test_all_points_together() -> None:
    found = cells(written(results(ROWS, PUBLISHED)), "fedasync")
    assert found[1:7] == ["8", "0 of 2", "50 [50, 50]", "50", "0", "50 [50, 50]"]
    assert cells(written(results(ROWS, PUBLISHED)), "ace")[1:3] == ["90", "1 of 2"]
    assert found[-1] == "2.00", "the median trial needs 8 s and the best one 4 s"


def test_nobody_arrives() -> None:
    """There is no first one, no gap, and no front."""
    text = written(results({"calm": {"fedavg": None, "fedbuff": None}}, {"calm": {"fedavg": None}}))
    assert cells(text, "calm")[1] == "nobody reaches a target"
    assert "0 of 2 rows reach it with every seed; with no seed fedavg, fedbuff." in text
    assert "most often" not in text


def test_without_tuned_rows() -> None:
    one = results({}, {"calm": {"fedavg": 4}})
    text = written(Results(one.suite, None, one.seats))
    assert cells(text, "calm")[7] == "fedavg"
    assert "Who reaches" not in text


def test_what_is_missing_or_broken_is_said() -> None:
    one = results(ROWS, PUBLISHED)
    one.seats["calm"]["fedbuff (tuned)"].pop()
    for run in one.seats["rough"]["fedasync"]:
        run.meta["outcome"]["state"] = "diverged"
    text = written(one)
    assert "- made-up: rows that lack a seed are left out: fedbuff (tuned) at calm." in text
    assert "189 finished" in text
    assert "Runs with published options that did not finish, over all points: `fedasync` 10." in text


def test_public_data_that_flatter_are_named() -> None:
    assert "public data" not in written(results(ROWS, PUBLISHED))
    one = results(ROWS, PUBLISHED)
    for run in one.seats["calm"]["fedbuff (tuned)"]:
        run.meta["spec"]["algorithm"]["requires"] = ["public_data"]
        run.meta["spec"]["scenario"]["public"] = {"source": "held_out", "size": 10}
    assert "- made-up: unlabelled public data, held out of the training data, flatter fedbuff." in written(one)


def test_two_suites_are_set_beside_each_other() -> None:
    text = written(results(ROWS, PUBLISHED), results({"calm": ROWS["calm"]}, {}, suite("second", points=("calm",))))
    assert "## Does second order them as made-up does?" in text
    (line,) = [line for line in text.splitlines() if line.startswith("| calm | 4 |")]
    assert "1.00 [" in line
