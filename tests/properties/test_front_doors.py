"""Every front door of fedbench.kernels: a result is numpy's, or the call is refused in words; what
went in is never changed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbench.errors import UsageError

from .doors import DOORS, Arguments, Array, Door
from .odd import PROFILE, REFUSAL, SPOILERS, is_spoiled, read_only, snapshot

SIZES = {
    "K": st.integers(1, 4),
    "d": st.sampled_from([2, 7, 8, 9, 33]),
    "B": st.integers(1, 9),
    "C": st.sampled_from([2, 3, 8, 35]),
}


def plain(door: Door, sizes: dict[str, int], dtype: Any, seed: int) -> Arguments:
    """Arguments that every door takes: positive, so that they can be second moments, weights and
    shares too."""
    random = np.random.default_rng(seed)
    return {
        name: np.array(random.uniform(0.25, 4, [sizes[axis] for axis in axes]), door.fixed.get(name, dtype))
        for name, axes in door.shapes.items()
    }


def overlapping(door: Door, arguments: Arguments, target: str, source: str) -> bool:
    """Let `target` share memory with `source`, where both have one dtype; False if they cannot."""
    a, b = arguments[target], arguments[source]
    if a.dtype != b.dtype or a.ndim != b.ndim or a.shape != b.shape:
        return False
    memory = np.concatenate([b.ravel(), b.ravel()[-1:]])
    arguments[source] = memory[:-1].reshape(b.shape)
    arguments[target] = memory[1:].reshape(a.shape) if a.size > 1 else arguments[source]
    return True


@pytest.mark.parametrize("name", DOORS)
@PROFILE
@given(data=st.data())
def test_numpys_result_or_a_refusal(name: str, data: st.DataObject) -> None:
    door = DOORS[name]
    sizes = {axis: data.draw(values, axis) for axis, values in SIZES.items()}
    dtype = data.draw(st.sampled_from([np.float32, np.float64]), "dtype")
    arguments = plain(door, sizes, dtype, data.draw(st.integers(0, 2**32), "seed"))
    good = {key: value.copy() for key, value in arguments.items()}
    change = data.draw(st.sampled_from(["nothing", "spoil", "spoil", "spoil", "share", "read only"]), "change")
    target = data.draw(st.sampled_from(sorted(door.shapes)), "argument")
    allowed = True
    if change == "spoil":
        spoiler = data.draw(st.sampled_from(sorted(SPOILERS)), "spoiler")
        allowed = not is_spoiled(spoiler, arguments[target]) or spoiler in door.also.get(target, ())
        arguments[target] = SPOILERS[spoiler](arguments[target])
        if allowed:
            good[target] = np.array(arguments[target])
    elif change == "share":
        source = data.draw(st.sampled_from(sorted(door.shapes)), "shared with")
        if source != target and overlapping(door, arguments, target, source):
            allowed = not {source, target} & door.outputs
            good = {key: value.copy() for key, value in arguments.items()}
    elif change == "read only":
        arguments[target] = read_only(arguments[target])
        allowed = target not in door.outputs
    check(door, arguments, good, {"size": sizes["K"], "dtype": dtype}, allowed=allowed)


def check(door: Door, arguments: Arguments, good: Arguments, more: Arguments, *, allowed: bool) -> None:
    before = snapshot(arguments)
    refusal = ""
    try:
        got = door.call(arguments | more)
    except (TypeError, ValueError, UsageError) as error:
        refusal = str(error)
    assert allowed == (refusal == ""), refusal
    if refusal:
        assert REFUSAL.match(refusal), refusal
        assert snapshot(arguments) == before
        return
    after = snapshot(arguments)
    assert {key: after[key] for key in after if key not in door.outputs} == {
        k: v for k, v in before.items() if k not in door.outputs
    }
    for a, b in zip(_list(got), _list(door.numpy(good | more)), strict=True):
        agree(a, b, exact=door.exact)


def _list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def agree(got: Array, want: Array, *, exact: bool) -> None:
    if exact:
        assert np.asarray(got).dtype == np.asarray(want).dtype
        assert np.asarray(got).tobytes() == np.asarray(want).tobytes()
    else:
        assert np.allclose(got, want, rtol=0, atol=1e-5)  # whether a wrong argument slipped through; kernels' tests are stricter
