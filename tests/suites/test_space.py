"""Search spaces: what they hold and which points are tried."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedbench import registry
from fedbench.algorithms import fedavg
from fedbench.algorithms.fedavg import FedAvg
from fedbench.algorithms.fedbuff import FedBuff
from fedbench.algorithms.msync import MSync
from fedbench.errors import UsageError
from fedbench.options import Linear, Log
from fedbench.protocols import Algorithm, Positive, option
from fedbench.suites.space import Interval, Options, Space, declared, load, parse
from fedbench.suites.suite import load as load_suite
from fedbench.suites.suite import names


def declaring(**searches: Any) -> type[Algorithm]:
    """An algorithm whose options, all rates, declare what is tried."""
    options = [(key, Positive, option(0.1, search=values)) for key, values in searches.items()]
    return dataclasses.make_dataclass(
        "FedAvgX", options, bases=(FedAvg,), frozen=True, kw_only=True, namespace={"name": "fedavgx", "__module__": __name__}
    )


def test_every_algorithm_of_every_suite_has_its_space() -> None:
    for name in names():
        suite = load_suite(name)
        if suite.tuning is not None:
            space = load(suite.tuning.space)
            for selector in suite.selectors():
                assert 1 <= len(space.of(type(suite.algorithm(selector)))) <= 4


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
    ringleader = load("ringleader")
    with pytest.raises(UsageError, match="search space ringleader: it has no entry for algorithm fedavg; known: ace, "):
        ringleader.of(FedAvg)
    with pytest.raises(UsageError, match=r"no entry for algorithm fedavgx, and declares none, such as option\(0\.1, search=Log"):
        load("axes").of(declaring())
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


def test_an_algorithm_declares_what_is_tried() -> None:
    """A space that has an entry for it has precedence, as a whole."""
    cls, space = declaring(local_lr=Log(0.01, 1), eta=Linear(0.5, 2, rate=True)), load("axes")
    assert space.of(cls) == {
        "local_lr": Interval(low=0.01, high=1),
        "eta": Interval(low=0.5, high=2, scale="linear", rate=True),
    }
    assert space.rates(cls) == ["local_lr", "eta"]
    trials = space.trials(cls, 8)
    assert trials[0] == {}
    assert all(0.01 <= one["local_lr"] <= 1 and 0.5 <= one["eta"] <= 2 for one in trials[1:])
    assert np.median([one["local_lr"] for one in trials[1:]]) < 0.3, "uniform in the logarithm"
    entry = {"fedavgx": Options(options={"eta": Interval(low=1, high=3)})}
    assert space.model_copy(update={"algorithms": entry}).of(cls).keys() == {"eta"}
    assert declared(FedAvg) is None
    assert space.only(cls, ["eta"]) is not None


def test_the_hash_of_what_is_tried_has_what_is_declared() -> None:
    axes = load("axes")
    wide, narrow = declaring(eta=Log(0.01, 1)), declaring(eta=Log(0.01, 0.5))
    assert len({axes.content_hash([FedAvg]), axes.content_hash([FedAvg, wide]), axes.content_hash([FedAvg, narrow])}) == 3
    assert axes.content_hash([FedAvg, FedBuff]) == axes.content_hash([FedBuff, FedAvg])
    entry = {"fedavgx": Options(options={"eta": Interval(low=0.01, high=1)})}
    brought = Space(schema=1, name="axes", algorithms=entry)
    assert brought.content_hash([declaring(eta=Log(3, 4))]) == axes.content_hash([wide])


@pytest.mark.parametrize(
    ("searches", "message"),
    [
        ({"eta": (0.1, 1)}, r"FedAvgX: eta: search must be Log\(low, high\) or Linear\(low, high\), got \(0.1, 1\)"),
        ({"eta": Linear(-1, 1)}, r"declared search: fedavgx: eta must be a number > 0, got -1.0"),
        (
            {key: Log(0.1, 1) for key in "abcde"},
            r"fedavgx: at most 4 options may declare a search, got 5: a, b, c, d, e",
        ),
    ],
)
def test_what_cannot_be_declared(searches: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        load("axes").of(declaring(**searches))


def test_one_algorithm_has_one_entry() -> None:
    """Also if it is named in two ways."""
    entry = {"options": {"local_lr": {"low": 0.1, "high": 1}}}
    several = {"schema": 1, "name": "own", "algorithms": {"defedavg_iid": entry, "defedavg-iid": entry}}
    with pytest.raises(UsageError, match=r"search space own: algorithm defedavg_iid has two entries \(here\)"):
        parse(several, "here")
