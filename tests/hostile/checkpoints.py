"""Checkpoints that were forged with an honest seal: a run that goes on from one."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from fedbench import registry
from fedbench.engine.checkpoint import MAGIC, sealed
from fedbench.engine.spec import RunSpec
from fedbench.scenarios.load import load
from tests.hostile.case import Case, Folder, Hole, Link, Made, Pipe

CHANGES = ("clients=6", "budget.updates=4", "local.steps=2", "task.model=softmax", "partition={kind: iid}")
RUN = (
    "run",
    "digits-demo",
    "-a",
    "fedavg[cohort_size=3]",
    "--resume",
    *(word for change in CHANGES for word in ("--set", change)),
)
SPEC = RunSpec(load("digits-demo", CHANGES), registry.algorithm("fedavg[cohort_size=3]"), 0)
FILE = f"runs/digits-demo/fedavg/{SPEC.run_id}.partial/checkpoint.bin"
VALUE = {"value": 1}
TREE: dict[str, Any] = {
    "run_id": SPEC.run_id,
    "trainer": "trainer native on cpu",
    "version": 2,
    "trained_steps": 12,
    "server_seconds": 0.0,
    "selections": [],
    "rows": [],
    "buffers": {"array": 1},
    "state": {"x": {"array": 0}},
    "messages": {},
}


def _forged(name: str, words: str, **changes: Any) -> Case:
    def made() -> bytes:
        arrays = [np.zeros(650, np.float32), np.zeros(0, np.float32)]
        tree = {"arrays": [{"dtype": str(one.dtype), "shape": list(one.shape)} for one in arrays], **TREE, **changes}
        return b"".join(sealed(tree, arrays))

    return _left(name, made, words)


def _left(name: str, made: Made, words: str) -> Case:
    return Case(f"checkpoint: {name}", RUN, words, {FILE: made}, code=1)


CASES = [
    _left("a pipe", Pipe(), "no plain file"),
    _left("a device without an end", Link("/dev/zero"), "no plain file"),
    _left("a folder", Folder(), "no plain file"),
    _left("a hole of 50 GB", Hole(50 << 30), "does not begin with"),
    _left("empty", b"", "does not begin with"),
    _left("its first line alone", MAGIC, "its checksum does not fit"),
    _forged("a version of the future", "it is of version 9,000, and the plan ends with 4", version=9000),
    _forged("a version of 10^18", "it is of version 1,000,000,000,000,000,000", version=10**18),
    _forged("a version that is text of many lines", "version", version="a\nb" * 5000),
    _forged("another run", r"it belongs to run a\\nb", run_id="a\nb" * 50),
    _forged("another trainer", r"it was computed by a\\nb", trainer="a\nb" * 50),
    _forged("100,000 levels", "levels|cannot be read", state={"x": json.loads('{"list": [' * 400 + "]}" * 400)}),
    _forged("10,000 values", r"state has k0, k1, k10", state={f"k{i}": VALUE for i in range(10_000)}),
    _forged("values with names of many lines", "state has a ba ba b", state={"a\nb" * 50: VALUE}),
    _forged("10,000 rows that are none", "rows", rows=[{"a\nb": 1.0}] * 10_000),
    _forged("an array of 2^124 bytes", "longer or shorter", arrays=[{"dtype": "float32", "shape": [2**62, 2**62]}]),
    _forged("an array of objects", "arrays.0.dtype", arrays=[{"dtype": "object", "shape": [1]}]),
    _forged("a table of 2^40 clients", "checkpoint", state={"x": {"table": {"size": {"value": 1 << 40}}}}),
    _forged(
        "a message of another version",
        "is of a version after 2",
        messages={"9": {"buffers": {"array": 1}, "named": {"x": {"array": 0}}}},
    ),
]
