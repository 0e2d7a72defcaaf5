"""The options that say where runs are computed, and the executor that they stand for."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer

from fedbench.cli.output import show
from fedbench.errors import UsageError
from fedbench.launch.executors import Executor
from fedbench.launch.on_ray import OnRay
from fedbench.launch.on_slurm import OnSlurm, Request
from fedbench.launch.side_by_side import RUNS, SideBySide
from fedbench.written import counted

OnOption = Annotated[
    str, typer.Option("--on", help="Place: here; slurm (needs the extra [slurm]); ray or ray:HOST:PORT (extra [ray]).")
]
PartitionOption = Annotated[str | None, typer.Option("--partition", help="Slurm: partition. Default: that of the cluster.")]
AccountOption = Annotated[str | None, typer.Option("--account", help="Slurm: account that is charged.")]
MinutesOption = Annotated[int | None, typer.Option("--minutes", help="Slurm: time limit of a job. Default: 60.", min=1)]
MemoryOption = Annotated[str | None, typer.Option("--memory", help="Slurm: memory of a job, such as 4G.")]
AtOnceOption = Annotated[
    int | None,
    typer.Option("--at-once", help="Most jobs at a time on a cluster. Default: 64 on Slurm, all processors on Ray.", min=1),
]


@dataclass(frozen=True)
class Given:
    """The options that only a cluster has, as they were given; None is left out."""

    partition: str | None = None
    account: str | None = None
    minutes: int | None = None
    memory: str | None = None
    at_once: int | None = None

    def names(self) -> list[str]:
        return [f"--{name.replace('_', '-')}" for name, value in asdict(self).items() if value is not None]


def executor(on: str, folder: Path, given: Given | None = None, *, processes: int = 1, cpus: int = 1) -> Executor | None:
    """Returns the executor that --on names, or None for processes on this machine.

    Args:
        on: the value of --on.
        folder: for what jobs of Slurm write beside their records.
        given: the options of clusters.
        processes: the value of -j, which is for this machine alone.
        cpus: processors that a run uses.

    Raises:
        UsageError: for an unknown name, for an option that the place does not have, or if the
            cluster is not there. Nothing was started.
    """
    given = given or Given()
    name, colon, address = on.partition(":")
    if name not in ("here", "ray", "slurm") or (colon and name != "ray"):
        raise UsageError(f"--on must be here, slurm, ray or ray:HOST:PORT, got {on!r:.80}")
    allowed = {"here": [], "ray": ["--at-once"], "slurm": given.names()}[name]
    for option in given.names():
        if option not in allowed:
            raise UsageError(f"{option} is for {'clusters' if option == '--at-once' else 'Slurm'}, and runs go to --on {name}")
    if name == "here":
        return None
    if processes > 1:
        raise UsageError(f"-j {processes} is for processes on this machine; with --on {name} say --at-once {processes}")
    if name == "ray":
        chosen: OnRay | OnSlurm = OnRay(address if colon else None, at_once=given.at_once, cpus=cpus, tell=show)
    else:
        asked = {key: value for key, value in asdict(given).items() if value is not None}
        chosen = OnSlurm(folder / ".jobs", Request(**asked, cpus=cpus), tell=show)
    chosen.check()
    return chosen


def on_device(device: str, on: str, given: Given, *, processes: int = 1) -> SideBySide:
    """Returns the executor of runs on a device other than the CPU, and says how many go side by
    side.

    Raises:
        UsageError: for an option that goes to other places.
    """
    if on != "here" or processes > 1:
        asked = f"--on {on:.80}" if on != "here" else f"-j {processes}"
        raise UsageError(f"{asked} is for other processes, and with --device {device} one has all runs; --at-once says how many")
    for option in given.names():
        if option != "--at-once":
            raise UsageError(f"{option} is for Slurm, and runs go to --device {device}")
    chosen = SideBySide(given.at_once or RUNS)
    show(f"up to {counted(chosen.runs, 'run')} side by side on {device}, with up to {chosen.lanes} jobs in a step")
    return chosen
