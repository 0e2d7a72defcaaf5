"""Looks up what the code has for cells that are facts of configuration: counts of parameters,
delays and tuned rates."""

from __future__ import annotations

from collections.abc import Sequence

from fedbench import origins, presets, registry
from fedbench.papers.cells import Cell
from fedbench.scenarios import load as scenarios
from fedbench.tasks.model_library import architecture, make_model

CLASSES = 10
UNIT_SECONDS = 10.0
"""Virtual seconds in the unit in which Wang et al. 2025 print delays."""
ENDS = ("low", "high")
"""Of the range of a delay."""
RATES = {"eta_l": "local_lr", "eta_g": "server_lr"}
MODELS = {"2-layer CNN": "cnn_21840", "AlexNet": "alexnet", "VGG-19": "vgg19"}
LAYERS_OF_BLOCKS = {"vgg19": (2, 2, 4, 4, 4, 1, 1, 1)}
"""How many layers with parameters each printed block of a model has. Blocks of the other models
have one."""
PARTITIONS = {"iid": "iid", "non-iid": "two-class"}
DATASETS = {
    "FashionMNIST": "fashion",
    "CIFAR-10": "cifar10",
    "CIFAR-100": "cifar100",
    "MRPC": "mrpc",
    "MathInstruct": "mathinstruct",
}


def ours(cell: Cell) -> tuple[float, str]:
    """Returns the code's number for a cell of configuration, and where it is from."""
    if cell.metric in RATES:
        return _rate(cell)
    return _delay(cell) if cell.metric in ENDS else _parameters(cell)


def _parameters(cell: Cell) -> tuple[float, str]:
    name, block = MODELS[cell.setting["model"]], cell.setting["block"]
    sizes = [parameter.size for parameter in make_model(name, architecture(name).shape, CLASSES).parameters]
    layers = [sum(sizes[i : i + 2]) for i in range(0, len(sizes), 2)]  # weight and bias
    counts = LAYERS_OF_BLOCKS.get(name, (1,) * len(layers))
    begin = sum(counts[:block])
    return float(sum(layers[begin : begin + counts[block]])), f"model {name}"


def _delay(cell: Cell) -> tuple[float, str]:
    name = f"fedecho-fashion-{cell.setting['delay']}-delay"
    compute = scenarios.load(name).compute
    seconds: Sequence[float] = getattr(compute, f"{cell.setting['category']}_seconds")
    return seconds[ENDS.index(cell.metric)] / UNIT_SECONDS, f"scenario {name}, in units of {UNIT_SECONDS:g} s"


def _rate(cell: Cell) -> tuple[float, str]:
    """Returns the learning rate in the preset of the cell's data. A rate that it leaves out is the
    algorithm's default."""
    algorithm, data = origins.plain(cell.algorithm), DATASETS[cell.setting["dataset"]]
    preset = f"fedecho-{data}"
    if "partition" in cell.setting:
        preset = f"defedavg-{data}-{PARTITIONS[cell.setting['partition']]}-n{cell.setting['n']}"
    options = registry.find("algorithm", algorithm)().options() | presets.options(preset, algorithm)
    return float(options[RATES[cell.metric]]), f"{algorithm}[preset={preset}]"
