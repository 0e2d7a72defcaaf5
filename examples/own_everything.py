"""Everything is one's own: data, model, optimiser, metric and algorithm. The algorithm and FedBuff are tuned alike, raced,
drawn and tabled. `python examples/own_everything.py` takes a minute on two cores (extras torch, frame, plot)."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_digits
from torch import nn

import fedbench as fb
from fedbench import kernels as k
from fedbench.protocols import Count, Log, Positive, option
from fedbench.types import Stream


class Net(nn.Sequential):
    def __init__(self, input_shape, classes):
        body = nn.Unflatten(1, (1, 8, 8)), nn.Conv2d(1, 8, 3), nn.GELU(), nn.Flatten(), nn.LayerNorm(288)
        super().__init__(*body, nn.Linear(288, classes))


class AdaGrad(fb.Optimizer):
    def init(self, parameters):
        return np.zeros_like(parameters)

    def update(self, parameters, gradient, state, step, lr):
        state = state + gradient**2
        return parameters - lr * gradient / (np.sqrt(state) + 1e-8), state


class WorstRecall(fb.Metric):
    name = "worst_recall"

    def value(self, logits, labels, features):
        return min((logits[labels == c].argmax(axis=1) == c).mean() for c in np.unique(labels))


@dataclass(frozen=True, kw_only=True)
class Damped(fb.Algorithm):
    """x <- x + server_lr / M * sum of Delta / (1 + staleness), over a buffer of M arrivals."""

    name = "damped"
    local_lr: Positive = option(0.01, "The clients' rate.", search=Log(0.001, 0.1))
    server_lr: Positive = option(1.0, "The server's rate.", search=Log(0.3, 3))
    buffer_size: Count = option(4, "How many arrivals make an update (M).")

    def dispatch(self, info):
        return Stream(concurrency=10, buffer_size=self.buffer_size)

    def step(self, state, batch, tools):
        state.x = state.x + k.weighted_sum(self.server_lr / self.buffer_size / (1 + batch.staleness), batch.delta)


if __name__ == "__main__":
    pixels, digit = load_digits(return_X_y=True)
    table = {"writer": np.arange(len(digit)) % 20, "digit": digit, "pixels": list((pixels / 16).astype(np.float32))}
    pd.DataFrame(table).to_parquet("writers.parquet")

    scenario = Path(__file__).with_name("writers.yaml")
    rows = [f"{__file__}:Damped", "fedbuff"]
    while not (found := fb.race(scenario, algorithms=rows, minutes=3, processes=2)).systems:
        print("a slow machine; the same call goes on")
    print(found)

    records = fb.run(scenario, found.systems[0].rows, seeds=range(100, 105), processes=2)  # new seeds
    records.plot().figure.savefig("writers.pdf")
    columns = ["test_accuracy", "worst_recall", "seconds_to_0.8"]
    records.frame().groupby("algorithm")[columns].mean().to_latex("writers.tex", float_format="%.3f", escape=True)
