"""The picture of the points held out has what the map is judged by."""

from __future__ import annotations

import numpy as np
import pytest

from fedbench.suites import suite as suites
from fedbench.suites.findings.results import load
from fedbench.suites.mapped import statements
from tests.suites.mapped import picture
from tests.suites.mapped.picture import ROOT, Dots


def test_a_prediction_above_a_bound_is_no_error() -> None:
    found = Dots(np.array([0.0, 1.0, 1.0]), np.array([0.3, 2.0, 0.6]), np.array([False, True, True]))
    assert found.error == pytest.approx(0.5), "0.3 and 0.4, over one cost that is known"


@pytest.mark.slow
def test_its_dots_are_those_that_are_judged() -> None:
    results = load(suites.load("map"), ROOT / "results/tuned", ROOT / "results/suites")
    said = statements.read(ROOT / "results/suites/map", results)
    assert [one.axis for one in said.judged] == ["seconds", "gradient_evaluations", "bytes"]
    for one in said.judged:
        found = picture.dots(results, said, one.axis)
        assert ((~found.is_bound).sum(), found.is_bound.sum()) == (one.exact, one.bounds)
        assert found.error == pytest.approx(one.error, abs=0.01), "of fewer draws"
