"""Runs on texts with a pretrained encoder: bits, jobs against torch's own optimiser, distillation,
traffic, and who trains them."""

from __future__ import annotations

import dataclasses
import itertools
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedbench import registry
from fedbench.engine import data as engine_data
from fedbench.engine.data import load_task
from fedbench.engine.evaluate import Evaluator
from fedbench.engine.plan import plan
from fedbench.engine.public import PublicData
from fedbench.engine.run import Run, RunOptions
from fedbench.engine.setup import Setup
from fedbench.engine.spec import RunSpec
from fedbench.engine.trainers.base import Assignment, Snapshot, Workload
from fedbench.engine.verify import verify
from fedbench.errors import UsageError
from fedbench.kernels.random import draw_batches
from fedbench.results.record import Record
from fedbench.results.store import Store
from fedbench.scenarios.load import load, validate
from fedbench.tasks.text import SOURCES
from fedbench.types import Job, LocalRule

from ..tiny_bert import sentences, tensors, write_encoder, write_root, write_tsv

pytest.importorskip("transformers")
import torch

from fedbench.engine.trainers.torch.one_by_one import TorchTrainer
from fedbench.tasks.encoder_module import build_encoder
from fedbench.tasks.torch_model import flatten_parameters, trained

SINGLE = "{train: mine/train.tsv, test: mine/test.tsv, columns: [sentence], label: label, tokens: 12}"
PAIRS = "{train: mine/train_pairs.tsv, test: mine/test_pairs.tsv, columns: [one, other], label: same, tokens: 20}"
OVERRIDES = [
    *("clients=6", "partition.alpha=2", "partition.min_examples=4", "local={steps: 3, batch_size: 4}", "public.size=20"),
    *("compute.assignment={kind: fadas}", "budget.updates=6", "network={download_megabit_per_second: 10}", "targets=[]"),
]
FEDBUFF = "fedbuff[buffer_size=2,concurrency=4,optimizer=adamw,local_lr=0.01,weight_decay=0.01]"
FEDECHO = "fedecho[buffer_size=2,concurrency=4,optimizer=adamw,local_lr=0.01,distill_lr=0.001]"


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data root; tasks are not kept from one test to the next, whose files are others."""
    monkeypatch.setenv("FEDBENCH_DATA", str(tmp_path))
    load_task.cache_clear()
    return write_root(tmp_path)


def spec(algorithm: str = FEDBUFF, model: str = "encoder_lora2", text: str = SINGLE, seed: int = 0) -> RunSpec:
    task = f"task={{name: text, model: {model}, encoder: encoders/tiny, text: {text}}}"
    return RunSpec(load("fedecho-fashion-large-delay", [task, *OVERRIDES]), registry.algorithm(algorithm), seed)


def record(given: RunSpec, **options: Any) -> Record:
    return Run(given, options=RunOptions(**options)).record()


# ---- bits


@pytest.mark.parametrize("algorithm", [FEDBUFF, FEDECHO])
def test_workers_and_waves_change_no_bit(algorithm: str) -> None:
    given = spec(algorithm)
    first = record(given).digests
    for options in ({"workers": 2}, {"wave_size": 1}, {"workers": 2, "wave_size": 3}, {"wave_bytes": 1}):
        assert record(given, **options).digests == first, options
    assert record(spec(algorithm, seed=1)).digests.model != first.model


@pytest.mark.parametrize("model", ["encoder_full", "encoder_head", "encoder_lora2"])
def test_verify_says_identical(model: str) -> None:
    """Also after the task was loaded again, as in another process."""
    found = record(spec(FEDECHO, model, PAIRS))
    load_task.cache_clear()
    assert verify(found, RunOptions(workers=2)).verdict == "identical"


KILLED = """
import os, signal, sys
from pathlib import Path
from fedbench import registry
from fedbench.engine.checkpoint import Checkpointer
from fedbench.engine.run import Run, RunOptions
from fedbench.engine.spec import RunSpec
from fedbench.results.store import Store
from fedbench.scenarios.load import load
from fedbench.strict_json import load as read

save, saved = Checkpointer.save, []
def counted(self, execution):
    save(self, execution)
    saved.append(execution.version)
    if len(saved) == 3:
        os.kill(os.getpid(), signal.SIGKILL)
