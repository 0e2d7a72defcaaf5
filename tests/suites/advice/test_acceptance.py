"""The check of advice as a whole, on small scenarios."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import numpy as np
import pytest

from fedbench.analysis.map.saved import write
from fedbench.errors import UsageError
from fedbench.results import archive
from fedbench.suites import campaign
from tests.analysis.map.made_up_map import made_up
from tests.suites.advice import acceptance, drawn
from tests.suites.advice.drawn import Asked

if TYPE_CHECKING:
    from fedbench.analysis.map.kept import Costs

SMALL = ("clients=8", "at_work=4", "budget.seconds=6", "partition.kind=iid")


@pytest.fixture
def words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Three small scenarios: one on the map, one with another model, and one with everybody at
    work."""
    write(tmp_path / "map.npz", made_up())
    several = [Asked((), SMALL), Asked(("task.model=softmax",), SMALL)]
    for module, name, value in (
        (drawn, "BASE", "digits-demo"),
        (drawn, "ON", 1),
        (drawn, "AT_ONCE", 1),
        (drawn, "drawn", lambda: several),
        (drawn, "at_once", lambda: [Asked((), (*SMALL, "at_work=8"))]),
        (acceptance, "FEW", 2),
        (acceptance, "SEEDS", 3),
        (acceptance, "CENTRAL", ("budget.seconds=2", "targets=[]")),
    ):
        monkeypatch.setattr(module, name, value)
    return [str(tmp_path / "runs"), "--map", str(tmp_path / "map.npz")]


def test_it_runs_prices_and_goes_on(words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    acceptance.main([*words, "--price"])
    assert " runs, " in capsys.readouterr().out
    acceptance.main([*words, "--picture", str(tmp_path / "advice.svg")])
    assert "the same five everywhere" in (tmp_path / "advice.svg").read_text()
    first = capsys.readouterr().out
    for line in ("on the map: ", "all: ", "everybody at work: ", "bytes: "):
        assert f"\n{line}" in first
    assert re.match(r" 1  (hit |miss)  \S+  best \w+; named \w+ .*; clients=8, at_work=4, partition\.kind=iid\n", first)
    assert re.search(r"\nthe same five everywhere: \d of 2; five drawn by chance: \d\.\d of 2 expected\n", first)
    assert "printed ratios" in first.splitlines()[-1]
    acceptance.main([*words, "--price"])
    assert capsys.readouterr().out.startswith("0 runs, ")
    acceptance.main(words)
    assert capsys.readouterr().out == first


def test_what_is_kept_is_taken_over(words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In another folder, without a run; also what was there when it broke off. Answers are never
    replaced by others."""
    keep = ["--keep", str(tmp_path / "kept")]
    compute, calls = campaign.compute, list[int]()

    def breaks_off(wanted: list[object], store: object, **options: object) -> campaign.Tally:
        calls.append(len(wanted))
        if len(calls) == 3:
            raise KeyboardInterrupt
        return compute(wanted, store, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(campaign, "compute", breaks_off)
        with pytest.raises(KeyboardInterrupt):
            acceptance.main([*words, *keep])
    assert len(archive.read(tmp_path / "kept")) >= sum(calls[:2])
    shutil.rmtree(words[0])
    acceptance.main([*words, *keep])
    first = capsys.readouterr().out
    shutil.rmtree(words[0])
    acceptance.main([*words, *keep, "--price"])
    assert capsys.readouterr().out.startswith("0 runs, ")
    acceptance.main([*words, *keep])
    assert capsys.readouterr().out == first
    (Path(words[0]) / acceptance.ANSWERS).write_text("{}")
    with pytest.raises(SystemExit, match="its answers are others than those in"):
        acceptance.main([*words, *keep])


def test_answers_are_those_of_one_map(words: list[str], tmp_path: Path) -> None:
    """They are written down before the runs, and another map is refused."""
    acceptance.main([*words, "--price"])
    write(tmp_path / "map.npz", made_up(records=7))
    with pytest.raises(SystemExit, match=r"answers\.json: its answers are of another map"):
        acceptance.main(words)


def test_what_fails_is_named_and_the_rest_is_judged(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An algorithm whose runs fail is out, and an advice that is an error says nothing."""

    def refuses(scenario: object, **_: object) -> None:
        raise UsageError("no such place")

    def without_fedavg(wanted: list[object], store: object, **options: object) -> campaign.Tally:
        kept = [spec for spec in wanted if spec.algorithm.name != "fedavg"]
        found = whole(kept, store, **options)
        failed = tuple((spec, "it fell over") for spec in wanted if spec.algorithm.name == "fedavg")
        return campaign.Tally(len(wanted), found.there, found.before, failed)

    whole = campaign.compute
    monkeypatch.setattr(acceptance.fb, "advise", refuses)
    monkeypatch.setattr(campaign, "compute", without_fedavg)
    acceptance.main(words)
    out = capsys.readouterr().out
    assert "seconds: no such place" in out
    assert "failed: fedavg" in out
    assert "it fell over" in out
    assert "\nall: 0 of 2 named sets" in out
    assert "2 where no answer" in out


def test_a_list_that_asks_nobody_is_that_of_all_points() -> None:
    """The cheapest over all points first, of those that run there and have runs at half of them."""
    regret = np.array([[0.3, 0.0, 0.1, 0.2, np.nan, 0.4, 9.0]] * 2)
    regret[0, 2] = np.nan
    names = ("a", "b", "c", "d", "e", "f", "g")
    costs = cast("Costs", SimpleNamespace(algorithms=names, regret=regret))
    assert acceptance.everywhere(costs, names) == ["b", "c", "d", "a", "f"]
    assert acceptance.everywhere(costs, set(names) - {"b"}) == ["c", "d", "a", "f", "g"]
