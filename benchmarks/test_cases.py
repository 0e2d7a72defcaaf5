"""Every case of fedbench.bench, every way of it: checked here, and timed by `pytest benchmarks
--benchmark-enable`.

Without that switch the inputs are tiny, so that the test suite stays fast; `-m slow` checks the
full sizes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from fedbench.bench import CASES, Case, Way, host, missing, runs


def starts_processes(case: Case, way: Way) -> bool:
    """Those of the loop that people write take seconds to start: it is the reference of runs with a
    CNN, and a rival of the others."""
    return case.group == "run" and (way.name == runs.LOOP.name or case.reference is runs.looped)


WAYS = [
    pytest.param(case, way, id=f"{case.name}-{way.name}", marks=[pytest.mark.slow] if starts_processes(case, way) else [])
    for case in CASES.values()
    for way in (case.ours, *case.versus)
]


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    import torch

    threads = torch.get_num_threads()
    host.set_threads(1, CASES.values())
    yield
    torch.set_num_threads(threads)


def checked(case: Case, way: Way, size: Any) -> Any:
    """What is timed, after it has given the right result once."""
    if reason := missing(way):
        pytest.skip(reason)
    given = case.inputs(size)
    ready = way.start(given)
    case.check(way, ready, case.reference(given))
    return ready.act


@pytest.mark.parametrize(("case", "way"), WAYS)
def test_case(benchmark: Any, case: Case, way: Way) -> None:
    if benchmark.enabled and case.heavy:
        pytest.skip("heavy: fedbench bench --full")
    benchmark.group = case.name
    benchmark(checked(case, way, case.size if benchmark.enabled else case.small))


@pytest.mark.slow
@pytest.mark.parametrize(("case", "way"), WAYS)
def test_case_at_full_size(case: Case, way: Way) -> None:
    checked(case, way, case.size)
