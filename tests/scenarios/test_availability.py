"""The parts availability, dropout and rounds: keys, ranges, files, overrides, the hash, and what
the clock gets of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from fedbench.errors import UsageError
from fedbench.kernels.random import Purpose, draw_per_client
from fedbench.scenarios.availability_parts import Windows
from fedbench.scenarios.load import LIBRARY, load, overrides_of
from fedbench.scenarios.system import availability, mean_absences

PERIODIC = ["availability.kind=periodic", "availability.period_seconds=4", "availability.on_fraction=0.5"]
ROWS = "availability={kind: table, rows: [[[0, 1], [2, 3.5]], [[0, 9]]]}"


def test_off_is_as_if_the_parts_were_not_there() -> None:
    plain = load("digits-demo")
    off = ["availability.kind=always", "dropout=0", "rounds={deadline_seconds: null, over_selection: 0}"]
    assert load("digits-demo", off).content_hash() == plain.content_hash()
    assert availability(plain, 0).kind == "always"


@pytest.mark.parametrize("override", [*PERIODIC[1:], "dropout=0.1", "rounds.deadline_seconds=3", "rounds.over_selection=2"])
def test_the_hash_covers_every_key(override: str) -> None:
    base = PERIODIC if override.startswith("availability") else []
    changed = load("digits-demo", [*base, override.replace("=4", "=5").replace("=0.5", "=0.6")])
    assert changed.content_hash() != load("digits-demo", base).content_hash()
    assert load("digits-demo", overrides_of(changed) or ()) == changed


def test_another_kind_drops_the_keys_of_the_old_one_and_only_those() -> None:
    always = load("digits-flaky", ["availability.kind=always"])
    assert always.availability.kind == "always"
    assert load("digits-flaky", overrides_of(always) or ()) == always
    periodic = load("digits-flaky", ["availability.when_offline=paused", *PERIODIC])
    assert periodic.availability.model_dump() == {
        "when_offline": "paused", "kind": "periodic", "period_seconds": 4, "on_fraction": 0.5, "phase": None,
    }  # fmt: skip
    assert load("digits-flaky", overrides_of(periodic) or ()) == periodic
    with pytest.raises(UsageError, match=r"unknown key availability.mean_on; did you mean"):
        load("digits-flaky", ["availability.mean_on=2", "availability.kind=periodic"])


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["availability.kind=sometimes"], r"availability.kind must be one of 'always', .*, got 'sometimes'"),
        (
            ["availability.kind=periodic"],
            r"availability.period_seconds must be a number, but is missing; availability.on_fraction must be a number, but",
        ),
        ([*PERIODIC, "availability.on_fraction=0"], r"availability.on_fraction must be > 0, got 0"),
        ([*PERIODIC, "availability.period=3"], r"unknown key availability.period; did you mean 'period_seconds'\?"),
        ([*PERIODIC, "availability.when_offline=wait"], r"availability.when_offline must be one of 'lost', 'paused', got 'wait'"),
        (["availability.when_offline=paused"], r"availability.kind must be one of .*, but is missing"),
        (["dropout=1"], r"dropout must be < 1, got 1"),
        (["dropuot=0.1"], r"unknown key dropuot; did you mean 'dropout'\?"),
        (["rounds.deadline_seconds=0"], r"rounds.deadline_seconds must be >= 1e-09, got 0"),
        (["rounds.deadline=3"], r"unknown key rounds.deadline; did you mean 'deadline_seconds'\?"),
        (["rounds.over_selection=-1"], r"rounds.over_selection must be >= 0, got -1"),
        ([ROWS], r"availability.rows: expected one row for each of 20 clients, got 2"),
        (["availability={kind: table, rows: [[[0, -1]]]}"], r"availability.rows.0.0.1 must be >= 0, got -1"),
    ],
)
def test_wrong_keys_and_values_are_named(overrides: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        load("digits-demo", overrides)


def written(folder: Path, **part: Any) -> Path:
    content = yaml.safe_load((LIBRARY / "digits-demo.yaml").read_text())
    path = folder / "mine.yaml"
    path.write_text(yaml.safe_dump(content | {"clients": 2, "availability": {"kind": "table", **part}}))
    return path


def test_windows_from_a_file_are_the_same_as_in_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inline = load("digits-demo", ["clients=2", ROWS])
    (tmp_path / "windows.csv").write_text("client, on, off\n1,0,9\n0,2,3.5\n\n0,0,1\n")
    (tmp_path / "windows.json").write_text(json.dumps([[0, 2, 3.5], [0, 0, 1], [1, 0, 9]]))
    for name in ("windows.csv", "windows.json"):
        scenario = load(written(tmp_path, file=name))
        assert scenario == inline
        assert scenario.content_hash() == inline.content_hash()
        assert load(scenario) == scenario
    monkeypatch.chdir(tmp_path)
    set_here = load("digits-demo", ["clients=2", "availability.kind=table", "availability.file=windows.csv"])
    assert set_here == inline
    assert isinstance(inline.availability, Windows)
    assert availability(inline, 0).rows == inline.availability.rows


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("w.csv", "client,from,to\n0,1,2\n", r"w.csv: expected the header client,on,off, got 'client,from,to'"),
        (
            "w.csv",
            "client,on,off\n0,1,2\n0,x,2\n",
            r"w.csv, line 3: expected client, on and off as numbers, got \['0', 'x', '2'\]",
        ),
        ("w.csv", "client,on,off\n0.5,1,2\n", r"w.csv, line 2: expected a client 0 .. 1 and finite seconds"),
        ("w.csv", "client,on,off\n0,1,inf\n", r"w.csv, line 2: .*finite seconds"),
        ("w.json", "[[0, 1]]", r"w.json, entry 0: expected client, on and off"),
        ("w.json", "[[true, 0, 1]]", r"w.json, entry 0: expected client, on and off"),
        ("w.json", "{}", r"w.json: expected a list of \[client, on, off\]"),
        ("w.json", "[", r"w.json: not valid JSON"),
        ("w.csv", "client,on,off\n0,1,2\n", r"availability.rows: expected one row for each of 2 clients, got 1"),
    ],
)
def test_broken_files_are_named(name: str, text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(UsageError, match=message):
        load(written(tmp_path, file=name))


def test_files_that_are_not_there_or_too_much(tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match=r"availability.file nothing.csv: not on this machine; looked for .*nothing.csv, nothing.csv, "
    ):
        load(written(tmp_path, file="nothing.csv"))
    with pytest.raises(UsageError, match=r"availability: give rows or a file, got both"):
        load(written(tmp_path, file="w.csv", rows=[]))


def test_some_are_rarely_there_by_a_draw_of_their_own() -> None:
    scenario = load("digits-flaky", ["clients=4000"])
    part = scenario.availability
    assert part.kind == "alternating"
    means = mean_absences(part, 4000, seed=3)
    rare = draw_per_client(3, Purpose.rarity, 4000) < 0.25
    assert np.array_equal(means, np.where(rare, 12.0, 2.0))
    assert abs(rare.mean() - 0.25) < 0.03
    assert np.array_equal(mean_absences(part, 10, seed=3), np.asarray(means)[:10])
    same = load("digits-flaky", ["availability.rarely=null"]).availability
    assert mean_absences(same, 20, seed=3) == 2.0  # type: ignore[arg-type]
