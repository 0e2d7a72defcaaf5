"""`fedbench run`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fedbench.cli import clusters, options
from fedbench.cli.interrupts import interruptible
from fedbench.cli.outcome import print_outcome
from fedbench.cli.output import err, print_json, show
from fedbench.engine.run import RunOptions
from fedbench.errors import UsageError
from fedbench.launch import watchers
from fedbench.launch.failures import RunsFailed
from fedbench.launch.progress import Lines
from fedbench.launch.records import Records
from fedbench.launch.runner import run_specs, specs
from fedbench.launch.watch import guarded
from fedbench.results.store import Store


def command(
    scenario: options.ScenarioArgument,
    algorithm: options.AlgorithmOption,
    seeds: Annotated[int, typer.Option(help="Number of seeds, from --first-seed on.", min=1)] = 1,
    first_seed: Annotated[int, typer.Option(help="First seed.", min=0)] = 0,
    overrides: options.SetOption = None,
    store: options.StoreOption = Path("runs"),
    processes: options.ProcessesOption = 1,
    workers: options.WorkersOption = 1,
    trainer: Annotated[str, typer.Option(help="Trainer: auto, native or torch. auto takes native where it can.")] = "auto",
    device: options.DeviceOption = "cpu",
    resume: Annotated[
        bool, typer.Option("--resume", help="Take finished runs from the store and continue interrupted ones.")
    ] = False,
    wave_size: Annotated[
        int | None, typer.Option(help="Most jobs that are trained together. It changes no result.", min=1)
    ] = None,
    checkpoint_seconds: Annotated[float, typer.Option(help="Wall-clock seconds between two checkpoints.", min=0.0)] = 10.0,
    keep_model: Annotated[
        bool, typer.Option("--keep-model", help="Write the final model beside the record, as model.safetensors.")
    ] = False,
    keep_clients: Annotated[
        bool,
        typer.Option("--keep-clients", help="Write accuracy and loss of every client and class beside the record, as Parquet."),
    ] = False,
    keep_clients_at: Annotated[
        str | None,
        typer.Option(
            help="As --keep-clients, also for the models at these virtual seconds, such as 10,20.", metavar="SECONDS,.."
        ),
    ] = None,
    wait: Annotated[
        bool, typer.Option("--wait", help="Wait for runs that another process computes, and take their records.")
    ] = False,
    on: clusters.OnOption = "here",
    partition: clusters.PartitionOption = None,
    account: clusters.AccountOption = None,
    minutes: clusters.MinutesOption = None,
    memory: clusters.MemoryOption = None,
    at_once: clusters.AtOnceOption = None,
    watch: options.WatchOption = None,
    as_json: options.JsonOption = False,
) -> None:
    """Run algorithms on a scenario and record every run.

    Every algorithm runs once per seed. At the end, a table shows which targets were held, when, and
    at what cost. A run that fails does not stop the others; it is named at the end, and the exit
    code is 1.
    """
    how = RunOptions(
        workers=workers,
        trainer=trainer,
        device=device,
        wave_size=wave_size,
        checkpoint_seconds=checkpoint_seconds,
        resume=resume,
        keep_model=keep_model,
        keep_clients=keep_clients,
        keep_clients_at=_seconds(keep_clients_at),
    )
    wanted = specs(scenario, algorithm, range(first_seed, first_seed + seeds), overrides or ())
    given = clusters.Given(partition, account, minutes, memory, at_once)
    executor = clusters.executor(on, store, given, processes=processes, cpus=workers)
    waiting = Store(store).unfinished()
    if waiting and not resume:
        show(f"{len(waiting)} interrupted run(s) in {store}; --resume continues them")
    failed = None
    with guarded(watchers.made(watch or ())) as group:
        shown = [Lines(err)] if as_json else []
        try:
            with interruptible("finished runs are stored, the others continue with --resume"):
                records = run_specs(
                    wanted,
                    store=store,
                    processes=processes,
                    options=how,
                    progress=not as_json,
                    watch=[*shown, group],
                    wait=wait,
                    executor=executor,
                )
        except RunsFailed as error:
            records, failed = error.records, error
        _report(records, store, as_json=as_json)
        if failed is not None:
            raise failed


def _seconds(given: str | None) -> tuple[float, ...]:
    """Returns the times of --keep-clients-at. UsageError for one that is no number."""
    try:
        return tuple(map(float, given.split(","))) if given is not None else ()
    except ValueError:
        raise UsageError(f"--keep-clients-at: expected seconds such as 10,20, got {given!r:.80}") from None


def _report(records: Records, store: Path, *, as_json: bool) -> None:
    """Prints what came out, and which runs another process is computing."""
    for record in records:
        if as_json:
            place = Store(store).folder(record.scenario, record.spec.algorithm.name, record.run_id)
            print_json({"record": str(place), **record.as_dict()})
    if records.elsewhere:
        names = ", ".join(spec.named for spec in records.elsewhere)
        show(f"left out, since another process is computing them (--wait awaits them): {names}")
    if records and not as_json:
        print_outcome(records, store)
