"""The worked examples of docs/protocol.md: each keeps the contract, and is what its text says."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import fedbench as fb
from fedbench import registry
from fedbench.engine.setup import Setup
from fedbench.engine.spec import RunSpec
from fedbench.proof import contract
from fedbench.results.record import Record
from fedbench.scenarios.load import load

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "protocol.md").read_text()
BLOCKS = {re.findall(r"# (\w+)\.py\n", block)[0]: block for block in re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)}
SMALL = ["budget.seconds=8", "task.model=softmax"]


@pytest.fixture(scope="module", name="selectors")
def _selectors(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Every example as file.py:Class."""
    folder = tmp_path_factory.mktemp("protocol")
    found = {}
    for name, block in BLOCKS.items():
        (folder / f"{name}.py").write_text(block)
        (cls,) = re.findall(r"^class (\w+)", block, re.MULTILINE)
        found[name] = f"{folder / name}.py:{cls}"
    return found


def run(selector: str, *overrides: str) -> Record:
    (record,) = fb.run("digits-demo", selector, overrides=[*SMALL, *overrides])
    return record


@pytest.mark.parametrize("name", BLOCKS)
def test_the_contract_is_kept(name: str, selectors: dict[str, str]) -> None:
    broken = [finding for finding in contract.check(registry.algorithm(selectors[name])) if finding.status == "fail"]
    assert not broken


def test_they_are_four_in_100_lines() -> None:
    assert list(BLOCKS) == ["momentum", "control", "paced", "sparse"]
    lines = [line for block in BLOCKS.values() for line in block.splitlines()]
    assert len([line for line in lines if line.strip() and not line.startswith(("import ", "from "))]) <= 100


def test_without_momentum_it_is_fedavg(selectors: dict[str, str]) -> None:
    """Bit for bit; with it, it is not."""
    models = [
        run(name).digests.model for name in (f"{selectors['momentum']}[server_momentum=0]", "fedavg", selectors["momentum"])
    ]
    assert models[0] == models[1] != models[2]


def test_control_is_scaffold(selectors: dict[str, str]) -> None:
    mine, scaffold = run(selectors["control"]), run("scaffold")
    assert mine.digests == scaffold.digests
    assert mine.ledger.bytes_up == scaffold.ledger.bytes_up > 0


def test_paced_jobs_take_about_as_long(selectors: dict[str, str]) -> None:
    """Up to the rounding to whole steps; with the scenario's own steps the slowest takes several
    times as long as the fastest."""
    setup = Setup(RunSpec(load("digits-demo"), registry.algorithm(selectors["paced"]), 0))
    seconds, steps = setup.info.step_seconds, np.asarray(setup.dispatch.steps)
    assert seconds.max() / seconds.min() > 3
    assert np.all(np.abs(steps * seconds - 10 * seconds.mean()) <= np.maximum(seconds / 2, (steps == 1) * seconds))
    assert run(selectors["paced"]).state == "finished"


def test_sparse_messages_are_billed_as_such(selectors: dict[str, str]) -> None:
    """Two numbers an entry; with everything kept it is FedAvg, bit for bit."""
    few, everything, fedavg = (run(name) for name in (selectors["sparse"], f"{selectors['sparse']}[keep=1]", "fedavg"))
    assert everything.digests == fedavg.digests
    assert few.digests.model != fedavg.digests.model
    assert few.ledger.bytes_up == pytest.approx(0.4 * fedavg.ledger.bytes_up)
    assert few.ledger.bytes_down == fedavg.ledger.bytes_down
