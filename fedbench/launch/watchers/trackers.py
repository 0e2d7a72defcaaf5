"""Watchers that hand curves to trackers of experiments. Their packages are extras, which are
imported when a watcher is made.

Every run of fedbench is a run of the tracker. The step of a point is its version, and its time is
virtual, so the tracker's axis of relative time shows virtual seconds.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from pathlib import Path
from typing import Any, Generic, TypeVar

from fedbench import extras
from fedbench.launch.watch import Evaluation, WatchedRun, Watcher
from fedbench.results.record import Record

Opened = TypeVar("Opened")


class _Tracker(Watcher, Generic[Opened]):
    """Opens a run of the tracker at its first point, and closes it when the run ends, fails, or is
    interrupted."""

    def __init__(self) -> None:
        self._open: dict[str, Opened] = {}

    def on_evaluation(self, run: WatchedRun, evaluation: Evaluation) -> None:
        if run.run_id not in self._open:
            self._open[run.run_id] = self.opened(run)
        self.log(self._open[run.run_id], evaluation)

    def on_end(self, run: WatchedRun, record: Record) -> None:
        opened = self._open.pop(run.run_id, None) or self.opened(run)
        self.close(opened, _found(record), "FINISHED" if record.state == "finished" else "FAILED")

    def on_failure(self, run: WatchedRun, why: str) -> None:
        if run.run_id in self._open:
            self.close(self._open.pop(run.run_id), {}, "FAILED")

    def on_close(self) -> None:
        while self._open:
            self.close(self._open.popitem()[1], {}, "KILLED")

    @abstractmethod
    def opened(self, run: WatchedRun) -> Opened:
        """Begins a run of the tracker, with the settings of the run."""

    @abstractmethod
    def log(self, opened: Opened, evaluation: Evaluation) -> None:
        """Hands over a point."""

    @abstractmethod
    def close(self, opened: Opened, found: dict[str, float], state: str) -> None:
        """Ends a run of the tracker, with what was found: FINISHED, FAILED or KILLED."""


def _found(record: Record) -> dict[str, float]:
    """Returns the virtual seconds at which each target was first met, by name."""
    return {f"seconds_to_{hit.metric}_{hit.value:g}": hit.seconds for hit in record.time_to_target if hit.seconds is not None}


class TensorBoard(_Tracker[Any]):
    """Writes event files, each run in a folder."""

    def __init__(self, where: str) -> None:
        super().__init__()
        extras.require("tensorboard", f"--watch tensorboard:{where:.80}")
        self.folder = Path(where)
        self.folder.mkdir(parents=True, exist_ok=True)

    def opened(self, run: WatchedRun) -> Any:
        from tensorboard.summary import Writer

        name = re.sub(r"[^\w.,=\[\]+-]+", "_", run.name)[:150]
        return Writer(str(self.folder / run.spec.scenario.name / f"{name}_{run.run_id[:8]}"))

    def log(self, opened: Any, evaluation: Evaluation) -> None:
        for name, value in evaluation.metrics.items():
            opened.add_scalar(name, value, evaluation.version, wall_time=evaluation.seconds)

    def close(self, opened: Any, found: dict[str, float], state: str) -> None:
        for name, value in found.items():
            opened.add_scalar(name, value, 0)
        opened.close()


class Mlflow(_Tracker[str]):
    """Logs to a server of MLflow, or into a database in a folder. The experiment is `fedbench`."""

    def __init__(self, where: str) -> None:
        super().__init__()
        extras.require("mlflow", f"--watch mlflow:{where:.80}")
        from mlflow import MlflowClient

        artifacts = None
        if "://" not in where:
            folder = Path(where).resolve()
            folder.mkdir(parents=True, exist_ok=True)
            where, artifacts = f"sqlite:///{folder / 'mlflow.db'}", (folder / "artifacts").as_uri()
        self.client = MlflowClient(tracking_uri=where)
        there = self.client.get_experiment_by_name("fedbench")
        self.experiment = there.experiment_id if there else self.client.create_experiment("fedbench", artifact_location=artifacts)

    def opened(self, run: WatchedRun) -> str:
        from mlflow.entities import Param

        begun: str = self.client.create_run(self.experiment, run_name=run.name).info.run_id
        self.client.log_batch(begun, params=[Param(key, str(value)) for key, value in run.settings.items()])
        return begun

    def log(self, opened: str, evaluation: Evaluation) -> None:
        from mlflow.entities import Metric

        at, step = round(evaluation.seconds * 1000), evaluation.version
        self.client.log_batch(opened, metrics=[Metric(name, value, at, step) for name, value in evaluation.metrics.items()])

    def close(self, opened: str, found: dict[str, float], state: str) -> None:
        for name, value in found.items():
            self.client.log_metric(opened, name, value)
        self.client.set_terminated(opened, state)


class Wandb(_Tracker[Any]):
    """Logs to a project of Weights & Biases, given as PROJECT or ENTITY/PROJECT. WANDB_MODE=offline
    keeps all on this machine."""

    def __init__(self, where: str) -> None:
        super().__init__()
        extras.require("wandb", f"--watch wandb:{where:.80}")
        self.entity, _, self.project = where.rpartition("/")

    def opened(self, run: WatchedRun) -> Any:
        import wandb

        settings = wandb.Settings(silent=True, console="off")
        begun = wandb.init(
            project=self.project,
            entity=self.entity or None,
            name=run.name,
            config=run.settings,
            reinit="create_new",
            settings=settings,
        )
        begun.define_metric("*", step_metric="seconds")
        return begun

    def log(self, opened: Any, evaluation: Evaluation) -> None:
        opened.log({"seconds": evaluation.seconds, "version": evaluation.version, **evaluation.metrics})

    def close(self, opened: Any, found: dict[str, float], state: str) -> None:
        opened.summary.update(found)
        opened.finish(exit_code=0 if state == "FINISHED" else 1)
