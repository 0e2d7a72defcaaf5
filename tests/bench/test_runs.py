"""Whole runs: what other ways get of them, and what is watched without them."""

from __future__ import annotations

import numpy as np

from fedbench.bench import find
from fedbench.bench.catalogue import whole
from fedbench.bench.orders import cohorts
from fedbench.bench.runs import alone, orders_of, spec_of
from fedbench.engine.plan import plan
from fedbench.engine.run import Run


def test_orders_are_the_plan_s() -> None:
    case = find("run-fedavg-1000-clients-50-rounds")
    spec = spec_of(case.small, seed=2)
    orders = orders_of(spec)
    assert (len(orders.updates), orders.steps) == (plan(spec).updates, plan(spec).trained_steps)
    rows = cohorts(orders)
    assert rows.shape == (20, 10, 10, 10)
    assert all(np.isin(own, orders.clients.shards[job.client]).all() for job, own in zip(orders.updates[3], rows[3], strict=True))
    assert {*Run(spec).record().curves["version"].tolist(), 20} == orders.evaluated  # the last one is in `final`


def test_runs_that_are_watched_alone_need_no_rival() -> None:
    for case in whole():
        watched = alone(case, workers=1)
        assert (watched.name, watched.versus) == (case.name, ())
        given = watched.inputs(watched.small)
        watched.check(watched.ours, watched.ours.start(given), watched.reference(given))
