"""Local training without a federation: by hand (see by_hand.py), and the numbers of its records
derived again."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from fedbench import registry
from fedbench.algorithms.local_only import LocalOnly
from fedbench.analysis.summary import summarize
from fedbench.engine.alone import AloneEvaluator
from fedbench.engine.execute import Execution
from fedbench.engine.measures import Parts
from fedbench.engine.plan import plan
from fedbench.engine.run import Run, RunOptions
from fedbench.engine.setup import Setup
from fedbench.engine.spec import RunSpec
from fedbench.engine.trainers.reference import ReferenceTrainer
from fedbench.engine.verify import verify
from fedbench.errors import UsageError
from fedbench.kernels.random import draw_batches
from fedbench.kernels.scheduler import NANOSECONDS, Availability, Duration, LocalSteps, Scheduler, Timing
from fedbench.results.digests import Digest
from fedbench.results.record import Record
from fedbench.scenarios.load import load
from fedbench.types import Info, Job, Message, Vector, Work
from tests.algorithms.by_hand import X0, delta_0, delta_1, run, serve, two_clients

Array = npt.NDArray[np.float64]
SMALL = ["clients=6", "budget.seconds=6", "local.steps=3", "task.model=softmax"]


def spec(selector: str = "local_only", *overrides: str) -> RunSpec:
    return RunSpec(load("digits-demo", [*SMALL, *overrides]), registry.algorithm(selector), 0)


def record(selector: str = "local_only", *overrides: str, **options: int) -> Record:
    return Run(spec(selector, *overrides), options=RunOptions(**options)).record()


def after(client: int, jobs: int) -> Array:
    """The model of a client of by_hand.py after so many jobs of its own."""
    x = X0
    for _ in range(jobs):
        x = x + (delta_0, delta_1)[client](x)
    return x


# ---- the equations ----


def test_every_client_goes_on_from_its_own_model() -> None:
    """Client 0 arrives at 1, 2, 3 s, client 1 at 2 s; client 0 stands before it in the update at
    2."""
    trace = run(LocalOnly(local_lr=0.25), two_clients(), 4, seconds=(1.0, 2.0))
    assert trace.seconds == [1, 2, 2, 3]
    assert trace.state is not None
    assert trace.state.memory.dense().tolist() == [after(0, 3).tolist(), after(1, 1).tolist()]
    means = [(after(0, a) + after(1, b)) / 2 for a, b in ((0, 0), (1, 0), (2, 0), (2, 1), (3, 1))]
    assert [x.tolist() for x in trace.x] == [x.tolist() for x in means]


def test_nobody_sends_anything() -> None:
    algorithm = LocalOnly()
    state, tools = serve(algorithm, 2, X0)
    assert algorithm.traffic(tools.info) == (0, 0, 0)
    assert "x" not in algorithm.broadcast(state, tools)
    reply = algorithm.reply(Message(), Job(0, 0, 0, 2), Work(delta=X0, end=X0, buffers=np.empty(0)), X0)
    assert reply.sent == {}
    ledger = record().ledger
    assert ledger.updates > 0
    assert (ledger.bytes_down, ledger.bytes_up, ledger.bytes_wasted) == (0, 0, 0)


@pytest.mark.parametrize("message", ["message: payload", "message: fixed, message_megabytes: 3"])
def test_it_waits_for_no_network(message: str) -> None:
    """Where messages have a fixed size too, since there is none."""
    slow = f"network={{latency_seconds: 1, download_megabit_per_second: 1, upload_megabit_per_second: 1, {message}}}"
    fast = "network={latency_seconds: 0}"
    assert plan(spec("local_only", slow)).plan_digest == plan(spec("local_only", fast)).plan_digest
    assert plan(spec("fedavg[cohort_size=2]", slow)).updates < plan(spec("fedavg[cohort_size=2]", fast)).updates


@pytest.mark.parametrize(
    "absence", [{"dropout": 0.5}, {"availability": Availability(kind="alternating", mean_on_seconds=3, mean_off_seconds=2)}]
)
def test_a_lost_job_leaves_the_model_as_it_was(absence: dict[str, object]) -> None:
    """So a client's model is that of as many jobs as arrived."""
    timing = Timing(
        clients=2,
        seed=5,
        compute=Duration.uniform(1.0, 2.0),
        steps=LocalSteps(values=2),
        max_updates=20,
        **absence,  # type: ignore[arg-type]
    )
    problem = two_clients()
    info = Info(2, problem.n(), problem.p())
    chunk = Scheduler(timing, LocalOnly().dispatch(info)).next()
    arrived = np.bincount(chunk.client[chunk.entries], minlength=2)
    assert len(chunk.client) > arrived.sum() + 2, "jobs were lost, beside those in flight"
    assert arrived.min() > 1
    execution = Execution(LocalOnly(local_lr=0.25), ReferenceTrainer(problem, dtype=X0.dtype), info, X0)
    execution.run([chunk])
    for client, jobs in enumerate(arrived.tolist()):
        assert execution.state.memory[client] == pytest.approx(after(client, jobs), rel=1e-12)


