"""Models are fitted in processes, to the bits that one thread gives."""

from __future__ import annotations

import os

import pytest

from fedbench.analysis.map.draws import Draws
from fedbench.errors import UsageError
from fedbench.suites.findings.results import Results
from fedbench.suites.mapped import fitting
from fedbench.suites.mapped.columns import entered
from fedbench.suites.mapped.fitting import Fitted, tasks
from fedbench.suites.suite import Suite
from tests.suites.mapped import made_up


def test_the_models_of_all_axes(results: Results, fitted: Fitted) -> None:
    assert list(fitted.whole) == ["seconds", "gradient_evaluations", "bytes"] == list(fitted.main)
    for axis, draws in fitted.whole.items():
        assert isinstance(draws, Draws)
        assert draws.algorithms == ("asysg", "fedasync", "fedavg", "fedbuff", "feddyn", "fedecho")
        assert draws.fit.runs.points == tuple(point.name for point in results.suite.points if point.kind == "design")
        assert len(draws.coefficients) == 200
        assert len(draws.design.terms) == 8
        assert fitted.main[axis].design.terms == ("1", "skew.1", "spread", "at_work", "spread^2", "at_work^2")


def test_the_same_bits_in_any_number_of_processes(monkeypatch: pytest.MonkeyPatch, results: Results, fitted: Fitted) -> None:
    """Processes have linear algebra of one thread, whatever this one has, and it keeps its own."""
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "2")
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    again = fitting.both(results, processes=2, replicates=4, draws=50)
    for axis, draws in again.whole.items():
        assert draws.coefficients.tobytes() == fitted.whole[axis].coefficients.tobytes()
    assert os.environ["OPENBLAS_NUM_THREADS"] == "2"
    assert "OMP_NUM_THREADS" not in os.environ


def test_processes_start_with_one_thread() -> None:
    with fitting._one_thread():
        assert {os.environ[name] for name in fitting.THREADS} == {"1"}


def test_a_point_of_the_design_without_runs_is_refused(suite: Suite) -> None:
    results = made_up.results(suite)
    del results.seats["design-07"]
    (task, *_) = tasks(results, entered(results), interact=True)
    with pytest.raises(UsageError, match=r"^map: no run at the point 'design-07' of the design$"):
        task.done()
    with pytest.raises(UsageError, match=r"^map: no run at the point 'design-07' of the design$"):
        fitting.both(results)