Checkpointer.save = counted
scenario, algorithm, store = sys.argv[1:]
Run(RunSpec(load(Path(scenario)), registry.algorithm(algorithm), 0), Store(Path(store)), RunOptions(checkpoint_seconds=0)).record()
"""


def test_a_killed_run_goes_on_to_the_same_digests(tmp_path: Path) -> None:
    """kill -9 after the third checkpoint; with another number of workers and another size of
    waves."""
    given, file, store = spec(FEDECHO), tmp_path / "scenario.yaml", tmp_path / "store"
    file.write_text(given.scenario.model_dump_json(by_alias=True))
    killed = subprocess.run([sys.executable, "-c", KILLED, file, FEDECHO, store], env=dict(os.environ), check=False)
    assert killed.returncode == -signal.SIGKILL
    given = RunSpec(load(file), registry.algorithm(FEDECHO), 0)
    assert Store(store).partial(given.scenario.name, "fedecho", given.run_id).joinpath("checkpoint.bin").exists()
    options = RunOptions(resume=True, workers=2, wave_size=1)
    assert Run(given, Store(store), options).record().digests == record(given).digests


def test_files_are_in_the_record_and_in_its_inputs(root: Path) -> None:
    """A frozen weight is in no flat vector, and a result depends on it."""
    given = spec()
    first = record(given).as_dict()
    assert {name.partition("/")[0] for name in first["provenance"]["files"]} == {"encoder", "data"}
    weights = tensors()
    weights["encoder.layer.0.output.dense.bias"][0] += 1
    write_encoder(root / "encoders" / "tiny", weights)
    again = record(spec()).as_dict()
    changed = {name for name, value in first["provenance"]["files"].items() if again["provenance"]["files"][name] != value}
    assert changed == {"encoder/model.safetensors"}
    assert again["digests"]["inputs"] != first["digests"]["inputs"]
    assert np.array_equal(Setup(given).x0(), Setup(spec()).x0())


def test_other_files_are_other_runs(root: Path) -> None:
    """Which are not taken for those of the files before, in a store or in this process; the message
    names the file. Where it lies does not matter."""
    given = spec()
    words = (root / "mine" / "train.tsv").read_text()
    write_tsv(root / "mine" / "train.tsv", [(text, 1 - label) for text, label in sentences(120)])
    flipped = spec()
    assert flipped.run_id != given.run_id
    assert Setup(flipped).task.dataset.train.y.tolist() == [1 - label for _, label in sentences(120)]
    with pytest.raises(UsageError, match=r"task\.text mine/train\.tsv: its sha256 must be .*\.\., got .*\.\.: it is another one"):
        Setup(given).task  # noqa: B018
    (root / "train.tsv").write_text(words)
    assert spec(text=SINGLE.replace("mine/train", "train")).run_id == given.run_id
    write_encoder(root / "encoders" / "tiny", tensors() | {"embeddings.LayerNorm.bias": np.ones(16, np.float32)})
    load_task.cache_clear()
    with pytest.raises(
        UsageError, match=r"task\.encoder encoders/tiny: its sha256 must be .*\.\., got .*\.\.: it is another one"
    ):
        Setup(flipped).task  # noqa: B018


def test_older_records_state_no_sums(root: Path) -> None:
    """And keep their ids, by which they are verified."""
    given = spec()
    task = given.scenario.resolved()["task"]
    assert isinstance(task, dict)
    text = task["text"]
    assert isinstance(text, dict)
    del task["encoder_sha256"], text["sha256"]
    older = validate(given.scenario.resolved() | {"task": task}, "older")
    assert older.resolved()["task"] == task
    found = record(RunSpec(older, given.algorithm, 0))
    assert found.run_id != given.run_id
    assert older.content_hash() == "9ef491e89e547b17"
    assert verify(found).verdict == "identical"


# ---- jobs


@pytest.mark.parametrize("model", ["encoder_full", "encoder_head", "encoder_lora2"])
def test_a_job_is_that_of_torchs_adamw(model: str) -> None:
    """The same batches in a loop with torch.optim.AdamW over the trained parameters; in float64,
    since AdamW makes steps of gradients that are 0 but for rounding, such as those of the keys'
    biases."""
    setup = Setup(spec(model=model, text=PAIRS))
    task, x0 = setup.task, setup.x0().astype(np.float64)
    trainer = TorchTrainer(Workload(task, setup.shards, batch_size=4, seed=0), dtype=np.float64)
    rule = LocalRule(start=x0, lr=0.01, weight_decay=0.1, optimizer="adamw")
    work = trainer.train([Assignment(Job(1, 2, 0, 7), rule, np.empty(0, np.float32))])[0]
    trainer.close()
    module, flat = build_encoder(task.model, torch.float64), torch.from_numpy(x0.copy())
    flatten_parameters(module, flat)
    optimizer = torch.optim.AdamW(trained(module), lr=0.01, weight_decay=0.1)
    rows, offsets = draw_batches(0, 1, 2, len(setup.shards[1]), 4, 7)
    for begin, end in itertools.pairwise(offsets.tolist()):
        chosen = setup.shards[1][rows[begin:end]]
        optimizer.zero_grad()
        logits = module(torch.from_numpy(task.dataset.train.x[chosen]))
        torch.nn.functional.cross_entropy(logits, torch.from_numpy(task.dataset.train.y[chosen])).backward()
        optimizer.step()
    assert np.allclose(work.end, flat.numpy(), rtol=1e-9, atol=1e-9)
    assert np.abs(work.delta).max() > 0.01


def test_frozen_weights_do_not_change() -> None:
    setup = Setup(spec())
    before = {name: value.copy() for name, value in setup.task.model.weights.items()}
    record(spec(FEDECHO))
    for name, value in Setup(spec()).task.model.weights.items():
        assert np.array_equal(value, before[name])


def test_gradients_of_logits_are_those_of_differences() -> None:
    """The pullback that distillation uses, in float64, along one direction of the trained
    vector."""
    setup = Setup(spec(model="encoder_lora2"))
    trainer = TorchTrainer(Workload(setup.task, setup.shards, batch_size=4, seed=0, public=setup.data.public), dtype=np.float64)
    draws, none = np.random.default_rng(1), np.empty(0)
    x = setup.x0().astype(np.float64) + 0.1 * draws.standard_normal(setup.outline.model.dim)
    rows, step = np.arange(6), 1e-6 * draws.standard_normal(len(x))
    weights = draws.standard_normal((6, 2))
    _, pullback = PublicData(trainer).logits(x, none, rows, 3, training=True)
    slope = float((pullback(weights) * step).sum())
    up, down = (PublicData(trainer).logits(x + sign * step, none, rows, 3, training=False)[0] for sign in (1, -1))
    trainer.close()
    assert slope == pytest.approx(float((weights * (up - down)).sum()) / 2, rel=1e-6)


@pytest.mark.parametrize(("model", "least"), [("encoder_full", 0.8), ("encoder_lora4", 0.7)])
def test_training_learns(root: Path, model: str, least: float) -> None:
    """From 58 of 100 right, which is what the larger class gives; low-rank updates of random
    weights do less."""
    for name, count, seed in (("train", 400, 0), ("test", 100, 1)):
        write_tsv(root / "mine" / f"{name}.tsv", sentences(count, seed))
    setup = Setup(spec(model=model))
    trainer = TorchTrainer(Workload(setup.task, [np.arange(len(setup.task.dataset.train))], batch_size=16, seed=0))
    rule, none = LocalRule(start=setup.x0(), lr=0.003, optimizer="adamw"), np.empty(0, np.float32)
    work = trainer.train([Assignment(Job(0, 0, 0, 300), rule, none)])[0]
    before, after = (Evaluator(trainer).metrics([Snapshot(x, none)])[0]["test_accuracy"] for x in (setup.x0(), work.end))
    trainer.close()
    assert after > least > 0.6 > before


def test_public_texts_of_another_task(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their tokens are those of the task's own encoder."""
    monkeypatch.setitem(SOURCES, "sst2", dataclasses.replace(SOURCES["sst2"], tokens=12, counts=None))
    write_tsv(root / "sst2" / "train_full.tsv", [("good film", 1), ("a dull plot", 0)])
    write_tsv(root / "sst2" / "dev.tsv", [("bad", 0)])
    given = spec(FEDECHO)
    scenario = load(given.scenario, ["public={source: sst2}"])
    public = Setup(RunSpec(scenario, given.algorithm, 0)).data.public
    assert public is not None
    assert public.astype(int).tolist() == [[2, 5, 7, 3, *[0] * 8], [2, 9, 18, 8, 3, *[0] * 7]]


