"""What a case promises, on a toy: the check finds wrong ways, and what is missing is said in
words."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from fedbench.bench.case import Case, Ready, Way, WrongResult, draws, missing


def way(name: str, **gives: Any) -> Way:
    return Way(name, lambda _: Ready(lambda: gives, lambda result: result))


def toy(*ways: Way, tolerance: float = 1e-3) -> Case:
    ours, *versus = ways
    return Case(
        name="toy",
        group="toys",
        size=3,
        small=2,
        inputs=np.arange,
        ours=ours,
        versus=tuple(versus),
        reference=lambda given: {"x": np.array([1.0, -10.0]), "count": 3},
        tolerance=tolerance,
    )


def check(candidate: Way, tolerance: float = 1e-3) -> None:
    case = toy(candidate, tolerance=tolerance)
    given = case.inputs(case.size)
    case.check(candidate, candidate.start(given), case.reference(given))


@pytest.mark.parametrize(
    ("gives", "message"),
    [
        ({"x": np.array([1.0, -10.2])}, "another x: off by 0.02, allowed 0.001"),
        ({"x": np.array([1.0, np.nan])}, "another x: off by nan"),
        ({"x": np.array([1.0])}, "another x: off by inf"),
        ({"count": 4}, "another count: off by inf"),
        ({"y": 1}, "gives ['y'], expected some of ['count', 'x']"),
        ({}, "gives []"),
    ],
)
def test_a_wrong_way_is_named(gives: dict[str, Any], message: str) -> None:
    with pytest.raises(WrongResult, match="toy: broken ") as error:
        check(way("broken", **gives))
    assert message in str(error.value)


def test_errors_count_against_the_largest_value_and_a_way_may_have_its_own_tolerance() -> None:
    check(way("close", x=np.array([1.005, -10.0])))
    check(Way("rough", way("", x=np.array([1.5, -10.0])).start, tolerance=0.1))
    check(way("whole", count=3), tolerance=0.0)


def test_what_is_missing_is_said_in_words() -> None:
    start = way("").start
    assert missing(Way("here", start, ("numpy", "fedbench.kernels:weighted_sum"))) == ""
    assert missing(Way("no library", start, ("no_such_library",))) == "no_such_library is not installed"
    assert missing(Way("no function", start, ("fedbench.kernels:no_sum",))) == "this build has no fedbench.kernels.no_sum"
    assert missing(Way("no module", start, ("fedbench.kernels.none:f",))) == "this build has no fedbench.kernels.none.f"


def test_the_library_that_decides_about_a_way() -> None:
    start = way("").start
    needs = [(), ("torch",), ("fedbench.kernels.probe:Hold",)]
    assert [Way("w", start, n).library for n in needs] == ["", "torch", ""]


def test_draws_depend_on_their_key_only() -> None:
    assert draws("a", 1).integers(1 << 62) == draws("a", 1).integers(1 << 62)
    assert len({int(draws(*key).integers(1 << 62)) for key in (("a", 1), ("a", 2), ("b", 1), ("a",))}) == 4


def test_the_cases_need_numpy_only() -> None:
    """A fresh interpreter that imports every case and runs ours, but for whole runs, has no torch,
    simpy, pydantic or pyarrow."""
    code = (
        "import sys\n"
        "from fedbench.bench import CASES\n"
        "for case in (case for name, case in CASES.items() if not name.startswith('run-')):\n"
        "    given = case.inputs(case.small)\n"
        "    case.check(case.ours, case.ours.start(given), case.reference(given))\n"
        "print(sorted({'torch', 'simpy', 'pydantic', 'pyarrow', 'pandas', 'scipy', 'rich'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
