"""What a race promises, by simulation with a known truth: costs are drawn, nothing is trained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pytest

from fedbench.analysis.board import BOARD_AXES
from fedbench.analysis.costs import Costs
from fedbench.analysis.reaching import Rule
from fedbench.suites.race.judging import RULES, boards, verdict
from fedbench.suites.race.schema import Race
from tests.analysis.boards_made_up import Floats, drawn

RACE = Race.model_validate(
    {"looks": [{"seeds": n, "level": level} for n, level in ((3, 0.002), (10, 0.008), (20, 0.015), (40, 0.025))]}
)
PROMISED = sum(look.level for look in RACE.looks)
MOST = RACE.looks[-1].seeds
Place = tuple[str, Rule]


@dataclass(frozen=True)
class Raced:
    """How a race ended: after how many seeds each row was dropped, 0 if it was not, and how many
    seeds it had (K,)."""

    dropped: npt.NDArray[np.int64]
    seeds: npt.NDArray[np.int64]


def raced(costs: Mapping[Place, Costs], race: Race = RACE) -> Raced:
    """Races rows whose costs with all seeds are known."""
    rows = left = next(iter(costs.values())).rows
    dropped, seeds = dict.fromkeys(rows, 0), dict.fromkeys(rows, 0)
    for number, look in enumerate(race.looks):
        if number and len(left) < 2:
            break
        seeds |= dict.fromkeys(left, look.seeds)
        now = {place: _first(one, look.seeds).among(left) for place, one in costs.items()}
        found = verdict(left, boards(now, look))
        dropped |= dict.fromkeys(found.dropped, look.seeds)
        left = found.left
    return Raced(np.array([dropped[row] for row in rows]), np.array([seeds[row] for row in rows]))


def _first(one: Costs, n: int) -> Costs:
    return replace(one, seeds=one.seeds[:n], spent=one.spent[:n], missed=one.missed[:n], step=one.step[:n])


def six_boards(generator: np.random.Generator, means: Floats, race: int) -> dict[Place, Costs]:
    """A row spends as much of everything a second as any other, so that the axes say the same but
    for a little noise, and holds a target somewhat later than it touches it. Scatters of rows
    differ by a factor of 4; races take turns at correlations of seeds, heavy tails, and costs on a
    grid with misses behind a budget of three times the best."""
    scatter = np.exp(generator.permutation(np.linspace(np.log(0.08), np.log(0.32), len(means))))
    touched = drawn(generator, MOST, means, scatter, correlation=(0, 0.4, 0.8)[race % 3], heavy=race % 2 == 1)
    held = touched.spent * np.exp(0.1 * np.abs(generator.standard_normal(touched.spent.shape)))
    found: dict[Place, Costs] = {}
    for axis in BOARD_AXES:
        noise = np.exp(0.02 * generator.standard_normal(touched.spent.shape))
        for rule, spent in (("touch", touched.spent), ("window", held)):
            found[axis, rule] = _on_grid(replace(touched, spent=spent * noise), race)
    return found


def _on_grid(one: Costs, race: int) -> Costs:
    if race % 4 < 2:
        return one
    spent, budget = np.exp(np.ceil(np.log(one.spent) / 0.05) * 0.05), 60.0
    return replace(one, spent=np.minimum(spent, budget), missed=spent > budget, step=np.full(spent.shape, 0.05))


def interval(hits: float, races: int) -> str:
    """A share with its 95 % interval (Wilson 1927)."""
    share, z = hits / races, 1.96
    middle, half = share + z**2 / (2 * races), z * np.sqrt(share * (1 - share) / races + z**2 / (4 * races**2))
    low, high = ((middle + side * half) / (1 + z**2 / races) for side in (-1, 1))
    return f"{100 * share:.2f} % [{100 * low:.2f}, {100 * high:.2f}]"


def test_the_places_of_a_race() -> None:
    """A small one, in which the truth is plain: one row is the best, one is equal to it on average,
    and others cost three times as much."""
    means = np.log([20.0, 20.0, 60.0, 60.0, 60.0])
    found = [raced(six_boards(np.random.Generator(np.random.Philox(seed)), means, seed)) for seed in range(10)]
    dropped = np.array([one.dropped for one in found]) > 0
    assert dropped[:, 2:].all()
    assert dropped[:, :2].sum() <= 1
    assert np.mean([one.seeds.sum() for one in found]) < 0.6 * 5 * MOST
    assert set(RULES) == {"touch", "window"}


@pytest.mark.slow
@pytest.mark.parametrize("rows", [4, 8, 16])
def test_the_best_row_is_kept(rows: int) -> None:
    """The best row, a second one that costs 5 % more, and others up to 4.5 times as much: in 2,000
    races the best is dropped in at most the promised share, and so are all rows within 10 % of it
    together."""
    generator, races = np.random.Generator(np.random.Philox(rows)), 2000
    means = np.log(20) + np.concatenate([[0, 0.05], np.linspace(0.15, 1.5, rows - 2)])
    found = [raced(six_boards(generator, means, number)) for number in range(races)]
    dropped = np.array([one.dropped for one in found]) > 0
    near = means - means.min() < np.log(1.1)
    nobody = dropped[:, near].all(axis=1).sum()
    saved = 1 - np.mean([one.seeds.sum() for one in found]) / (rows * MOST)
    print(
        f"{rows} rows: the best is dropped in {interval(dropped[:, 0].sum(), races)}, the one at 5 % in "
        f"{interval(dropped[:, 1].sum(), races)}, all within 10 % in {interval(nobody, races)}; {100 * saved:.0f} % of runs saved"
    )
    assert dropped[:, 0].sum() <= PROMISED * races
    assert nobody <= PROMISED * races


@pytest.mark.slow
@pytest.mark.parametrize("rows", [2, 4, 8, 16])
def test_equal_rows_are_kept(rows: int) -> None:
    """Each of them is the best, and is dropped with at most the promised probability."""
    generator, races = np.random.Generator(np.random.Philox(100 + rows)), 1000
    found = [raced(six_boards(generator, np.full(rows, np.log(20)), number)) for number in range(races)]
    dropped = np.array([one.dropped for one in found])
    each: Sequence[str] = [f"{n}: {100 * (dropped == n).mean():.2f} %" for n in [look.seeds for look in RACE.looks]]
    print(f"{rows} equal rows: a row is dropped in {interval((dropped > 0).mean() * races, races)} ({', '.join(each)})")
    assert (dropped > 0).mean() <= PROMISED
