"""What a step costs on a GPU and in the native trainer, estimated by counting operations and bytes:
nothing is run."""

from __future__ import annotations

import math

from fedbench import written
from fedbench.tasks.layers import Conv2d, Dropout, Flatten, Linear, in_order
from fedbench.tasks.models import Model

LANES = 16
"""How many jobs the torch trainer of a device trains side by side."""

STEP_OPERATIONS, WEIGHT_OPERATIONS, LAYER_OPERATIONS = 13, 5, 2
"""The operations of torch in a step, at least: whatever the model, for each layer with weights, and
for each other one."""

OPERATION_SECONDS = 22e-6
"""What torch's host takes to start one on a GPU, side by side."""

MASK_SECONDS = 0.11e-3
"""What the host takes to draw a job's dropout masks of a step."""

NATIVE_FLOPS = 30e9
"""Floating-point operations a second of one core in the native trainer: 10 to 120 were measured."""


def operations(model: Model) -> int:
    """Returns how many operations of torch a step of all lanes has, at least."""
    layers = [layer for layer, _ in in_order(model.layers, model.input_shape) if not isinstance(layer, Flatten)]
    return STEP_OPERATIONS + sum(WEIGHT_OPERATIONS if layer.weight() else LAYER_OPERATIONS for layer in layers)


def flops(model: Model) -> int:
    """Returns the floating-point operations of the gradient of one example; a multiply-add counts
    as two, and the backward pass as two forward passes."""
    layers = in_order(model.layers, model.input_shape)
    products = [(layer.weight(), layer.output(shape)) for layer, shape in layers if isinstance(layer, Linear | Conv2d)]
    return 6 * sum(math.prod(weight) * math.prod(output[1:]) for weight, output in products)


def comparison(model: Model, batch: int, clients: int, *, native: bool) -> str:
    """Returns in words what a job's step takes on a GPU, and where the native trainer is faster,
    if it can train the model (`native`)."""
    jobs, count = min(LANES, clients), operations(model)
    masks = MASK_SECONDS * any(isinstance(layer, Dropout) for layer, _ in in_order(model.layers, model.input_shape))
    device = count * OPERATION_SECONDS / jobs + masks
    crossing = f"{8 * model.dim / 1e3:,.4g} kB of a job cross to it and back if the CUDA kernels are not installed"
    counted = (
        f"an estimate, no measurement: {count} operations a step of {jobs} jobs{', and masks drawn one by one' if masks else ''}"
    )
    found = f"{counted}, so at least {device * 1e6:,.0f} us for each; {crossing}"
    if not native:
        return f"{found}; the native trainer cannot train this"
    core = batch * flops(model) / NATIVE_FLOPS
    cores = max(1, math.ceil(core / device))
    return f"{found}; the native trainer takes about {core * 1e6:,.0f} us, and is faster from {written.counted(cores, 'core')} on"
