"""The library of models by name, and the shape of examples for which each of them was made."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import NamedTuple

from fedbench.errors import UsageError, nearest
from fedbench.tasks.layers import (
    AvgPool2d,
    BatchNorm2d,
    Conv2d,
    Dropout,
    Dropout2d,
    Flatten,
    Layer,
    Linear,
    MaxPool2d,
    ReLU,
    Residual,
)
from fedbench.tasks.models import Model
from fedbench.tasks.sequences import LSTM, Embedding, Last
from fedbench.tasks.tensors import Shape

Layers = tuple[Layer, ...]


def _softmax(input_shape: Shape, classes: int) -> Layers:
    """Softmax regression: 7,850 parameters for FashionMNIST."""
    return (Flatten(), Linear(math.prod(input_shape), classes))


def _mlp(input_shape: Shape, classes: int) -> Layers:
    """One hidden layer of 200 units."""
    return (Flatten(), Linear(math.prod(input_shape), 200), ReLU(), Linear(200, classes))


def _mlp_25450(input_shape: Shape, classes: int) -> Layers:
    """One hidden layer of 32 units, of the suite map: a small model that is not convex."""
    return (Flatten(), Linear(784, 32), ReLU(), Linear(32, classes))


def _mlp_101770(input_shape: Shape, classes: int) -> Layers:
    """One hidden layer of 128 units, as in the experiment of Ringleader (Maranjyan and Richtárik
    2025) on FashionMNIST."""
    return (Flatten(), Linear(784, 128), ReLU(), Linear(128, classes))


def _cnn_21840(input_shape: Shape, classes: int) -> Layers:
    """The two-layer CNN of FedaGrac (Wu et al. 2021) for FashionMNIST.

    Dropout2d comes before the second pool, as in the authors' code, and each convolution's ReLU
    after its pool. In the paper's table ReLU comes right after the convolution. It commutes with
    pooling and dropout, so function and gradient are the same, but four times as many elements
    would be touched. After the first fully connected layer ReLU comes before Dropout.
    """
    first = (Conv2d(1, 10, 5), MaxPool2d(2), ReLU())
    second = (Conv2d(10, 20, 5), Dropout2d(0.5), MaxPool2d(2), ReLU())
    head = (Flatten(), Linear(320, 50), ReLU(), Dropout(0.5), Linear(50, 10))
    return first + second + head


def _two_convolutions(input_shape: Shape, classes: int) -> Layers:
    """The CNNs of DeFedAvg (Wang et al. 2024) without padding: cnn_582026 for FashionMNIST, and
    cnn_878538 for CIFAR-10, on three channels of 32 x 32. ReLU comes after the first fully
    connected layer and after the pool of both convolutions, where it is the same function as before
    the pool."""
    side = ((input_shape[1] - 4) // 2 - 4) // 2  # a convolution takes 4, a pool halves
    flat = 64 * side**2
    first = (Conv2d(input_shape[0], 32, 5), MaxPool2d(2), ReLU())
    second = (Conv2d(32, 64, 5), MaxPool2d(2), ReLU())
    head = (Flatten(), Linear(flat, 512), ReLU(), Linear(512, 10))
    return first + second + head


def _alexnet(input_shape: Shape, classes: int) -> Layers:
    """AlexNet for CIFAR as in FedaGrac (Wu et al. 2021); 7,212,874 parameters for ten classes. ReLU
    comes after a pool and not before it, which is the same function on fewer elements."""
    pooled = (MaxPool2d(2), ReLU())
    first = (Conv2d(3, 64, 11, stride=4, padding=5), *pooled, Conv2d(64, 192, 5, padding=2), *pooled)
    second = (
        Conv2d(192, 384, 3, padding=1),
        ReLU(),
        Conv2d(384, 256, 3, padding=1),
        ReLU(),
        Conv2d(256, 256, 3, padding=1),
        *pooled,
    )
    head = (Flatten(), Dropout(0.5), Linear(256, 2048), ReLU(), Dropout(0.5), Linear(2048, 2048), ReLU(), Linear(2048, classes))
    return first + second + head


VGG19 = ((3, 64, 64), (64, 128, 128), (128, *(256,) * 4), (256, *(512,) * 4), (512, *(512,) * 4))
"""The channels before and after every convolution of each group."""


def _vgg19(input_shape: Shape, classes: int) -> Layers:
    """VGG-19 without batch normalisation as in FedaGrac (Wu et al. 2021); 20,554,826 parameters for
    ten classes. The initial weights of the convolutions are those of the authors' code."""
    body: list[Layer] = []
    for group in VGG19:
        for inputs, outputs in itertools.pairwise(group):
            body += [Conv2d(inputs, outputs, 3, padding=1, normal=True), ReLU()]
        body[-1:] = [MaxPool2d(2), ReLU()]  # the same function on fewer elements
    head = (Dropout(0.5), Linear(512, 512), ReLU(), Dropout(0.5), Linear(512, 512), ReLU(), Linear(512, classes))
    return (*body, Flatten(), *head)


