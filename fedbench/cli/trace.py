"""`fedbench trace`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fedbench import own_models
from fedbench.cli.options import FileOption, ModelFileOption
from fedbench.cli.output import say, writing
from fedbench.engine.export import write_parquet, write_trace
from fedbench.engine.spec import RunSpec
from fedbench.errors import UsageError
from fedbench.results.store import read, record_folders


def command(
    record: Annotated[Path, typer.Argument(help="Folder of the record.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="File of the timeline.")] = Path("trace.json"),
    algorithm: FileOption = None,
    model: ModelFileOption = None,
    parquet: Annotated[Path | None, typer.Option(help="Also write jobs.parquet and updates.parquet into this folder.")] = None,
) -> None:
    """Write the timeline of a run for ui.perfetto.dev.

    The clock of the run is simulated again; nothing is trained. Open the file at
    https://ui.perfetto.dev.
    """
    folders = record_folders(record)
    if len(folders) != 1:
        raise UsageError(f"trace {record}: expected one record, it holds {len(folders)}; name one, such as {folders[0]}")
    found = read(folders[0])
    spec, task = RunSpec.of(found.spec, algorithm), found.spec.scenario.task
    if task.model_sha256 is not None:
        own_models.recorded(task.model, task.model_sha256, model)
    end = found.final.seconds if found.outcome.ended_by == "target" else None
    with writing("trace", output):
        events = write_trace(spec, output, end)
    say(f"{events} events -> {output}")
    if parquet is not None:
        with writing("trace", parquet, "--parquet"):
            write_parquet(spec, parquet, end)
        say(f"jobs and updates -> {parquet}")
