"""`fedbench import`."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer
import yaml

from fedbench import places
from fedbench.cli.output import put, say, writing
from fedbench.errors import UsageError
from fedbench.scenarios import imports, trace_files

app = typer.Typer(help="Convert published traces into files for a scenario.", no_args_is_help=True)

Source = Annotated[Path, typer.Argument(help="Published file.")]
Clients = Annotated[int, typer.Option(min=1, help="Number of clients to take, in the order of their numbers.")]
Output = Annotated[Path, typer.Option("--output", "-o", help="File to write.")]


@app.command()
def traces(
    folder: Annotated[
        Path, typer.Argument(help="Folder of logs of 3G or 4G links: .json, .csv, or six columns in .log or .txt.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to write, which must not exist.")] = Path("traces"),
    latency_seconds: Annotated[
        float, typer.Option(min=0, max=1e9, help="Latency for logs of six columns, which have none.")
    ] = 0.0,
) -> None:
    """Write traces of mobile links for network.trace.

    Writes a folder with a CSV file for each log.
    """
    suffixes = (*trace_files.SUFFIXES, ".log", ".txt")
    files = folder.iterdir() if folder.is_dir() else ()
    logs = sorted(file for file in files if file.suffix in suffixes and not places.is_left_behind(file.name))
    if not logs:
        raise UsageError(f"import traces {folder}: expected a folder with files {', '.join(suffixes)}, got none")
    names = [f"{file.stem}.csv" for file in logs]
    if len(set(names)) < len(names):
        raise UsageError(f"import traces {folder}: two of its files differ in their suffix alone; rename one")
    texts = {name: imports.trace(file, latency_seconds).text for name, file in zip(names, logs, strict=True)}
    with writing("import traces", output):
        output.mkdir(parents=True)
        for name, text in texts.items():
            (output / name).write_text(text, encoding="utf-8")
    sum_of_all = trace_files.sum_of({name: text.encode() for name, text in texts.items()})
    say(f"{len(names)} traces -> {output}")
    _put_keys(network={"trace": {"folder": str(output), "sha256": sum_of_all}})


@app.command()
def devices(
    source: Source,
    clients: Clients,
    output: Output = Path("devices.csv"),
    factor: Annotated[
        float, typer.Option(min=1e-3, max=1e3, help="Time of a training step over the published time of an inference.")
    ] = imports.BACKWARD,
) -> None:
    """Write how fast devices compute and communicate.

    Reads client_device_capacity of FedScale. Code in the pickle is not run.
    """
    _write("devices", output, imports.devices(source, clients, factor))
    file = {"file": str(output)}
    _put_keys(clients=clients, compute={"kind": "devices", **file}, network={"trace": file})


@app.command()
def availability(
    source: Source,
    clients: Clients,
    seconds: Annotated[float, typer.Option(min=1, max=1e9, help="Virtual seconds up to which the windows are repeated.")],
    output: Output = Path("availability.csv"),
) -> None:
    """Write when clients are available.

    Reads client_behave_trace of FedScale. Code in the pickle is not run.
    """
    _write("availability", output, imports.availability(source, clients, seconds))
    _put_keys(clients=clients, availability={"kind": "table", "file": str(output)})


def _put_keys(**keys: object) -> None:
    """Prints keys of a scenario, a line each."""
    for key, value in keys.items():
        line = yaml.safe_dump({key: value}, default_flow_style=True, sort_keys=False, allow_unicode=True, width=math.inf)
        put(f"  {line.strip()[1:-1]}")


def _write(kind: str, output: Path, imported: imports.Imported) -> None:
    with writing(f"import {kind}", output):
        output.write_text(imported.text, encoding="utf-8")
    say(f"{kind} -> {output}{f'; {imported.left_out}' if imported.left_out else ''}")
