"""Jobs of several runs in one block: each has the bits that it has alone, in the same number of
lanes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fedbench.engine.trainers.base import Assignment, Workload
from fedbench.engine.trainers.meeting import Meeting
from fedbench.engine.trainers.torch.blocks import Asked
from fedbench.engine.trainers.torch.card import Step
from fedbench.engine.trainers.torch.stacked import StackedTrainer
from fedbench.errors import ClientError
from fedbench.scenarios.local_parts import LocalPart
from fedbench.tasks import cifar
from fedbench.tasks.data import Dataset
from fedbench.tasks.task import Task
from fedbench.types import Work

from .conftest import NETWORKS
from .test_stacked_trainer import FIELDS, PUBLIC, RULES, SHARDS, STEPS, TASKS, WANTS, Operations, device, noise, wave_of

__all__ = ["device"]

Make = Callable[..., StackedTrainer]


@pytest.fixture
def make(device: str) -> Iterator[Make]:
    made: list[StackedTrainer] = []

    def make(task: Task, seed: int, meeting: Meeting | None = None, **options: Any) -> StackedTrainer:
        work = Workload(task, SHARDS, batch_size=7, seed=seed, public=task.dataset.train.x[PUBLIC[:1] % 100], **options)
        made.append(StackedTrainer(work, device=device, lanes=8, meeting=meeting))
        return made[-1]

    yield make
    for trainer in made:
        trainer.close()


def bits(works: list[Work]) -> list[bytes]:
    return [b"".join(getattr(work, field).tobytes() for field in FIELDS) for work in works]


def together(trainers: list[StackedTrainer], waves: list[list[Assignment]]) -> list[Asked]:
    """Trains the waves of all trainers on their card."""
    (card,) = {trainer.card for trainer in trainers}
    asked = [Asked(trainer, wave) for trainer, wave in zip(trainers, waves, strict=True)]
    card.train(asked)
    return asked


def waves_of(task: Task, rule: str) -> list[list[Assignment]]:
    """Three waves, each with a rate and numbers of steps of its own."""
    steps = (STEPS, [3, 3, 1], [5])
    return [
        wave_of(task, np.float32, RULES[rule] | {"wants": WANTS, "lr": lr}, of)
        for lr, of in zip((0.1, 0.03, 0.1), steps, strict=True)
    ]


@pytest.mark.parametrize("rule", ["plain", "all", "adamw"])
@pytest.mark.parametrize("model", NETWORKS)
def test_a_run_has_the_bits_that_it_has_alone(make: Make, model: str, rule: str) -> None:
    """Runs of other seeds, with other rates; dropout and orders are those of their own seed."""
    task, meeting = TASKS[model], Meeting(3)
    waves = waves_of(task, rule)
    trainers = [make(task, seed, meeting) for seed in (3, 4, 2**40)]
    for _ in range(2):  # the second time in memory that was used
        found = [bits(asked.answer()) for asked in together(trainers, waves)]
        assert found == [bits(make(task, trainer.seed).train(wave)) for trainer, wave in zip(trainers, waves, strict=True)]
    assert bits(make(task, 4).train(waves[0])) != found[0]


def test_runs_of_other_data_and_schedules(make: Make) -> None:
    """Such as those of seeds whose validation examples were split off; each lane has examples of
    its own run, also where images are changed, and the rates of its schedule."""
    task, meeting = replace(noise("cnn_878538", (3, 32, 32)), augmentation=cifar.AUGMENTATION), Meeting(3)
    train, test = task.dataset.train, task.dataset.test
    other = replace(task, dataset=Dataset("other", replace(train, x=train.x[::-1].copy(), y=train.y[::-1].copy()), test, 10))
    cosine = LocalPart.model_validate({"steps": 6, "schedule": {"kind": "cosine", "until": 5, "by": "local_step"}})
    kinds: list[tuple[Task, dict[str, Any]]] = [(task, {}), (other, {}), (task, {"local": cosine})]
    waves = [wave_of(task, np.float32, {"wants": WANTS}, steps) for steps in ([2, 1, 1, 2], [2, 2, 1, 1], [2, 1])]
    trainers = [make(of, seed, meeting, **options) for seed, (of, options) in enumerate(kinds)]
    assert trainers[0].x is trainers[2].x is not trainers[1].x
    assert trainers[0].test_x is trainers[1].test_x
    found = [bits(asked.answer()) for asked in together(trainers, waves)]
    for seed, ((of, options), wave, got) in enumerate(zip(kinds, waves, found, strict=True)):
        assert got == bits(make(of, seed, **options).train(wave))


@pytest.mark.parametrize("model", ["mlp", "cnn"])
def test_runs_side_by_side_have_the_operations_of_one(make: Make, model: str) -> None:
    """Of a step, whatever their number; what is drawn for all steps at once is left out."""

    def of_steps(runs: int) -> list[Counter[str]]:
        meeting, found = Meeting(runs), []
        trainers = [make(TASKS[model], seed, meeting) for seed in range(runs)]
        for steps in (1, 2, 3):
            with Operations() as seen:
                together(trainers, [wave_of(TASKS[model], np.float32, {}, [steps, steps])] * runs)
            found.append(Counter(seen.names))
        return found

    one, four = of_steps(1), of_steps(4)
    assert one[2] - one[1] == four[2] - four[1] != Counter()


def test_blocks_are_filled_across_runs(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Four runs with two jobs each are one block of eight; another form of rule is another."""
    made: list[Step] = []
    step = Step.make
    monkeypatch.setattr(Step, "make", lambda self: made.append(self) or step(self))
    task, meeting = TASKS["mlp"], Meeting(4)
    trainers = [make(task, seed, meeting) for seed in range(4)]
    plain, other = (wave_of(task, np.float32, RULES[rule], [3, 3]) for rule in ("plain", "momentum"))
    together(trainers, [plain] * 4)
    assert (len(made), len(set(made))) == (3, 1)
    made.clear()
    together(trainers, [plain, plain, plain, other])
    assert (len(made), len(set(made))) == (6, 2)


def test_an_error_ends_the_wave_of_its_own_run(make: Make) -> None:
    task, meeting = TASKS["mlp"], Meeting(3)
    waves = waves_of(task, "plain")
    trainers = [make(task, seed, meeting) for seed in range(3)]
    short = replace(waves[1][1], rule=replace(waves[1][1].rule, start=waves[1][1].rule.start[:-1]))
    asked = together(trainers, [waves[0], [waves[1][0], short], waves[2]])
    with pytest.raises(ClientError, match=r"client 1, job k=1 \(base version 0, 3 steps\), local training: ValueError"):
        asked[1].answer()
    for i in (0, 2):
        assert bits(asked[i].answer()) == bits(make(task, i).train(waves[i]))


def test_what_differs_has_a_card_of_its_own(make: Make) -> None:
    """Trainers share a card only if a step is the same for them."""
    meeting = Meeting(5)
    one, same, model, clipped = (
        make(TASKS["mlp"], 0, meeting),
        make(TASKS["mlp"], 1, meeting, local=LocalPart(steps=9)),
        make(TASKS["cnn"], 0, meeting),
        make(TASKS["mlp"], 0, meeting, local=LocalPart(steps=9, clip_norm=0.5)),
    )
    assert one.card is same.card
    assert len({trainer.card for trainer in (one, model, clipped, make(TASKS["mlp"], 0))}) == 4
