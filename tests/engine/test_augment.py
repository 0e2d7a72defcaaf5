"""Random crops and mirrored images: what torchvision makes of the same pixels, who sees them, and
that only the job matters."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
import torch
from torchvision.transforms import functional as V

from fedbench.engine.evaluate import Evaluator
from fedbench.engine.trainers.base import Assignment, Snapshot, Workload
from fedbench.engine.trainers.native import NativeTrainer
from fedbench.engine.trainers.torch.data import Features
from fedbench.engine.trainers.torch.one_by_one import TorchTrainer
from fedbench.errors import UsageError
from fedbench.kernels.random import Purpose, RandomStream
from fedbench.kernels.train import LayerSpec, LocalTrainer
from fedbench.tasks import cifar
from fedbench.tasks.augment import CropAndFlip
from fedbench.tasks.data import Dataset, Examples
from fedbench.tasks.model_library import make_model
from fedbench.tasks.pixels import normalised
from fedbench.tasks.task import Task
from fedbench.types import Job, LocalRule

IMAGES = (RandomStream(1, Purpose.evaluation).words(40 * 3072) >> 24).astype(np.uint8).reshape(40, 3, 32, 32)
X = normalised(IMAGES, cifar.MEAN, cifar.STD)


@pytest.mark.parametrize("channels_last", [False, True])
def test_images_are_those_of_torchvisions_crop_and_flip(channels_last: bool) -> None:
    """Padded with black before they are normalised, cropped, then mirrored; all 162 ways."""
    rows, drawn = torch.arange(162) % 40, torch.arange(162)
    got = Features(X, channels_last=channels_last).augmented(rows, cifar.AUGMENTATION, drawn)
    assert got.is_contiguous(memory_format=torch.channels_last if channels_last else torch.contiguous_format)
    for j, image in zip(drawn.tolist(), got, strict=True):
        padded = V.pad(torch.from_numpy(IMAGES[j % 40]), [4])
        cropped = V.crop(padded, j // 18, j // 2 % 9, 32, 32)
        bytes_ = V.hflip(cropped) if j % 2 else cropped
        np.testing.assert_allclose(image.numpy(), normalised(bytes_.numpy()[None], cifar.MEAN, cifar.STD)[0], rtol=1e-6)


def test_every_outcome_is_as_likely() -> None:
    drawn = CropAndFlip(1, (0.0,)).draw(RandomStream(0, Purpose.augmentation, 3, 1), 18_000)
    counts = Counter(drawn.tolist())
    assert set(counts) == set(range(18))
    assert max(abs(count - 1000) for count in counts.values()) < 4 * 31  # four standard deviations
    word = RandomStream(0, Purpose.augmentation, 3, 1).words(1)
    assert drawn[0] == int(word[0]) * 18 // 2**32


def task(augmentation: CropAndFlip | None) -> Task:
    examples = Examples(X, np.arange(40) % 10)
    return Task("tiny", make_model("cnn_878538", (3, 32, 32), 10), Dataset("tiny", examples, examples, 10), augmentation)


TRAINERS = pytest.mark.parametrize("trainer", [NativeTrainer, TorchTrainer])


@TRAINERS
def test_only_seed_client_and_job_matter(trainer: type[NativeTrainer] | type[TorchTrainer]) -> None:
    """Not the wave, nor the workers."""
    start = task(None).model.x0(0)
    rule = LocalRule(start=start, lr=0.01)
    jobs = [Assignment(Job(i % 2, i // 2, 0, 3), rule, np.empty(0, np.float32)) for i in range(4)]
    shards = [np.arange(20), np.arange(20)]
    one, two = (trainer(Workload(task(cifar.AUGMENTATION), shards, batch_size=7, seed=5), workers=w) for w in (1, 2))
    plain = trainer(Workload(task(None), shards, batch_size=7, seed=5))
    together = [work.end.tobytes() for work in two.train(jobs)]
    assert [one.train([job])[0].end.tobytes() for job in reversed(jobs)] == together[::-1]
    assert len(set(together)) == 4
    assert plain.train(jobs[:1])[0].end.tobytes() != together[0]


@pytest.mark.parametrize("shape", [(3, 6, 4), (2, 3, 7)])
@pytest.mark.parametrize("padding", [0, 1, 4, 9])
def test_both_trainers_make_the_same_images(shape: tuple[int, int, int], padding: int) -> None:
    """Also of images that are smaller than their padding."""
    images = Examples(X.ravel()[: 30 * math.prod(shape)].reshape(30, *shape), np.arange(30) % 3)
    how = CropAndFlip(padding, tuple(range(1, shape[0] + 1)))
    given = Task("tiny", make_model("softmax", shape, 3), Dataset("tiny", images, images, 3), how)
    load = Workload(given, [np.arange(13), np.arange(13, 30)], batch_size=5, seed=7)
    start = given.model.x0(0)
    jobs = [
        Assignment(Job(i % 2, i // 2, 0, steps), LocalRule(start=start, lr=0.1), np.empty(0, np.float32))
        for i, steps in enumerate((4, 5, 0, 7, 1))
    ]
    for native, torch_ in zip(NativeTrainer(load).train(jobs), TorchTrainer(load).train(jobs), strict=True):
        np.testing.assert_allclose(native.end, torch_.end, rtol=1e-4, atol=1e-6)


def test_examples_that_are_no_images_cannot_be_cropped() -> None:
    x, y, layers = np.zeros((4, 6)), np.zeros(4, np.int64), [LayerSpec("linear", 6, 2)]
    with pytest.raises(ValueError, match="fill: must be left out, since examples are no images"):
        LocalTrainer(layers, x, y, seed=0, batch_size=2, fill=np.zeros(6))
    images, flat = np.zeros((4, 2, 3, 1)), [LayerSpec("flatten"), *layers]
    with pytest.raises((TypeError, ValueError), match=r"fill: expected shape \(2,\), a number per channel"):
        LocalTrainer(flat, images, y, seed=0, batch_size=2, fill=np.zeros(3))
    with pytest.raises(ValueError, match="padding: must be at most 23169, got 23170"):
        LocalTrainer(flat, images, y, seed=0, batch_size=2, padding=23_170, fill=np.zeros(2))
    with pytest.raises(UsageError, match="padding: must be 0 without fill, which says what is put around images, got 4"):
        LocalTrainer(flat, images, y, seed=0, batch_size=2, padding=4)


def test_every_job_of_a_client_draws_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """One word for each example of its steps, from the stream of client and job."""
    seen: list[list[int]] = []
    plain = Features.rows
    monkeypatch.setattr(Features, "augmented", lambda self, rows, how, drawn: seen.append(drawn.tolist()) or plain(self, rows))
    trainer = TorchTrainer(Workload(task(cifar.AUGMENTATION), [np.arange(5), np.arange(20)], batch_size=7, seed=5))
    for k in (0, 1):
        rule = LocalRule(start=task(None).model.x0(0), lr=0.01)
        trainer.train([Assignment(Job(1, k, 0, 4), rule, np.empty(0, np.float32))])
    expected = [cifar.AUGMENTATION.draw(RandomStream(5, Purpose.augmentation, 1, k), 27).tolist() for k in (0, 1)]
    assert seen == [drawn[a:b] for drawn in expected for a, b in ((0, 7), (7, 14), (14, 20), (20, 27))]


@TRAINERS
def test_evaluation_and_full_gradients_see_the_images_as_they_are(trainer: type[NativeTrainer] | type[TorchTrainer]) -> None:
    start, none = task(None).model.x0(0), np.empty(0, np.float32)
    a, b = (trainer(Workload(task(how), [np.arange(20)], batch_size=7, seed=5)) for how in (cifar.AUGMENTATION, None))
    assert Evaluator(a).metrics([Snapshot(start, none)])[0] == Evaluator(b).metrics([Snapshot(start, none)])[0]
    (one,), (other,) = (list(one.gradients([0], start, none)) for one in (a, b))
    assert one.tobytes() == other.tobytes()


def test_cifar_has_it() -> None:
    """Black is 0 before normalisation."""
    black = normalised(np.zeros((1, 3, 1, 1), np.uint8), cifar.MEAN, cifar.STD)[0, :, 0, 0]
    assert np.allclose(cifar.AUGMENTATION.fill, black, rtol=1e-6)
    assert cifar.AUGMENTATION.padding == 4
