"""Search spaces: what they hold and which points are tried."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from fedbench import registry
from fedbench.algorithms import fedavg
from fedbench.algorithms.fedavg import FedAvg
from fedbench.algorithms.fedbuff import FedBuff
from fedbench.algorithms.msync import MSync
from fedbench.errors import UsageError
from fedbench.suites.space import Interval, load
from fedbench.suites.suite import load as load_suite
from fedbench.suites.suite import names


def test_every_algorithm_of_every_suite_has_its_space() -> None:
    for name in names():
        suite = load_suite(name)
        if suite.tuning is not None:
            space = load(suite.tuning.space)
            for selector in suite.selectors():
                assert 1 <= len(space.of(suite.algorithm(selector).name)) <= 4


def test_every_algorithm_can_be_tuned() -> None:
    assert sorted(load("axes").algorithms) == sorted(registry.ALGORITHMS)


def test_intervals_take_in_the_published_options() -> None:
    """Else an algorithm could only lose by being tuned. None stands for a default that depends on
    the run."""
    space = load("axes")
    for name, entry in space.algorithms.items():
        defaults = registry.find("algorithm", name)().options()
        for key, interval in entry.options.items():
            assert defaults[key] is None or interval.low <= defaults[key] <= interval.high, (name, key)


def test_the_first_trial_is_published_and_the_others_are_spread() -> None:
    trials = load("axes").trials(FedBuff, 16)
    assert trials[0] == {}
    assert len(trials) == 17
    rates = np.log([trial["local_lr"] for trial in trials[1:]])
    places = np.floor(16 * (rates - math.log(0.003)) / (math.log(1) - math.log(0.003)))
    assert sorted(np.clip(places, 0, 15)) == pytest.approx(range(16), abs=1), "Sobol' points: one in each sixteenth"
    assert all(isinstance(trial["buffer_size"], int) and 2 <= trial["buffer_size"] <= 20 for trial in trials[1:])
    assert trials == load("axes").trials(FedBuff, 16)
    assert trials[1:9] == load("axes").trials(FedBuff, 8)[1:], "more trials begin with the same ones"
    assert [t["local_lr"] for t in trials[1:]] != [t["local_lr"] for t in load("axes").trials(FedAvg, 16)[1:]]


def test_an_option_without_a_default_number_is_whole_where_its_values_are() -> None:
    trials = load("axes").trials(MSync, 16)[1:]
    assert all(isinstance(trial["cohort_size"], int) for trial in trials)
    assert len({trial["cohort_size"] for trial in trials}) > 8


def test_values_have_three_digits_and_whole_numbers_are_whole() -> None:
    assert Interval(low=0.003, high=1).at(0.5) == 0.0548
    assert Interval(low=0, high=10, scale="linear").at(0.25) == 2.5


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (
            "fedavg: {options: {local_lrr: {low: 0.1, high: 1}}}",
            "algorithm fedavg has no option 'local_lrr'; did you mean 'local_lr'",
        ),
        ("fedavg: {options: {local_lr: {low: 1, high: 0.1}}}", "high must be > low, got low 1, high 0.1"),
        ("fedavg: {options: {local_lr: {low: 0, high: 0.1}}}", "low must be > 0 with scale: log, got 0"),
        ("fedavg: {options: {local_lr: {low: -1, high: 0.1, scale: linear}}}", "local_lr must be a number > 0, got -1.0"),
        ("fedavgg: {options: {local_lr: {low: 0.1, high: 1}}}", "unknown algorithm 'fedavgg'"),
        ("fedavg: {options: {}}", "algorithms.fedavg.options"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, entry: str, message: str) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(f"schema: 1\nname: mine\nalgorithms:\n  {entry}\n")
    with pytest.raises(UsageError) as error:
        load(file)
    assert message in str(error.value)


def test_an_algorithm_without_a_space() -> None:
    with pytest.raises(UsageError, match="search space axes: it has no entry for algorithm fedavgx; did you mean 'fedavg'"):
        load("axes").of("fedavgx")
    with pytest.raises(UsageError, match="unknown search space 'axis'"):
        load("axis")


def test_an_algorithm_in_a_file_has_an_entry_by_its_own_name(tmp_path: Path) -> None:
    mine = tmp_path / "mine.py"
    mine.write_text(Path(fedavg.__file__).read_text().replace('name = "fedavg"', 'name = "mine"'))
    file = tmp_path / "space.yaml"
    file.write_text(
        f"{{schema: 1, name: own, algorithms: {{'{mine}:FedAvg': {{options: {{local_lr: {{low: 0.01, high: 1}}}}}}}}}}"
    )
    found = load(file)
    assert found.algorithms.keys() == {"mine"}
    trials = found.trials(registry.find("algorithm", f"{mine}:FedAvg"), 4)
    assert len(trials) == 5
    assert all(0.01 <= trial["local_lr"] <= 1 for trial in trials[1:])
