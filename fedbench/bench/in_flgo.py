"""Federated averaging with the server, clients, clock and calculator of FLGo, in one process. FLGo
is imported when it starts."""

from __future__ import annotations

from typing import Any

from fedbench.bench.case import Ready
from fedbench.bench.orders import SAMPLE, Clients, Finished, Orders, outcome
from fedbench.bench.torch_ways import tensors
from fedbench.bench.train import Net
from fedbench.bench.train_ways import module_of
from fedbench.errors import FedbenchError

EVALUATED = 10_000  # examples that are evaluated together


def network_of(net: Net, x0: Any) -> Any:
    """Returns the model as FLGo wants it."""
    import torch
    from flgo.utils import fmodule

    class Network(fmodule.FModule):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.layers = module_of(net)

        def forward(self, x: Any) -> Any:
            return self.layers(x)

    network = Network()
    torch.nn.utils.vector_to_parameters(torch.from_numpy(x0.copy()), network.parameters())
    return network


def parties_of(orders: Orders, clients: Clients) -> tuple[type, type]:
    """Returns the classes of the server and of the clients, who follow the plan. Clients get its
    batches in the place of their DataLoader, which takes longer."""
    from flgo.algorithm import fedbase
    from flgo.benchmark.toolkits.cv.classification import GeneralCalculator

    features, labels = tensors((clients.x, clients.y))

    class Client(fedbase.BasicClient):  # type: ignore[misc]
        TaskCalculator = GeneralCalculator
        trained = 0

        def get_batch_data(self) -> Any:
            self.trained += 1
            rows = next(self.data_loader)
            return features.index_select(0, rows), labels.index_select(0, rows)

    class Server(fedbase.BasicServer):  # type: ignore[misc]
        TaskCalculator = GeneralCalculator

        def sample(self) -> list[int]:
            return [job.client for job in orders.updates[self.current_round - 1]]

    return Server, Client


def bound(classes: tuple[Any, Any], option: dict[str, Any], sizes: list[int]) -> Any:
    """Returns a server with clients of so many examples, bound as FLGo's own start does it."""
    import torch
    from flgo import VirtualCommunicator
    from flgo.simulator.base import BasicSimulator, ElemClock
    from flgo.utils import fflow

    shared = fflow.GlobalVariable(clock=ElemClock(), dev_list=[torch.device("cpu")])
    for party in classes:
        party.gv = shared
    server, *clients = (classes[0](option), *(classes[1](option) for _ in sizes))
    for number, (client, size) in enumerate(zip(clients, sizes, strict=True)):
        client.id, client.datavol = number, size
    server.register_clients(clients)
    shared.communicator = VirtualCommunicator([server, *clients])
    shared.simulator = BasicSimulator([server, *clients])
    shared.clock.register_simulator(simulator=shared.simulator)
    return server


def rounds(given: tuple[Orders, Clients]) -> Ready:
    """Makes one run a call. FedbenchError if the server has a rate other than 1, since FLGo
    averages models."""
    import torch
    from flgo.utils import fflow

    orders, clients = given
    if orders.server_lr != 1:
        raise FedbenchError(f"FLGo averages models: expected a server_lr of 1, got {orders.server_lr}")
    test, train = tensors(orders.test), tensors((clients.x[:SAMPLE], clients.y[:SAMPLE]))
    jobs = [job for jobs in orders.updates for job in jobs]
    batches: list[list[Any]] = [[] for _ in clients.shards]
    for job in jobs:
        batches[job.client] += map(torch.from_numpy, clients.batches(job))
    (steps,) = {job.steps for job in jobs}
    changed = {"num_steps": steps, "learning_rate": clients.lr, "batch_size": clients.net.batch, "test_batch_size": EVALUATED}
    option = {**fflow.default_option_dict, **changed, "task": "", "scene": "horizontal", "no_tqdm": True}
    classes, sizes = parties_of(orders, clients), [len(shard) for shard in clients.shards]

    def act() -> Finished:
        server = bound(classes, option, sizes)
        server.model = network_of(clients.net, orders.x0)
        server.test_data, server.train_data = (torch.utils.data.TensorDataset(*part) for part in (test, train))
        for client, own in zip(server.clients, batches, strict=True):
            client.data_loader = iter(own)
        first, accuracy = orders.x0, 0.0
        for version in range(len(orders.updates) + 1):
            if version == 1:
                first = torch.nn.utils.parameters_to_vector(server.model.parameters()).detach().numpy()
            if version in orders.evaluated:
                accuracy, _ = (server.test(flag=flag)["accuracy"] for flag in ("test", "train"))
            if version < len(orders.updates):
                server.gv.clock.step()
                server.iterate()
                server.current_round += 1
        return Finished(accuracy, sum(client.trained for client in server.clients), first)

    return Ready(act, lambda finished: outcome(orders, clients, finished))
