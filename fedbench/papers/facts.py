"""Looks up what the code has for cells that are facts of configuration: counts of parameters,
delays and tuned rates."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fedbench import origins, presets, registry
from fedbench.papers.cells import Cell
from fedbench.scenarios import load as scenarios
from fedbench.tasks.model_library import architecture, make_model

CLASSES = 10
UNIT_SECONDS = 10.0
"""Virtual seconds in the unit in which Wang et al. 2025 print delays."""
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
    """Returns the code's number for a cell, and where it is from. Raises UsageError if the code has
    none."""
    return LOOKED_UP[cell.of](cell)


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
    return seconds[("low", "high").index(cell.metric)] / UNIT_SECONDS, f"scenario {name}, in units of {UNIT_SECONDS:g} s"


def _preset(name: Callable[[Cell], str]) -> Callable[[Cell], tuple[float, str]]:
    """Returns a function that looks up the learning rate of a cell's algorithm in the preset that
    `name` gives for the cell. A rate that the preset leaves out is the algorithm's default."""

    def look_up(cell: Cell) -> tuple[float, str]:
        algorithm, key, preset = origins.plain(cell.algorithm), RATES[cell.metric], name(cell)
        options = registry.find("algorithm", algorithm)().options() | presets.options(preset, algorithm)
        return float(options[key]), f"{algorithm}[preset={preset}]"

    return look_up


def _of_defedavg(cell: Cell) -> str:
    return f"defedavg-{DATASETS[cell.setting['dataset']]}-{PARTITIONS[cell.setting['partition']]}-n{cell.setting['n']}"


def _of_fedecho(cell: Cell) -> str:
    return f"fedecho-{DATASETS[cell.setting['dataset']]}"


LOOKED_UP: dict[str, Callable[[Cell], tuple[float, str]]] = {
    "000:T2": _preset(_of_defedavg),
    "001:T3": _parameters,
    "001:T4": _parameters,
    "001:T5": _parameters,
    "004:T1": _delay,
    "004:T8": _preset(_of_fedecho),
    "004:T9": _preset(_of_fedecho),
    "004:T10": _preset(_of_fedecho),
}
"""By the addresses of their tables, how the numbers of cells are looked up."""