def _basic_block(inputs: int, outputs: int, stride: int) -> tuple[Layer, ...]:
    """Two 3 x 3 convolutions with batch normalisation, added to their input or, where the shape
    changes, to a 1 x 1 convolution."""
    body = (
        Conv2d(inputs, outputs, 3, stride=stride, padding=1, bias=False),
        BatchNorm2d(outputs),
        ReLU(),
        Conv2d(outputs, outputs, 3, padding=1, bias=False),
        BatchNorm2d(outputs),
    )
    same = stride == 1 and inputs == outputs
    shortcut = () if same else (Conv2d(inputs, outputs, 1, stride=stride, bias=False), BatchNorm2d(outputs))
    return (Residual(body, shortcut), ReLU())


def _resnet18(input_shape: Shape, classes: int) -> Layers:
    """ResNet-18 for CIFAR as in FADAS' code, which FedEcho (Wang et al. 2025) follows: it begins
    with a 3 x 3 convolution and has no max-pool. It has 11,173,962 parameters for ten classes, and
    11,220,132 for a hundred. Source: He et al. 2016, arXiv:1512.03385."""
    body = [Conv2d(3, 64, 3, padding=1, bias=False), BatchNorm2d(64), ReLU()]
    for inputs, outputs, stride in ((64, 64, 1), (64, 128, 2), (128, 256, 2), (256, 512, 2)):
        body += [*_basic_block(inputs, outputs, stride), *_basic_block(outputs, outputs, 1)]
    return (*body, AvgPool2d(4), Flatten(), Linear(512, classes))


def _chars_mlp(input_shape: Shape, classes: int) -> Layers:
    """Predicts the next character from the last 20: each is embedded in 8 numbers, and all of these
    go through one hidden layer of 128 units; 31,568 parameters for 80 characters. Source: Bengio et
    al. 2003, "A neural probabilistic language model", which does so with words."""
    body = (Last(20), Embedding(classes, 8), Flatten(), Linear(20 * 8, 128), ReLU())
    return (*body, Linear(128, classes))


def _lstm_leaf(input_shape: Shape, classes: int) -> Layers:
    """LEAF's model for Shakespeare: an embedding in 8 numbers, two LSTM layers of 256 units, a
    linear layer on the last output.

    Here a gate has two biases, and initial values are drawn by torch's laws. LEAF's code is for
    TensorFlow, with one bias, Glorot's law, and 1 added to the forget gate. Source: Caldas et al.
    2018, arXiv:1812.01097, models/shakespeare/stacked_lstm.py of their code."""
    body = (Embedding(classes, 8), LSTM(8, 256), LSTM(256, 256), Last(1), Flatten())
    return (*body, Linear(256, classes))


class Architecture(NamedTuple):
    """The layers of a model for a shape of examples and a number of classes, and the shape and the
    number for which it was made; () and None stand for any."""

    layers: Callable[[Shape, int], Layers]
    shape: Shape = ()
    classes: int | None = None


MODELS = {
    "softmax": Architecture(_softmax),
    "mlp": Architecture(_mlp),
    "mlp_25450": Architecture(_mlp_25450, (1, 28, 28), 10),
    "mlp_101770": Architecture(_mlp_101770, (1, 28, 28), 10),
    "cnn_21840": Architecture(_cnn_21840, (1, 28, 28), 10),
    "cnn_582026": Architecture(_two_convolutions, (1, 28, 28), 10),
    "cnn_878538": Architecture(_two_convolutions, (3, 32, 32), 10),
    "alexnet": Architecture(_alexnet, (3, 32, 32)),
    "vgg19": Architecture(_vgg19, (3, 32, 32)),
    "resnet18": Architecture(_resnet18, (3, 32, 32)),
    "chars_mlp": Architecture(_chars_mlp, (80,)),
    "lstm_leaf": Architecture(_lstm_leaf, (80,)),
}
"""A model whose name has a number has so many parameters."""


def architecture(name: str) -> Architecture:
    """Returns the library's architecture of that name; UsageError if the name is unknown."""
    if name not in MODELS:
        raise UsageError(f"model: unknown name {name!r}{nearest(name, MODELS)}")
    return MODELS[name]


def make_model(name: str, input_shape: Shape, classes: int) -> Model:
    """Returns the library's model of that name for examples of `input_shape`. UsageError if the
    name is unknown, or the model does not fit the examples."""
    layers, shape, number = architecture(name)
    if shape and (input_shape != shape or number not in (None, classes)):
        wanted = f"{shape}{'' if number is None else f' in {number} classes'}"
        what = "images" if len(shape) == 3 else "sequences"
        raise UsageError(f"model {name}: takes {what} {wanted}, got {input_shape} in {classes}; use softmax or mlp for them")
    return Model(name, input_shape, layers(input_shape, classes))
