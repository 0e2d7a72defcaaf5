"""The library of models by name, and the shape of examples for which each of them was made."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

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


def _softmax(input_shape: Shape, classes: int) -> Model:
    """Softmax regression: 7,850 parameters for FashionMNIST."""
    return Model("softmax", input_shape, (Flatten(), Linear(math.prod(input_shape), classes)))


def _mlp(input_shape: Shape, classes: int) -> Model:
    """One hidden layer of 200 units."""
    return Model("mlp", input_shape, (Flatten(), Linear(math.prod(input_shape), 200), ReLU(), Linear(200, classes)))


def _mlp_101770(input_shape: Shape, classes: int) -> Model:
    """One hidden layer of 128 units, as in the experiment of Ringleader (Maranjyan and Richtárik
    2025) on FashionMNIST."""
    _needs("mlp_101770", input_shape, classes)
    return Model("mlp_101770", input_shape, (Flatten(), Linear(784, 128), ReLU(), Linear(128, classes)))


def _cnn_21840(input_shape: Shape, classes: int) -> Model:
    """The two-layer CNN of FedaGrac (Wu et al. 2021) for FashionMNIST.

    Dropout2d comes before the second pool, as in the authors' code, and each convolution's ReLU
    after its pool. In the paper's table ReLU comes right after the convolution. It commutes with
    pooling and dropout, so function and gradient are the same, but four times as many elements
    would be touched. After the first fully connected layer ReLU comes before Dropout.
    """
    _needs("cnn_21840", input_shape, classes)
    first = (Conv2d(1, 10, 5), MaxPool2d(2), ReLU())
    second = (Conv2d(10, 20, 5), Dropout2d(0.5), MaxPool2d(2), ReLU())
    head = (Flatten(), Linear(320, 50), ReLU(), Dropout(0.5), Linear(50, 10))
    return Model("cnn_21840", input_shape, first + second + head)


def _two_convolutions(name: str, input_shape: Shape, classes: int, flat: int) -> Model:
    _needs(name, input_shape, classes)
    first = (Conv2d(input_shape[0], 32, 5), MaxPool2d(2), ReLU())
    second = (Conv2d(32, 64, 5), MaxPool2d(2), ReLU())
    head = (Flatten(), Linear(flat, 512), ReLU(), Linear(512, 10))
    return Model(name, input_shape, first + second + head)


def _cnn_582026(input_shape: Shape, classes: int) -> Model:
    """The CNN of DeFedAvg (Wang et al. 2024) for FashionMNIST, without padding. ReLU comes after
    the first fully connected layer and after the pool of both convolutions, where it is the same
    function as before the pool."""
    return _two_convolutions("cnn_582026", input_shape, classes, 1024)


def _cnn_878538(input_shape: Shape, classes: int) -> Model:
    """The CNN of DeFedAvg (Wang et al. 2024) for CIFAR-10: cnn_582026 on three channels of 32 x
    32."""
    return _two_convolutions("cnn_878538", input_shape, classes, 1600)


def _alexnet(input_shape: Shape, classes: int) -> Model:
    """AlexNet for CIFAR as in FedaGrac (Wu et al. 2021); 7,212,874 parameters for ten classes. ReLU
    comes after a pool and not before it, which is the same function on fewer elements."""
    _needs("alexnet", input_shape, classes)
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
    return Model("alexnet", input_shape, first + second + head)


VGG19 = ((3, 64, 64), (64, 128, 128), (128, *(256,) * 4), (256, *(512,) * 4), (512, *(512,) * 4))
"""The channels before and after every convolution of each group."""


def _vgg19(input_shape: Shape, classes: int) -> Model:
    """VGG-19 without batch normalisation as in FedaGrac (Wu et al. 2021); 20,554,826 parameters for
    ten classes. The initial weights of the convolutions are those of the authors' code."""
    _needs("vgg19", input_shape, classes)
    body: list[Layer] = []
    for group in VGG19:
        for inputs, outputs in itertools.pairwise(group):
            body += [Conv2d(inputs, outputs, 3, padding=1, normal=True), ReLU()]
        body[-1:] = [MaxPool2d(2), ReLU()]  # the same function on fewer elements
    head = (Dropout(0.5), Linear(512, 512), ReLU(), Dropout(0.5), Linear(512, 512), ReLU(), Linear(512, classes))
    return Model("vgg19", input_shape, (*body, Flatten(), *head))


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


