"""The rows of a suite: kinds of options, groups, references, luck."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from fedbench.analysis.groups import Group
from fedbench.analysis.profiles import Problem
from fedbench.errors import UsageError
from fedbench.suites.findings.reference import check_reference, reference_of
from fedbench.suites.findings.results import Results, _frozen
from fedbench.suites.suite import LIBRARY, load
from fedbench.suites.tuning import Outcome
from tests.conftest import TARGET
from tests.suites.findings.made_up import results, suite

TUNED = {
    "calm": {"fedavg": 8, "fedbuff": 4, "centralised": 1},
    "rough": {"fedavg": 12, "fedbuff": None},
}
DEFAULT = {"calm": {"fedavg": 16}, "rough": {"fedavg": None}}


def test_a_row_has_tuned_or_default_options() -> None:
    found = results(TUNED, DEFAULT)
    assert [one.row for one in found.tuned["calm"].standings] == ["centralised", "fedbuff", "fedavg"]
    assert [one.row for one in found.default["calm"].standings] == ["fedavg"]
    assert found.tuned["calm"].standings[0].ranking is None, "pooled SGD is no federated algorithm"
    assert len(found.runs) == 70
    assert found.names == ["fedavg", "fedbuff"]


def test_a_suite_that_was_not_tuned_yet_has_default_rows_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Records of tuned rows need their options, or they would be left out in silence."""
    found = results(TUNED, DEFAULT)
    default = [run for rows in found.seats.values() for row, runs in rows.items() if "tuned" not in row for run in runs]
    monkeypatch.setattr("fedbench.suites.findings.results.seats", lambda suite, frozen, records: {"calm": {"fedavg": default}})
    assert _frozen(found.suite, tmp_path / "none.yaml", default) is None
    with pytest.raises(UsageError, match=r"tuned options .*none.yaml: cannot be read"):
        _frozen(found.suite, tmp_path / "none.yaml", [*found.runs.values()])


def test_a_row_that_lacks_a_seed_is_left_out_and_named() -> None:
    found = results(TUNED, DEFAULT)
    found.seats["calm"]["fedbuff (tuned)"].pop()
    assert [one.row for one in found.tuned["calm"].standings] == ["centralised", "fedavg"]
    assert "fedbuff (tuned) at calm" in found.absent["9 of 10 seeds"]
    assert "fedprox at rough" in found.absent["no run"]
    assert "fedavg at calm" not in [row for rows in found.absent.values() for row in rows]


def test_selectors_that_share_a_name_keep_their_options() -> None:
    """Or one of them would be taken for the other."""
    several = suite(algorithms=("fedavg", "fedbuff[buffer_size=2]", "fedbuff[buffer_size=5]"))
    assert list(results({}, {}, several).labels.values()) == ["fedavg", "fedbuff[buffer_size=2]", "fedbuff[buffer_size=5]"]


def test_who_shares_a_system() -> None:
    """By definition, whatever they happen to do: FedLin waits for the slowest of all, and so for
    most of the time few of them work."""
    seconds = {"fedavg": 8, "asysg": 4, "fedlin": 12, "fedbuff": 4, "favano": 4, "fedecho": 3, "centralised": 1}
    found = results({"calm": seconds, "rough": {"fedavg": 8}}, {})
    clients = found.suite.scenario_at(found.suite.points[0]).clients
    assert {one.row: one.group for one in found.tuned["calm"].ranked} == {
        "fedavg": Group(10, clients),
        "fedbuff": Group(10, clients),
        "asysg": Group(clients, clients),
        "fedlin": Group(clients, clients),
        "favano": Group(clients, clients),
        "fedecho": Group(10, clients, public_data=True),
    }
    assert {kind: list(groups) for kind, groups in found.systems.items()} == {
        "10 clients at work": ["calm", "rough"], "all clients at work": ["calm"], "10 clients at work, public data": ["calm"],
    }  # fmt: skip


def test_the_reference_is_of_tuned_rows_that_are_compared() -> None:
    found = reference_of(results(TUNED, DEFAULT))
    assert found.seconds == {Problem("calm", TARGET): 4.45, Problem("rough", TARGET): 12.45}
    assert set(found.made_of) == {"fedavg", "fedbuff"}
    again = results(TUNED, {"calm": {"fedavg": 2}})
    assert reference_of(again) == found, "default rows change nothing"
    with pytest.raises(UsageError, match="made-up: it has no complete row with tuned options"):
        reference_of(results({}, DEFAULT))


def test_an_entrant_does_not_move_the_reference() -> None:
    """It is the cheapest at both points."""
    before = reference_of(results(TUNED, DEFAULT))
    entered = results({point: {**rows, "mifa": 0.5} for point, rows in TUNED.items()}, DEFAULT)
    assert reference_of(entered).seconds != before.seconds
    assert reference_of(entered.among(before.made_of)) == before


def test_a_reference_of_other_scenarios_is_refused() -> None:
    reference = reference_of(results(TUNED, DEFAULT))
    check_reference(reference, results(TUNED, DEFAULT))
    other = suite()
    other.points[0].set["clients"] = 30
    with pytest.raises(UsageError, match="reference made-up: point calm is of scenario"):
        check_reference(reference, results(TUNED, DEFAULT, other))


def test_families() -> None:
    found = results({}, {}).families
    assert [found[name] for name in ("fedavg", "fedlin", "fedbuff", "favano", "centralised")] == [
        "synchronous", "synchronous", "asynchronous", "asynchronous", "reference",
    ]  # fmt: skip


def test_luck_is_of_rows_whose_trials_are_all_known() -> None:
    def outcome(seconds: float) -> Outcome:
        return Outcome("id", 0, "finished", 20.0, (0.8,), (seconds,), 0.5, "digest")

    whole = {number: ({"local_lr": 0.1} if number else {}, [outcome(10 - number)]) for number in range(5)}
    tried = {("calm", "fedavg"): whole, ("calm", "fedbuff"): {0: whole[0]}, ("calm", "unknown"): whole}
    one = results(TUNED, DEFAULT)
    found = Results(one.suite, one.frozen, one.seats, lambda: tried).luck
    assert list(found) == [("calm", "fedavg")]
    assert found["calm", "fedavg"].second == pytest.approx(7 / 6)
    assert one.luck == {}


def test_targets_of_another_metric_have_its_name(tmp_path: Path) -> None:
    """And no per cent."""
    content = yaml.safe_load((LIBRARY / "smoke.yaml").read_text())
    first, second, *_ = content["points"]
    goals = [{"metric": "class_accuracy_worst", "value": value} for value in (0.5, 0.6)]
    first["set"] = {**first["set"], "targets": goals}
    content["evaluation"] = {"kind": "log", "first_seconds": 0.1, "ratio": 1.05, "metrics": ["class_accuracy_worst"]}
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(content))
    found = replace(results(TUNED, DEFAULT), suite=load(tmp_path / "mine.yaml"))
    assert found.told(first["name"], [0.5, 0.6]) == "class_accuracy_worst 0.5, 0.6"
    assert found.told(second["name"], [0.5, 0.6]) == "50, 60 %"