# ---- how it is judged ----


class Softmax:
    """The clients of a scenario, each alone, in float64: training and metrics without our code."""

    def __init__(self, of: RunSpec) -> None:
        self.setup, self.spec = Setup(of), of
        self.train, self.test = (self.setup.task.dataset.train, self.setup.task.dataset.test)
        self.models = np.tile(self.setup.x0().astype(np.float64), (of.scenario.clients, 1))
        self.jobs = np.zeros(of.scenario.clients, int)

    def logits(self, x: Array, examples: Vector) -> Array:
        return np.asarray(examples.astype(np.float64) @ x[:640].reshape(10, 64).T + x[640:])

    def log_probabilities(self, x: Array, examples: Vector) -> Array:
        z = self.logits(x, examples)
        z = z - z.max(axis=1, keepdims=True)
        return np.asarray(z - np.log(np.exp(z).sum(axis=1, keepdims=True)))

    def work(self, client: int) -> None:
        local, x, shard = self.spec.scenario.local, self.models[client], self.setup.shards[client]
        k = int(self.jobs[client])
        rows, offsets = draw_batches(self.spec.seed, client, k, len(shard), local.batch_size, local.steps)
        for begin, end in itertools.pairwise(offsets.tolist()):
            chosen = shard[rows[begin:end]]
            slope = np.exp(self.log_probabilities(x, self.train.x[chosen])) - np.eye(10)[self.train.y[chosen]]
            slope /= len(chosen)
            x -= self.spec.algorithm.local_lr * np.concatenate([(slope.T @ self.train.x[chosen]).ravel(), slope.sum(axis=0)])
        self.jobs[client] += 1

    def metrics(self) -> tuple[float, float, float]:
        """Test accuracy, test loss and train loss: of every client's model, then their means."""
        rows = []
        for x in self.models:
            right = self.logits(x, self.test.x).argmax(axis=1) == self.test.y
            losses = (-self.log_probabilities(x, e.x)[np.arange(len(e.y)), e.y].mean() for e in (self.test, self.train))
            rows.append((right.mean(), *losses))
        accuracy, test_loss, train_loss = np.mean(rows, axis=0).tolist()
        return accuracy, test_loss, train_loss

    def by_client(self) -> Array:
        """Of every client's model: its accuracy on each class, by the client's shares of
        classes."""
        found = []
        for x, shard in zip(self.models, self.setup.shards, strict=True):
            right = self.logits(x, self.test.x).argmax(axis=1) == self.test.y
            labels = self.train.y[shard]
            found.append(sum(right[self.test.y == c].mean() * (labels == c).mean() for c in np.unique(labels)))
        return np.array(found)

    def arrivals(self) -> Iterator[tuple[int, int]]:
        """The time and the client of every update."""
        chunk = self.setup.scheduler().next()
        assert chunk.done
        return zip(chunk.time.tolist(), chunk.client[chunk.entries].tolist(), strict=True)


