"""Server memory: every algorithm's declaration against what its runs hold."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from fedbench import registry
from fedbench.engine.memory import server_bytes, server_vectors
from fedbench.types import Batch, State

from .conftest import World
from .test_execute import ALL


@pytest.mark.parametrize("selector", ALL)
def test_what_is_declared_is_what_is_held(selector: str, world: Any) -> None:
    """After enough updates for every client to have reported, in vectors of 6 float64; counters are
    not model-sized."""
    w: World = world(updates=60, dtype="float64")
    algorithm = registry.algorithm(selector)
    execution = w.run(algorithm)
    own, per_client, per_version, _ = algorithm.server_memory(execution.info)
    measured = server_bytes(algorithm, execution.state, execution.info, versions=4)
    counters = sum(v.nbytes for _, v in execution.state.items() if isinstance(v, np.ndarray) and v.dtype.kind == "i")
    assert measured["server_state_bytes"] - counters == (own + 8 * per_client) * 6 * 8
    assert measured["checkpoint_bytes_peak"] == per_version * 4 * 6 * 8
    assert measured["public_logits_bytes"] == 0
    assert server_vectors(algorithm, execution.info, 4) == own + 8 * per_client + 4 * per_version


@pytest.mark.parametrize("selector", ALL)
def test_who_looks_at_old_versions_declares_them(selector: str, world: Any) -> None:
    algorithm = registry.algorithm(selector)
    asked: list[int] = []

    def spy(state: State, batch: Batch, tools: Any) -> None:
        step(state, dataclasses.replace(batch, base_x=lambda i: (asked.append(i), batch.base_x(i))[1]), tools)  # type: ignore[func-returns-value]

    step = algorithm.step
    object.__setattr__(algorithm, "step", spy)
    execution = world(updates=12).run(algorithm)
    assert bool(asked) == (algorithm.server_memory(execution.info).per_version > 0)