# ---- what is sent, and who trains


def test_only_trained_parameters_are_sent_and_kept() -> None:
    """2 layers x 2 matrices x (2 x 16 + 16 x 2) + 34 = 290 float32 numbers."""
    found = record(spec()).ledger
    assert Setup(spec()).payload_bytes == 4 * 290
    assert found.bytes_up % (4 * 290) == 0
    assert found.bytes_up < 4 * 290 * 30
    full = record(spec(model="encoder_full")).ledger
    assert full.server_state_bytes == 4 * Setup(spec(model="encoder_full")).outline.model.dim > 15 * found.server_state_bytes


def test_torch_trains_it_on_the_cpu() -> None:
    plain = spec("fedavg[cohort_size=2]")
    assert record(plain).provenance.trainer_reason == "model encoder_lora2: it is a pretrained encoder, which has no layers here"
    with pytest.raises(UsageError, match=r"trainer native: model encoder_lora2: it is a pretrained encoder"):
        record(plain, trainer="native")


def test_no_device_trains_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fedbench.engine.run.require_device", lambda device: None)
    with pytest.raises(
        UsageError, match=r"device cuda: model encoder_lora2 is a pretrained encoder, which trains on the cpu only"
    ):
        record(spec(), device="cuda")


def test_a_plan_reads_no_weights(root: Path) -> None:
    """Of mrpc, whose examples have a known shape, it reads no data either."""
    encoder = write_encoder(root / "encoders" / "long", max_position_embeddings=64)
    (encoder / "model.safetensors").write_bytes(b"never read")
    task = "task={name: mrpc, model: encoder_lora8, encoder: encoders/long}"
    found = plan(RunSpec(load("fedecho-fashion-large-delay", [task, *OVERRIDES]), registry.algorithm(FEDBUFF), 0))
    assert found.updates == 6
    assert engine_data.load_task.cache_info().currsize == 0


@pytest.mark.parametrize("key", ["encoder: encoders/tiny", f"text: {SINGLE}"])
def test_keys_of_texts_are_for_texts(key: str) -> None:
    scenario = load("digits-demo", [f"task={{name: digits, {key}}}"])
    with pytest.raises(UsageError, match=rf"scenario digits-demo, task: task\.{key.partition(':')[0]}: is not for task digits"):
        Setup(RunSpec(scenario, registry.algorithm("fedavg"), 0)).task  # noqa: B018
