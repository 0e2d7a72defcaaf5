"""The check of races as a whole, with few rows and seeds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fedbench.suites.own_race import plan as plans
from fedbench.suites.own_race import suite
from fedbench.suites.own_race.plan import RUNGS
from fedbench.suites.race.schema import Look
from tests.suites.own_race import kept


@pytest.mark.parametrize("tune", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_it_compares_a_race_with_other_seeds_of_all_rows(
    tune: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of two algorithms, one of which costs several times as much; and goes on."""
    for module, name, value in (
        (suite, "LOOKS", (Look(seeds=3, level=0.05),)),
        (suite, "MOST_SEEDS", 3),
        (plans, "RUNGS", RUNGS[-1:]),
        (kept, "MOST_SEEDS", 3),
        (kept, "ALGORITHMS", ("fedbuff", "fedavg[local_lr=0.02]")),
    ):
        monkeypatch.setattr(module, name, value)
    words = [str(tmp_path), "--repeats", "2", "-j", "1", *(["--tune"] if tune else [])]
    kept.main(words)
    out = capsys.readouterr().out
    *repeats, said = out.splitlines()
    for number, one in enumerate(map(json.loads, repeats)):
        assert (one["repeat"], one["rows"]) == (number, 2)
        assert set(one["kept"].values()) == {True}
        assert 0.3 < one["share"] <= 1
    assert said.startswith("the cheapest row in seconds was kept in 2 of 2 repeats and shown in ")
    kept.main(words)
    assert capsys.readouterr().out == out
