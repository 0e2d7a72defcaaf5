"""What all trainers of a task draw alike: the examples of the training loss, and the order of the
public examples."""

from __future__ import annotations

import numpy as np

from fedbench.engine.public import draw_public_batches
from fedbench.engine.trainers.base import SERVER, TRAIN_LOSS_EXAMPLES, train_loss_sample
from fedbench.kernels.random import draw_batches


def test_the_training_loss_is_of_a_uniform_sample() -> None:
    """2,000 of 10,000, about 400 of every fifth, whatever the order of the data, such as one class
    after the other."""
    rows = train_loss_sample(3, 10_000)
    assert len(rows) == len(np.unique(rows)) == TRAIN_LOSS_EXAMPLES == 2000
    assert (np.diff(rows) > 0).all()
    assert np.abs(np.bincount(rows // 2000, minlength=5) - 400).max() < 90  # five standard deviations
    assert np.array_equal(train_loss_sample(3, 10_000), rows)
    assert not np.array_equal(train_loss_sample(4, 10_000), rows)


def test_the_training_loss_is_of_all_examples_if_they_are_few() -> None:
    assert train_loss_sample(3, 50).tolist() == list(range(50))


def test_public_batches_are_drawn_from_the_servers_own_stream() -> None:
    """A client of the same version would see another order: no client has the server's number."""
    drawn = np.concatenate(list(draw_public_batches(3, 6, 140, 50, None)))
    assert drawn.tolist() == draw_batches(3, SERVER, 6, 140, 50, 3)[0].tolist()
    for client in range(5):
        assert drawn.tolist() != draw_batches(3, client, 6, 140, 50, 3)[0].tolist()
