"""Checks the contract of local optimisers, for `fedbench test`: the steps of a job depend on what
it is given alone, keep shape and dtype, are finite, and go down."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from fedbench import own_models, own_optimizers
from fedbench.engine.isolation.find import isolated_optimizer
from fedbench.kernels.random import Purpose, RandomStream
from fedbench.proof.findings import Finding, expect, findings_in
from fedbench.proof.own_runs import same_records
from fedbench.types import Vector

SIZE, STEPS, LR = 400, 20, 0.01
DOWN = 50  # steps down a bowl


class World:
    """An optimiser, and drawn jobs."""

    def __init__(self, selector: str) -> None:
        self.code = own_models.named(selector, kind="optimizer")
        self.own = own_optimizers.Own(self.code)

    def vector(self, k: int, size: int = SIZE) -> Vector:
        return RandomStream(0, Purpose.evaluation, 3, k).normal(size).astype(np.float32)

    def gradients(self, job: int, size: int = SIZE) -> list[Vector]:
        """Returns the gradients of a job, of which one is 0 and one large."""
        found = [self.vector(100 * (1 + job) + step, size) for step in range(STEPS)]
        found[3], found[5] = np.zeros(size, np.float32), 1000 * found[5]
        return found

    def job(self, job: int, size: int = SIZE, begin: own_optimizers.Begin | None = None) -> list[Vector]:
        """Returns the parameters of a job after every step."""
        x = self.vector(job, size)
        update, found = (begin or self.own)(x), []
        for step, gradient in enumerate(self.gradients(job, size)):
            x = update(x, gradient, step, LR)
            found.append(x)
        return found


# ---- the checks; each raises Broken, or returns in words what it saw ----


def declared(world: World) -> str:
    state: object = world.own.cls().init(world.vector(0))
    if isinstance(state, np.ndarray):
        return f"the state is an array {state.dtype} {state.shape} for {SIZE} parameters"
    return "there is no state" if state is None else f"the state is a {type(state).__name__}"


def leaves_its_arguments(world: World) -> str:
    """In a run they are read-only; here it is named which one is changed."""
    made, start = world.own.cls(), world.vector(0)
    state = made.init(start)
    expect(start.tobytes() == world.vector(0).tobytes(), "init changes its parameters; change a copy")
    for step, gradient in enumerate(world.gradients(0)):
        parameters = world.vector(step)
        given = {"parameters": parameters, "gradient": gradient.copy()}
        before = {name: array.tobytes() for name, array in given.items()}
        _, state = made.update(given["parameters"], given["gradient"], state, step, LR)
        changed = [name for name, array in given.items() if array.tobytes() != before[name]]
        expect(not changed, f"update changes its {' and its '.join(changed)}; return new parameters")
    return f"parameters and gradient stay as they are in {STEPS} steps"


def has_its_shape(world: World) -> str:
    for size in (SIZE, 1):
        for step, x in enumerate(world.job(0, size)):
            bad = int(np.count_nonzero(~np.isfinite(x)))
            expect(not bad, f"{bad} of {size} parameters are not finite after step {step}, whose gradient was finite")
    return f"float32 ({SIZE},) and (1,), finite in {STEPS} steps, also at a gradient of 0 and a large one"


def repeats(world: World) -> str:
    first, other, again = (_bits(world.job(job)) for job in (0, 1, 0))
    expect(first == again, "a job gives other parameters after another job; clients keep nothing between jobs")
    x, y = world.vector(0), world.vector(1)
    one, two = world.own(x), world.own(y)
    beside = []
    for step, (a, b) in enumerate(zip(world.gradients(0), world.gradients(1), strict=True)):
        x, y = one(x, a, step, LR), two(y, b, step, LR)
        beside.append((x, y))
    for alone, found in zip((first, other), zip(*beside, strict=True), strict=True):
        expect(_bits(found) == alone, "a job gives other parameters beside another job; the state must be what init returns")
    return "a job again, after another one, and beside another one"


def goes_down(world: World) -> str:
    """Down a bowl, whose gradient is the place."""
    x = start = world.vector(0)
    update = world.own(x)
    for step in range(DOWN):
        x = update(x, x, step, LR)
    before, after = (float((one.astype(np.float64) ** 2).sum()) / 2 for one in (start, x))
    expect(
        after < before,
        f"{DOWN} steps of {LR:g} from {before:.4g} down a bowl end at {after:.4g}; parameters must go against the gradient",
    )
    return f"{DOWN} steps down a bowl: from {before:.4g} to {after:.4g}"


def is_the_same_elsewhere(world: World) -> str:
    """Where `verify` has it computed: in a process that reads nothing but the file, and that hashes
    texts otherwise."""
    here = _bits(world.job(0))
    with isolated_optimizer(world.code):
        there = _bits(world.job(0, begin=own_models.there(world.code)))
    expect(here == there, "another process gives other parameters")
    return "a process of its own has the same bits"


def in_runs(world: World) -> str:
    return same_records([f"local.optimizer={world.code.selector}"])


def _bits(parameters: Sequence[Vector]) -> bytes:
    return b"".join(one.tobytes() for one in parameters)


CHECKS: dict[str, Callable[[World], str]] = {
    "declared": declared,
    "arguments": leaves_its_arguments,
    "shape": has_its_shape,
    "no state": repeats,
    "direction": goes_down,
    "another process": is_the_same_elsewhere,
    "runs": in_runs,
}


def check(selector: str) -> Iterator[Finding]:
    """Yields one finding for every check of an optimiser `file.py:Class`."""
    return findings_in(CHECKS, lambda: World(selector))
