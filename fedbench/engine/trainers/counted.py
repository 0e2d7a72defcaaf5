"""What a step costs on a GPU and in the native trainer, estimated by counting operations and bytes:
nothing is run."""

from __future__ import annotations

import math

from fedbench import written
from fedbench.tasks.layers import BatchNorm2d, Conv2d, Dropout, Flatten, Linear, MaxPool2d, Pool2d, ReLU, in_order
from fedbench.tasks.models import Model

LEAST_LANES, MOST_LANES, LANES_BYTES = 16, 256, 8 << 30
"""How many jobs the torch trainer of a device trains side by side, and the memory that more than
the least may take. It is one for all devices, so that all have the same lanes, and the same
bits."""

LANE_VECTORS = 10
"""The vectors of a lane, at most: parameters, gradient, those of the rule, and its moments."""

STEP_OPERATIONS = 5
"""The operations of torch in a step of plain SGD, whatever the model: two that bring what it reads,
two of the cross-entropy, and the step."""

OPERATION_SECONDS = 5e-6
"""What one takes on a GPU at least, however small: an estimate for steps that are a CUDA graph."""

NATIVE_FLOPS = 30e9
"""Floating-point operations a second of one core in the native trainer: 10 to 120 were measured."""


def operations(model: Model) -> int:
    """Returns how many operations of torch a step of all lanes has; those of layers without a case
    here are left out."""
    count, wants = STEP_OPERATIONS, False
    for layer, shape in in_order(model.layers, model.input_shape):
        match layer:
            case Linear():  # the product, with its bias; the gradients of both; the slopes before it
                count += 3 + wants
            case Conv2d():  # also the patches; the slopes are brought into another order and added
                count += 3 + layer.bias + bool(layer.padding) + 3 * wants
            case Flatten():
                count += wants and len(shape) > 1
            case BatchNorm2d():
                count += 24 + 5 * wants  # forward 19, and the gradients of the parameters
            case Pool2d() | ReLU() | Dropout():
                count += 1 + wants
        wants = wants or bool(layer.weight())
    return count


def flops(model: Model) -> int:
    """Returns the floating-point operations of the gradient of one example; a multiply-add counts
    as two, and the backward pass as two forward passes."""
    layers = in_order(model.layers, model.input_shape)
    products = [(layer.weight(), layer.output(shape)) for layer, shape in layers if isinstance(layer, Linear | Conv2d)]
    return 6 * sum(math.prod(weight) * math.prod(output[1:]) for weight, output in products)


def lane_bytes(model: Model, batch: int) -> int:
    """Returns about how much memory of a device a lane takes in float32: its vectors, and for all
    examples of a step what layers keep, as much in slopes, and the largest patches twice."""
    kept, largest = math.prod(model.input_shape), 0
    for layer, shape in in_order(model.layers, model.input_shape):
        values = math.prod(layer.output(shape))
        if isinstance(layer, Conv2d):
            patches = math.prod(layer.weight()[1:]) * values // layer.outputs
            kept, largest = kept + patches, max(largest, 2 * patches)
        kept += values * (3 if isinstance(layer, MaxPool2d) else 2 if isinstance(layer, Dropout | BatchNorm2d) else 1)
    return 4 * (LANE_VECTORS * model.dim + batch * (2 * kept + largest))


def lanes(model: Model, batch: int, together: int) -> int:
    """Returns how many lanes a device has for about so many jobs `together`: a power of two, and a
    function of the model, the batch and that number alone."""
    count, most = LEAST_LANES, min(MOST_LANES, LANES_BYTES // lane_bytes(model, batch))
    while count < together and 2 * count <= most:
        count *= 2
    return count


def comparison(model: Model, batch: int, together: int, *, native: bool) -> str:
    """Returns in words what a job's step takes on a GPU, about so many of them `together`, and
    where the native trainer is faster, if it can train the model (`native`)."""
    jobs, count = min(lanes(model, batch, together), together), operations(model)
    device = count * OPERATION_SECONDS / jobs
    crossing = f"{8 * model.dim / 1e3:,.4g} kB of a job cross to it and back if the CUDA kernels are not installed"
    counted = f"an estimate, no measurement: {count} operations a step of {jobs} jobs"
    found = f"{counted}, so at least {device * 1e6:,.0f} us for each; {crossing}"
    if not native:
        return f"{found}; the native trainer cannot train this"
    core = batch * flops(model) / NATIVE_FLOPS
    cores = max(1, math.ceil(core / device))
    return f"{found}; the native trainer takes about {core * 1e6:,.0f} us, and is faster from {written.counted(cores, 'core')} on"
