"""Runs with code of the user's, which must be the same however they are computed."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from typing import Any

from fedbench import registry
from fedbench.engine.run import Run, RunOptions
from fedbench.engine.spec import RunSpec
from fedbench.proof.findings import expect
from fedbench.results.store import Store
from fedbench.scenarios.load import load

UPDATES = 8
SMALL = ("clients=6", f"budget.updates={UPDATES}", "local.steps=3", "public=null", "task.model=softmax", "partition.kind=iid")


def same_records(changes: Sequence[str]) -> str:
    """Has a small run computed in several ways, and returns in words which. Broken if one of them
    has another record."""
    spec = RunSpec(load("digits-demo", [*SMALL, *changes]), registry.algorithm("fedbuff[buffer_size=3,concurrency=6]"), 0)

    def digest(store: Store | None = None, progress: Any = None, **options: Any) -> str | None:
        return Run(spec, store, RunOptions(**options), progress).record().digests.result

    def interrupt(version: int, seconds: float, evaluated: object) -> None:
        if version == UPDATES // 2:
            raise KeyboardInterrupt

    whole = digest()
    expect(digest() == whole, "a second run differs from the first")
    expect(digest(workers=4, wave_size=1) == whole, "with 4 workers and waves of 1 job the run differs from that of one worker")
    with tempfile.TemporaryDirectory() as folder:
        store = Store(folder)
        try:
            digest(store, interrupt)
        except KeyboardInterrupt:
            expect(digest(store, resume=True) == whole, f"restored after update {UPDATES // 2} the run differs")
    return f"{UPDATES} updates, again, with 4 workers and waves of 1, and restored"