def test_metrics_are_means_over_the_clients_own_models() -> None:
    """One wrong or right test example of one client moves the mean accuracy by 1 / (6 * 355)."""
    one = spec()
    got, hand = Run(one).record(), Softmax(one)
    arrivals = list(hand.arrivals())
    expected = []
    for second in range(7):
        while arrivals and arrivals[0][0] <= second * NANOSECONDS:
            hand.work(arrivals.pop(0)[1])
        expected.append(hand.metrics())
    tolerance = 3 / (6 * len(hand.test.y))
    names = ("test_accuracy", "test_loss", "train_loss")
    for name, column in zip(names, np.transpose(expected), strict=True):
        assert got.curves[name] == pytest.approx(column, rel=1e-4, abs=tolerance if name == "test_accuracy" else 0), name
        assert len(set(column)) == 7, "each second is another number"
    accuracy = np.sort(hand.by_client())
    assert accuracy[0] < accuracy.mean() - 0.01
    assert got.final.client_accuracy_mean == pytest.approx(accuracy.mean(), abs=0.01)
    assert got.final.client_accuracy_worst_decile == pytest.approx(accuracy[0], abs=0.02)
    assert got.final.test_accuracy == pytest.approx(float(got.curves["test_accuracy"][-1]), rel=1e-6)
    hand.models[:] = hand.models.mean(axis=0)
    assert hand.metrics()[1] < 0.9 * got.final.test_loss, "the mean of the models is another model, and is not judged"


def test_the_digest_is_that_of_all_models(monkeypatch: pytest.MonkeyPatch) -> None:
    judged: list[tuple[Vector, Vector]] = []
    original = AloneEvaluator.parts

    def parts(self: AloneEvaluator, x: Vector, buffers: Vector) -> Parts:
        judged.append((x, buffers))
        return original(self, x, buffers)

    monkeypatch.setattr(AloneEvaluator, "parts", parts)
    got = record()
    ((x, buffers),) = judged
    assert (x.shape, buffers.shape) == ((6, 650), (0,))
    assert got.digests.model == Digest().add(x, buffers).hex()
    assert len({row.tobytes() for row in x}) == 6


# ---- runs ----


def test_waves_and_workers_change_no_bit() -> None:
    wanted = record()
    for options in ({"workers": 2}, {"wave_size": 1}, {"workers": 2, "wave_bytes": 1}):
        assert record(**options).digests == wanted.digests
    assert verify(wanted).verdict == "identical"


def test_it_can_end_at_a_target() -> None:
    """By the mean of the clients' accuracies."""
    whole = record()
    reached = float(whole.curves["test_accuracy"][2])
    ended = record("local_only", f"targets=[{{value: {reached - 0.001}}}]", "budget.stop_at_target=true", "budget.hold_points=1")
    assert ended.outcome.ended_by == "target"
    points = len(ended.curves["seconds"])
    assert points <= 3
    assert np.array_equal(ended.curves["test_accuracy"], whole.curves["test_accuracy"][:points])


def test_one_client_that_diverges_ends_the_run() -> None:
    assert record("local_only[local_lr=3e38]").state == "diverged"


def test_it_is_a_reference() -> None:
    """Shown and not ranked, though it is the best here on the clients' own classes."""
    alone, rival = record(), record("fedavg[cohort_size=2]")
    assert LocalOnly().reference
    assert not registry.algorithm("fedavg").reference
    assert (alone.spec.algorithm.reference, rival.spec.algorithm.reference) == (True, False)
    assert alone.final.client_accuracy_mean > rival.final.client_accuracy_mean
    (scenario,) = summarize([alone, rival])
    standings = {row.runs[0].spec.algorithm.name: row.accuracy.standing for row in scenario.rows}
    assert standings["local_only"] == "reference"
    assert standings["fedavg"] != "reference"


# ---- what it refuses ----


@pytest.mark.parametrize("act", [plan, lambda one: Run(one).record()], ids=["plan", "run"])
def test_a_model_with_buffers_is_refused(act: object) -> None:
    """Before the data are looked for, which are not needed for that."""
    batch_norm = RunSpec(load("fedagrac-cifar10-step-async", ["task.model=resnet18"]), LocalOnly(), 0)
    with pytest.raises(
        UsageError, match=r"^algorithm local_only is not applicable .* model resnet18 of task cifar10 has buffers"
    ):
        act(batch_norm)  # type: ignore[operator]


def test_who_is_alone_has_to_remember(tmp_path: Path) -> None:
    file = tmp_path / "plugin.py"
    file.write_text(
        "from fedbench import registry\nclass Mine(registry.find('algorithm', 'fedavg')):\n    name = 'mine'\n    alone = True\n"
    )
    with pytest.raises(UsageError, match="algorithm mine: alone: clients keep their models, so clients_remember must be True"):
        record(f"{file}:Mine")
