"""`fedbench import`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fedbench.cli.output import put, say, writing
from fedbench.errors import UsageError
from fedbench.scenarios import imports, trace_files

app = typer.Typer(help="Convert others' measurements into files of a scenario.", no_args_is_help=True)

Source = Annotated[Path, typer.Argument(help="The published file.")]
Clients = Annotated[int, typer.Option(min=1, help="How many clients to take, the first by number.")]
Output = Annotated[Path, typer.Option("--output", "-o", help="What to write.")]


@app.command()
def traces(
    folder: Annotated[
        Path, typer.Argument(help="A folder of logs of 3G or 4G links: .json, .csv, or six columns in .log or .txt.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder to write; it must not be there.")] = Path("traces"),
    latency_seconds: Annotated[float, typer.Option(min=0, max=1e9, help="Of logs of six columns, which know none.")] = 0.0,
) -> None:
    """Write a folder of traces of links for network.trace, one CSV file for each log.

    Example: fedbench import traces logs -o traces --latency-seconds 0.1
    """
    suffixes = (*trace_files.SUFFIXES, ".log", ".txt")
    logs = sorted(file for file in folder.iterdir() if file.suffix in suffixes) if folder.is_dir() else []
    if not logs:
        raise UsageError(f"import traces {folder}: expected a folder with files {', '.join(suffixes)}, got none")
    names = [f"{file.stem}.csv" for file in logs]
    if len(set(names)) < len(names):
        raise UsageError(f"import traces {folder}: two of its files differ in their suffix alone; rename one")
    texts = {name: imports.trace(file, latency_seconds).text for name, file in zip(names, logs, strict=True)}
    with writing("import traces", output):
        output.mkdir(parents=True)
        for name, text in texts.items():
            (output / name).write_text(text)
    sum_of_all = trace_files.sum_of({name: text.encode() for name, text in texts.items()})
    say(f"{len(names)} traces -> {output}")
    put(f"  network: {{trace: {{folder: {output}, sha256: {sum_of_all}}}}}")


@app.command()
def devices(
    source: Source,
    clients: Clients,
    output: Output = Path("devices.csv"),
    factor: Annotated[
        float, typer.Option(min=1e-3, max=1e3, help="A training step over the inference that is published.")
    ] = imports.BACKWARD,
) -> None:
    """Write how fast devices compute and send, from FedScale's client_device_capacity. Nothing in
    the pickle is run.

    Example: fedbench import devices client_device_capacity --clients 100
    """
    _write("devices", output, imports.devices(source, clients, factor))
    put(f"  clients: {clients}\n  compute: {{kind: devices, file: {output}}}\n  network: {{trace: {{file: {output}}}}}")


@app.command()
def availability(
    source: Source,
    clients: Clients,
    seconds: Annotated[float, typer.Option(min=1, max=1e9, help="Virtual seconds up to which windows are repeated.")],
    output: Output = Path("availability.csv"),
) -> None:
    """Write when clients are there, from FedScale's client_behave_trace. Nothing in the pickle is
    run.

    Example: fedbench import availability client_behave_trace --clients 100 --seconds 600000
    """
    _write("availability", output, imports.availability(source, clients, seconds))
    put(f"  clients: {clients}\n  availability: {{kind: table, file: {output}}}")


def _write(kind: str, output: Path, imported: imports.Imported) -> None:
    with writing(f"import {kind}", output):
        output.write_text(imported.text)
    say(f"{kind} -> {output}{f'; {imported.left_out}' if imported.left_out else ''}")
