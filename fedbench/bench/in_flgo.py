"""Federated averaging with the server, clients, clock and calculator of FLGo, in one process."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import torch
from flgo import VirtualCommunicator
from flgo.algorithm.fedbase import BasicClient, BasicServer
from flgo.benchmark.toolkits.cv.classification import GeneralCalculator
from flgo.simulator.base import BasicSimulator, ElemClock
from flgo.utils import fflow
from flgo.utils.fmodule import FModule
from torch import Tensor
from torch.utils.data import TensorDataset

from fedbench.bench.case import Ready
from fedbench.bench.orders import Finished, Orders, outcome
from fedbench.bench.torch_ways import tensors
from fedbench.bench.train_ways import module_of, parameters, set_parameters
from fedbench.errors import FedbenchError
from fedbench.types import Vector

EVALUATED = 10_000  # examples that are evaluated together


def network_of(orders: Orders) -> FModule:
    """Returns the model as FLGo wants it, which makes more of its class."""

    class Network(FModule):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.layers = module_of(orders.clients.net)

        def forward(self, x: Tensor) -> Tensor:
            found: Tensor = self.layers(x)
            return found

    network = Network()
    set_parameters(network, orders.x0)
    return network


def parties_of(orders: Orders) -> tuple[type[BasicServer], type[BasicClient]]:
    """Returns the classes of the server and of the clients, who follow the plan. Clients get its
    batches in the place of their DataLoader, which takes longer."""
    features, labels = tensors(orders.train)

    class Client(BasicClient):  # type: ignore[misc]
        TaskCalculator = GeneralCalculator
        data_loader: Iterator[Tensor]
        trained = 0

        def get_batch_data(self) -> tuple[Tensor, Tensor]:
            self.trained += 1
            rows = next(self.data_loader)
            return features.index_select(0, rows), labels.index_select(0, rows)

    class Server(BasicServer):  # type: ignore[misc]
        TaskCalculator = GeneralCalculator

        def sample(self) -> list[int]:
            return [job.client for job in orders.updates[self.current_round - 1]]

    return Server, Client


def bound(classes: tuple[type[BasicServer], type[BasicClient]], option: dict[str, object], sizes: list[int]) -> BasicServer:
    """Returns a server with clients of so many examples, bound as FLGo's own start does it."""
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


def rounds(orders: Orders) -> Ready:
    """Makes one run a call. FedbenchError if the server has a rate other than 1, since FLGo
    averages models."""
    clients = orders.clients
    if orders.server_lr != 1:
        raise FedbenchError(f"FLGo averages models: expected a server_lr of 1, got {orders.server_lr}")
    examples = [TensorDataset(*tensors(part)) for part in (orders.test, orders.sample)]
    jobs = [job for jobs in orders.updates for job in jobs]
    batches: list[list[Tensor]] = [[] for _ in clients.shards]
    for job in jobs:
        batches[job.client] += map(torch.from_numpy, clients.batches(job))
    (steps,) = {job.steps for job in jobs}
    changed = {"num_steps": steps, "learning_rate": clients.lr, "batch_size": clients.net.batch, "test_batch_size": EVALUATED}
    option = {**fflow.default_option_dict, **changed, "task": "", "scene": "horizontal", "no_tqdm": True}
    classes, sizes = parties_of(orders), [len(shard) for shard in clients.shards]

    def act() -> Finished:
        server = bound(classes, option, sizes)
        server.model = network_of(orders)
        server.test_data, server.train_data = examples
        for client, own in zip(server.clients, batches, strict=True):
            client.data_loader = iter(own)

        def step(version: int, first: Vector) -> Vector:
            server.gv.clock.step()
            server.iterate()
            server.current_round += 1
            return parameters(server.model) if version == 0 else first

        found, first = orders.play(orders.x0, step, lambda _: [server.test(flag=flag)["accuracy"] for flag in ("test", "train")])
        return Finished(found[-1][0], sum(client.trained for client in server.clients), first)

    return Ready(act, partial(outcome, orders))
