"""The small suite and what its made-up runs say, once for all tests."""

from __future__ import annotations

import pytest

from fedbench.suites.findings.results import Results
from fedbench.suites.mapped import asking, fitting
from fedbench.suites.mapped.fitting import Fitted
from fedbench.suites.mapped.statements import Map
from fedbench.suites.suite import Suite
from tests.suites.mapped import made_up, small


@pytest.fixture(scope="session", name="suite")
def _suite(tmp_path_factory: pytest.TempPathFactory) -> Suite:
    return small.suite(tmp_path_factory.mktemp("small"))


@pytest.fixture(scope="session", name="results")
def _results(suite: Suite) -> Results:
    return made_up.results(suite)


@pytest.fixture(scope="session", name="fitted")
def _fitted(results: Results) -> Fitted:
    return fitting.both(results, replicates=4, draws=50)


@pytest.fixture(scope="session", name="said")
def _said(results: Results, fitted: Fitted) -> Map:
    return asking.said(results, fitted)
