"""Federated averaging in pfl-research, as its documentation has it, in one process."""

from __future__ import annotations

from functools import partial

import numpy as np
import torch
from pfl.aggregate.simulate import SimulatedBackend
from pfl.algorithm.base import NNAlgorithmParams
from pfl.algorithm.federated_averaging import FederatedAveraging
from pfl.callback.base import TrainingProcessCallback
from pfl.data.dataset import Dataset
from pfl.data.federated_dataset import FederatedDataset
from pfl.data.pytorch import PyTorchTensorDataset
from pfl.hyperparam import NNEvalHyperParams, NNTrainHyperParams
from pfl.metrics import Metrics, Weighted
from pfl.model.pytorch import PyTorchModel
from torch import Tensor
from torch.nn.functional import cross_entropy

from fedbench.bench.case import Ready
from fedbench.bench.orders import Finished, Orders, outcome
from fedbench.bench.torch_ways import tensors
from fedbench.bench.train_ways import module_of, parameters, set_parameters

EVALUATED = NNEvalHyperParams(local_batch_size=10_000)  # examples that are evaluated together


class Network(torch.nn.Module):
    """The model as pfl wants it, which counts its steps."""

    def __init__(self, orders: Orders) -> None:
        super().__init__()
        self.layers, self.trained = module_of(orders.clients.net), 0
        set_parameters(self, orders.x0)

    def loss(self, x: Tensor, y: Tensor, *_: object) -> Tensor:
        self.trained += 1
        return cross_entropy(self.train().layers(x), y)

    @torch.no_grad()
    def metrics(self, x: Tensor, y: Tensor, *_: object) -> dict[str, Weighted]:
        logits = self.eval().layers(x)
        loss, right = cross_entropy(logits, y, reduction="sum"), (logits.argmax(1) == y).sum()
        return {"loss": Weighted(loss.item(), len(y)), "accuracy": Weighted(right.item(), len(y))}


class Evaluation(TrainingProcessCallback):  # type: ignore[misc]
    """Evaluates where the run does, and keeps the last accuracy and the first model."""

    def __init__(self, orders: Orders) -> None:
        self.orders, self.accuracy, self.first = orders, 0.0, orders.x0
        self.examples = [PyTorchTensorDataset(tuple(tensors(part))) for part in (orders.test, orders.sample)]

    def at(self, version: int, model: PyTorchModel) -> None:
        if version == 1:
            self.first = parameters(model.pytorch_model)
        if version in self.orders.evaluated:
            found, _ = (model.evaluate(part, eval_params=EVALUATED) for part in self.examples)
            self.accuracy = next(value.overall_value for name, value in found if "accuracy" in str(name))

    def on_train_begin(self, *, model: PyTorchModel) -> Metrics:
        self.at(0, model)
        return Metrics()

    def after_central_iteration(self, metrics: Metrics, model: PyTorchModel, *, central_iteration: int) -> tuple[bool, Metrics]:
        self.at(central_iteration + 1, model)
        return False, Metrics()


def rounds(orders: Orders) -> Ready:
    """Makes one run a call. The users of a cohort are the jobs of the plan, in its order, and a
    user's data are the batches of the job one after the other. pfl evaluates the first cohort
    before and after its training."""
    clients, (features, labels) = orders.clients, tensors(orders.train)
    jobs = [job for jobs in orders.updates for job in jobs]
    own = [torch.from_numpy(np.concatenate(clients.batches(job))) for job in jobs]
    (cohort,), (steps,) = {len(jobs) for jobs in orders.updates}, {job.steps for job in jobs}
    rule = NNTrainHyperParams(
        local_batch_size=clients.net.batch, local_num_epochs=None, local_learning_rate=clients.lr, local_num_steps=steps
    )
    length = NNAlgorithmParams(
        central_num_iterations=len(orders.updates),
        evaluation_frequency=len(orders.updates),
        train_cohort_size=cohort,
        val_cohort_size=0,
    )

    def data_of(number: int) -> Dataset:
        return Dataset((features.index_select(0, own[number]), labels.index_select(0, own[number])), user_id=str(number))

    def act() -> Finished:
        network, seen, numbers = Network(orders), Evaluation(orders), iter(range(len(own)))
        users = FederatedDataset(data_of, lambda: next(numbers))
        model = PyTorchModel(network, torch.optim.SGD, torch.optim.SGD(network.parameters(), lr=orders.server_lr))
        FederatedAveraging().run(
            length, SimulatedBackend(users, users), model, rule, EVALUATED, [seen], send_metrics_to_platform=False
        )
        return Finished(seen.accuracy, network.trained, seen.first)

    return Ready(act, partial(outcome, orders))
