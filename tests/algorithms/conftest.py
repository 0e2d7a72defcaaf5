"""What holds of every algorithm, whatever is tested."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Iterable
from typing import Any

import pytest


@pytest.fixture(autouse=True)
def _adds_floats_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """From Python 3.12 on, `sum` makes up for roundings of floats, so a run would have other bits
    there. Algorithms add them with kernels.ordered_sum or numpy."""
    add: Any = builtins.sum

    def checked(values: Iterable[Any], /, start: Any = 0) -> Any:
        total, caller = add(values, start), sys._getframe(1).f_globals["__name__"]
        assert not (isinstance(total, float) and caller.startswith("fedbench.algorithms")), f"{caller} sums floats"
        return total

    monkeypatch.setattr(builtins, "sum", checked)
