"""What it costs to always use one algorithm, where some level is one at which nobody arrives."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fedbench.suites.findings.results import Results
from fedbench.suites.mapped import always, asking, factors
from fedbench.suites.mapped.fitting import Fitted
from fedbench.suites.mapped.model import Model
from fedbench.suites.suite import Suite


def test_where_nobody_arrives_nothing_is_said(suite: Suite, results: Results, fitted: Fitted) -> None:
    """Of points with three at work: the rest of the map stands."""
    design, points = suite.designed(), factors.points(suite, "design")
    whole = Model.of(design, fitted, "seconds", points)
    few = np.array(points["at_work"]) == 3
    arrives = whole.seen.arrives & ~few[:, None]
    part = replace(whole, seen=replace(whole.seen, arrives=arrives))
    found = [one for one in always.always(part, points) if one.at_work is None]
    assert {one.algorithm for one in found} == {one.algorithm for one in always.always(whole, points) if one.at_work is None}
    assert all(suite.point(one.worst_at).levels["at_work"] != 3 for one in found)
    assert {one.at_work for one in asking._advice(whole)} == {3, 20}
    assert {one.at_work for one in asking._advice(part)} == {20}
    close = {one.levels["at_work"]: one.close for one in asking._regions(part) if list(one.levels) == ["at_work"]}
    assert set(close[3].values()) == {0.0}
    assert max(close[20].values()) > 0.5
    missing = replace(
        whole, measured=replace(whole.measured, is_bound=whole.measured.is_bound | (np.array(points["at_work"]) == 8)[:, None])
    )
    assert {one.worst[2] for one in always.always(missing, points) if one.at_work is None} == {None}, "there it may cost more"
    assert {one.points for one in found} == {int((~few).sum())}
    nobody = replace(whole, seen=replace(whole.seen, arrives=arrives & False))
    assert list(always.always(nobody, points)) == []
