"""Inputs that anybody may have written, each through the whole command line: one line says what is
wrong, soon and with little memory, and nothing is executed or written elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hostile import boards, checkpoints, measured, outputs, plugins, scenarios, settings, suites
from tests.hostile.case import Nursery, faults, nursery

ALL = [case for module in (scenarios, settings, measured, suites, boards, checkpoints, plugins, outputs) for case in module.CASES]
BY_NAME = {case.name: case for case in ALL}


@pytest.fixture(scope="session")
def born() -> Iterator[Nursery]:
    with nursery() as found:
        yield found


@pytest.mark.parametrize("name", BY_NAME)
def test_one_line_soon_and_with_little_memory(name: str, born: Nursery, tmp_path: Path) -> None:
    case = BY_NAME[name]
    outcome = born.run(case, tmp_path)
    assert faults(case, outcome) == [], outcome.error[:3000]


def test_every_case_has_a_name_of_its_own() -> None:
    assert len(BY_NAME) == len(ALL) >= 300
