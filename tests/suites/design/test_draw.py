"""The same seed draws the same points, and only possible ones."""

from __future__ import annotations

import hashlib

import pytest

from fedbench import strict_yaml
from fedbench.errors import UsageError
from fedbench.scenarios.problems import validated
from fedbench.suites.design.draw import draw, with_drawn
from fedbench.suites.design.schema import LIBRARY, Design, load

from .conftest import made

TEXT = """\
# By hand.
schema: 1
name: mine
factors:
  skew: {levels: [{level: iid}, {level: two_classes}, {level: natural}]}
  spread: {levels: [{level: 0}, {level: 0.5}, {level: 1.2}]}
  tied: {levels: [{level: 0}, {level: 0.9}]}
  work: {scale: log, levels: [{level: 5}, {level: 10}, {level: 100}]}
other_clients: {levels: [{level: 30}, {level: 1000}]}
interactions: [[work, all]]
impossible:
  - {tied: [0.9], spread: [0]}
  - {tied: [0.9], skew: [iid]}
  - {clients: [30], work: [100]}
points: {design: 16, held_out: 8, other_clients: 5}
"""
DIGEST = "0821c0c01236772e"


def given() -> Design:
    return validated(Design, strict_yaml.load(TEXT), "here")


@pytest.mark.parametrize("seed", range(4))
def test_impossible_cells_are_never_drawn(seed: int) -> None:
    """And no point is held out of a design that has it."""
    found = draw(given(), seed, 2)
    for row in (*found.design, *found.held_out, *(row[1:] for row in found.other_clients)):
        skew, spread, tied, _ = row
        assert tied == 0 or (spread != 0 and skew != "iid")
    assert not [row for row in found.other_clients if row[0] == 30 and row[-1] == 100]
    assert len({*found.design, *found.held_out}) == 16 + 8
    assert [row[0] for row in found.other_clients] == [30, 30, 30, 1000, 1000]


def test_the_same_seed_writes_the_same_bytes_on_every_machine() -> None:
    one, other = (with_drawn(TEXT, given(), draw(given(), seed, 3), "fedbench") for seed in (7, 8))
    assert one != other
    assert hashlib.sha256(one.encode()).hexdigest()[:16] == DIGEST


def test_more_held_out_points_leave_the_design_as_it_is() -> None:
    text = TEXT.replace("held_out: 8", "held_out: 3")
    fewer = draw(validated(Design, strict_yaml.load(text), "here"), 7, 3)
    more = draw(given(), 7, 3)
    assert fewer.design == more.design
    assert set(fewer.held_out) < set(more.held_out)


def test_what_was_drawn_before_is_replaced_and_the_rest_stays() -> None:
    once = with_drawn(TEXT, given(), draw(given(), 7, 1), "first")
    again = validated(Design, strict_yaml.load(once), "here")
    assert again.drawn == draw(given(), 7, 1)
    twice = with_drawn(once, again, draw(again, 8, 1), "second")
    assert twice.startswith(TEXT)
    assert twice.count("drawn:") == 1
    assert "# from here on written by `second`" in twice


def test_more_points_than_there_are() -> None:
    with pytest.raises(UsageError, match="points of held_out: expected at most the 1 possible ones, got 2"):
        draw(made({"a": {"levels": [{"level": 1}, {"level": 2}, {"level": 3}, {"level": 4}]}}, 3, points={"held_out": 2}), 0, 1)


@pytest.mark.slow
def test_the_map_is_what_its_seed_draws() -> None:
    """To the byte: nobody has moved a point since."""
    text, design = (LIBRARY / "map.yaml").read_text(), load("map")
    assert design.drawn is not None
    seed, starts = design.drawn.seed, design.drawn.starts
    command = f"fedbench suite design map.yaml --seed {seed} --starts {starts}"
    assert with_drawn(text, design, draw(design, seed, starts), command) == text
