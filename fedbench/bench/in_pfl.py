"""Federated averaging in pfl-research, as its documentation has it, in one process. pfl is imported
when it starts."""

from __future__ import annotations

from typing import Any

import numpy as np

from fedbench.bench.case import Ready
from fedbench.bench.orders import SAMPLE, Clients, Finished, Orders, outcome
from fedbench.bench.torch_ways import tensors
from fedbench.bench.train import Net
from fedbench.bench.train_ways import module_of

EVALUATED = 10_000  # examples that are evaluated together


def network_of(net: Net, x0: Any) -> Any:
    """Returns the model as pfl wants it, which counts its steps."""
    import torch
    from pfl.metrics import Weighted

    class Network(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers, self.trained = module_of(net), 0

        def loss(self, x: Any, y: Any, *_: Any) -> Any:
            self.trained += 1
            return torch.nn.functional.cross_entropy(self.train().layers(x), y)

        @torch.no_grad()
        def metrics(self, x: Any, y: Any, *_: Any) -> dict[str, Any]:
            logits = self.eval().layers(x)
            loss, right = torch.nn.functional.cross_entropy(logits, y, reduction="sum"), (logits.argmax(1) == y).sum()
            return {"loss": Weighted(loss.item(), len(y)), "accuracy": Weighted(right.item(), len(y))}

    network = Network()
    torch.nn.utils.vector_to_parameters(torch.from_numpy(x0.copy()), network.parameters())
    return network


def evaluation(orders: Orders, clients: Clients, size: Any) -> Any:
    """Returns the callback that evaluates where the run does, and keeps the last accuracy and the
    first model."""
    import torch
    from pfl.callback.base import TrainingProcessCallback
    from pfl.data.pytorch import PyTorchTensorDataset
    from pfl.metrics import Metrics

    test, sample = tensors(orders.test), tensors((clients.x[:SAMPLE], clients.y[:SAMPLE]))
    examples = PyTorchTensorDataset(tuple(test)), PyTorchTensorDataset(tuple(sample))

    class Evaluation(TrainingProcessCallback):  # type: ignore[misc]
        accuracy, first = 0.0, orders.x0

        def at(self, version: int, model: Any) -> None:
            if version == 1:
                self.first = torch.nn.utils.parameters_to_vector(model.pytorch_model.parameters()).detach().numpy()
            if version in orders.evaluated:
                found, _ = (model.evaluate(part, eval_params=size) for part in examples)
                self.accuracy = next(value.overall_value for name, value in found if "accuracy" in str(name))

        def on_train_begin(self, *, model: Any) -> Any:
            self.at(0, model)
            return Metrics()

        def after_central_iteration(self, metrics: Any, model: Any, *, central_iteration: int) -> tuple[bool, Any]:
            self.at(central_iteration + 1, model)
            return False, Metrics()

    return Evaluation()


def rounds(given: tuple[Orders, Clients]) -> Ready:
    """Makes one run a call. The users of a cohort are the jobs of the plan, in its order, and a
    user's data are the batches of the job one after the other. pfl evaluates the first cohort
    before and after its training."""
    import torch
    from pfl.aggregate.simulate import SimulatedBackend
    from pfl.algorithm.base import NNAlgorithmParams
    from pfl.algorithm.federated_averaging import FederatedAveraging
    from pfl.data.dataset import Dataset
    from pfl.data.federated_dataset import FederatedDataset
    from pfl.hyperparam import NNEvalHyperParams, NNTrainHyperParams
    from pfl.model.pytorch import PyTorchModel

    orders, clients = given
    features, labels = tensors((clients.x, clients.y))
    jobs = [job for jobs in orders.updates for job in jobs]
    own = [torch.from_numpy(np.concatenate(clients.batches(job))) for job in jobs]
    (cohort,), (steps,) = {len(jobs) for jobs in orders.updates}, {job.steps for job in jobs}
    size = NNEvalHyperParams(local_batch_size=EVALUATED)
    rule = NNTrainHyperParams(
        local_batch_size=clients.net.batch, local_num_epochs=None, local_learning_rate=clients.lr, local_num_steps=steps
    )
    length = NNAlgorithmParams(
        central_num_iterations=len(orders.updates),
        evaluation_frequency=len(orders.updates),
        train_cohort_size=cohort,
        val_cohort_size=0,
    )

    def data_of(number: int) -> Any:
        return Dataset((features.index_select(0, own[number]), labels.index_select(0, own[number])), user_id=str(number))

    def act() -> Finished:
        network, seen, numbers = network_of(clients.net, orders.x0), evaluation(orders, clients, size), iter(range(len(own)))
        users = FederatedDataset(data_of, lambda: next(numbers))
        model = PyTorchModel(network, torch.optim.SGD, torch.optim.SGD(network.parameters(), lr=orders.server_lr))
        FederatedAveraging().run(
            length, SimulatedBackend(users, users), model, rule, size, [seen], send_metrics_to_platform=False
        )
        return Finished(seen.accuracy, network.trained, seen.first)

    return Ready(act, lambda finished: outcome(orders, clients, finished))
