"""Examples that are drawn in the shape of a task's, to try code of the user's with."""

from __future__ import annotations

import math

import numpy as np

from fedbench.errors import UsageError, nearest
from fedbench.kernels.random import Purpose, RandomStream
from fedbench.tasks import shakespeare
from fedbench.tasks.available import EXAMPLES
from fedbench.tasks.data import Examples
from fedbench.tasks.tensors import Shape

SEED = 0


def shape_of(selector: str, task: str) -> tuple[Shape, int]:
    """Returns the shape of the examples of a task, and its number of classes. UsageError, which
    names what is tried, for a task whose examples are not known."""
    if task not in EXAMPLES:
        raise UsageError(
            f"test {selector}: --task must be one of {', '.join(sorted(EXAMPLES))}, got {task!r}{nearest(task, EXAMPLES)}"
        )
    return EXAMPLES[task][:2]


def examples(task: str, size: int, k: int) -> Examples:
    """Returns drawn examples of a task, of all classes in turns; another k has others."""
    shape, classes, _ = EXAMPLES[task]
    stream = RandomStream(SEED, Purpose.evaluation, 0, 1 + k)
    count = size * math.prod(shape)
    symbols = len(shakespeare.ALPHABET)
    drawn = np.floor(symbols * stream.uniform(count)) if task == shakespeare.NAME else stream.normal(count)
    return Examples(drawn.astype(np.float32).reshape(size, *shape), np.arange(size) % classes)
