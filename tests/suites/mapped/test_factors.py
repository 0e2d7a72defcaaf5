"""What a model wants to know of a design."""

from __future__ import annotations

import numpy as np

from fedbench.analysis.map.factors import Design
from fedbench.analysis.map.presence import Presence
from fedbench.suites import suite as suites
from fedbench.suites.design import schema as designs
from fedbench.suites.mapped import factors
from fedbench.suites.suite import Suite


def test_the_model_of_suite_map_is_the_one_that_its_points_were_drawn_for() -> None:
    suite = suites.load("map")
    design = suite.designed()
    points, possible = factors.points(suite, "design"), factors.table(design, factors.possible(design))
    found = Design.over(factors.factors(design), design.pairs(), points, possible)
    assert design.drawn is not None
    assert len(points["point"]) == design.drawn.figures.points == 60
    assert len(found.terms) == design.drawn.figures.effects
    assert len(found.left_out) == sum(design.drawn.figures.left_out.values())


def test_the_middle_of_suite_map_and_its_kinds_of_heterogeneity() -> None:
    design = designs.load("map")
    middle = factors.base(design)
    assert list(middle.values()) == ["dirichlet_0.3", 0.5, 1, 1, 10, 10, 0, 0]
    found = factors.cases(design)
    assert [one.words for one in found[:5]] == ["the middle", "skew iid", "skew dirichlet_0.1", "skew two_classes", "spread 0"]
    assert len(found) == 1 + 3 + 2 + 1 + 2 + 2 + 1 + 1
    assert all("at_work" not in one.levels for one in found)
    assert all(sum(one.levels[name] != middle[name] for name in one.levels) == 1 for one in found[1:])


def test_a_factor_all_of_whose_levels_change_the_scenario_has_the_first_as_middle(suite: Suite) -> None:
    assert factors.base(suite.designed()) == {"skew": "two_class", "spread": 8, "at_work": 3}


def test_points_of_one_kind_have_the_levels_of_all_factors(suite: Suite) -> None:
    design, others = factors.points(suite, "design"), factors.points(suite, "other_clients")
    assert list(design) == ["point", "skew", "spread", "at_work"] == list(others)
    assert len(design["point"]) == 12
    assert len(factors.points(suite, "held_out")["point"]) == 4
    assert [suite.point(name).levels["spread"] for name in design["point"]] == design["spread"]
    assert len(factors.possible(suite.designed())) == 18


def test_who_runs_where(suite: Suite) -> None:
    """Level by level; between two levels that points have, who runs at both."""
    levels = {
        "skew": ["iid", "two_class", "iid", "iid", "two_class"],
        "spread": [1, 8, 8, 1, 1],
        "at_work": [3, 20, 20, 20, 3],
    }
    has_runs = np.array([[True] * 5, [False, True, True, True, False], [True, False, True, True, False]]).T
    seen = Presence(levels, has_runs, has_runs)
    asked = [("iid", 1, 3), ("iid", 8, 20), ("two_class", 8, 20), ("iid", 1, 8), ("iid", 4, 20)]
    columns = {name: [row[place] for row in asked] for place, name in enumerate(levels)}
    found = factors.runs_there(suite.designed(), seen, columns)
    assert found.tolist() == [
        [True, False, True],
        [True, True, True],
        [True, True, False],
        [True, False, True],
        [True, True, True],
    ]
    assert found.dtype == np.bool_