def _resnet18(input_shape: Shape, classes: int) -> Model:
    """ResNet-18 for CIFAR as in FADAS' code, which FedEcho (Wang et al. 2025) follows: it begins
    with a 3 x 3 convolution and has no max-pool. It has 11,173,962 parameters for ten classes, and
    11,220,132 for a hundred. Source: He et al. 2016, arXiv:1512.03385."""
    _needs("resnet18", input_shape, classes)
    body = [Conv2d(3, 64, 3, padding=1, bias=False), BatchNorm2d(64), ReLU()]
    for inputs, outputs, stride in ((64, 64, 1), (64, 128, 2), (128, 256, 2), (256, 512, 2)):
        body += [*_basic_block(inputs, outputs, stride), *_basic_block(outputs, outputs, 1)]
    return Model("resnet18", input_shape, (*body, AvgPool2d(4), Flatten(), Linear(512, classes)))


def _chars_mlp(input_shape: Shape, classes: int) -> Model:
    """Predicts the next character from the last 20: each is embedded in 8 numbers, and all of these
    go through one hidden layer of 128 units; 31,568 parameters for 80 characters. Source: Bengio et
    al. 2003, "A neural probabilistic language model", which does so with words."""
    _needs("chars_mlp", input_shape, classes)
    body = (Last(20), Embedding(classes, 8), Flatten(), Linear(20 * 8, 128), ReLU())
    return Model("chars_mlp", input_shape, (*body, Linear(128, classes)))


def _lstm_leaf(input_shape: Shape, classes: int) -> Model:
    """LEAF's model for Shakespeare: an embedding in 8 numbers, two LSTM layers of 256 units, a
    linear layer on the last output.

    Here a gate has two biases, and initial values are drawn by torch's laws. LEAF's code is for
    TensorFlow, with one bias, Glorot's law, and 1 added to the forget gate. Source: Caldas et al.
    2018, arXiv:1812.01097, models/shakespeare/stacked_lstm.py of their code."""
    _needs("lstm_leaf", input_shape, classes)
    body = (Embedding(classes, 8), LSTM(8, 256), LSTM(256, 256), Last(1), Flatten())
    return Model("lstm_leaf", input_shape, (*body, Linear(256, classes)))


MODELS: dict[str, Callable[[Shape, int], Model]] = {
    "softmax": _softmax,
    "mlp": _mlp,
    "mlp_101770": _mlp_101770,
    "cnn_21840": _cnn_21840,
    "cnn_582026": _cnn_582026,
    "cnn_878538": _cnn_878538,
    "alexnet": _alexnet,
    "vgg19": _vgg19,
    "resnet18": _resnet18,
    "chars_mlp": _chars_mlp,
    "lstm_leaf": _lstm_leaf,
}


def make_model(name: str, input_shape: Shape, classes: int) -> Model:
    """Returns the library's model of that name for examples of `input_shape`. UsageError if the
    name is unknown, or the model does not fit the examples."""
    if name not in MODELS:
        raise UsageError(f"model: unknown name {name!r}{nearest(name, MODELS)}")
    return MODELS[name](input_shape, classes)


FITS: dict[str, tuple[Shape, int | None]] = {
    "mlp_101770": ((1, 28, 28), 10),
    "cnn_21840": ((1, 28, 28), 10),
    "cnn_582026": ((1, 28, 28), 10),
    "cnn_878538": ((3, 32, 32), 10),
    "alexnet": ((3, 32, 32), None),
    "vgg19": ((3, 32, 32), None),
    "resnet18": ((3, 32, 32), None),
    "chars_mlp": ((80,), None),
    "lstm_leaf": ((80,), None),
}
"""The shape of examples and the number of classes for which a model was made; None stands for any
number. A model whose name has a number has so many parameters."""


def _needs(name: str, input_shape: Shape, classes: int) -> None:
    shape, number = FITS[name]
    if input_shape != shape or number not in (None, classes):
        wanted = f"{shape}{'' if number is None else f' in {number} classes'}"
        what = "images" if len(shape) == 3 else "sequences"
        raise UsageError(f"model {name}: takes {what} {wanted}, got {input_shape} in {classes}; use softmax or mlp for them")
