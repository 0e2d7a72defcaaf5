"""Arguments and options that several verbs of the command line have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fedbench.cli import completion

ARCHIVES, TUNED = Path("results/suites"), Path("results/tuned")

ScenarioArgument = Annotated[
    str, typer.Argument(help="A scenario's name, or a path to a .yaml file.", autocompletion=completion.scenarios)
]
AlgorithmOption = Annotated[
    list[str],
    typer.Option(
        "--algorithm",
        "-a",
        help="name, name[param=value,...], file.py or file.py:Class[..]; may be given several times.",
        autocompletion=completion.algorithms,
    ),
]
SetOption = Annotated[list[str] | None, typer.Option("--set", help="Override a key of the scenario: key.path=value.")]
DeviceOption = Annotated[
    str, typer.Option(help="Where jobs are trained: cpu, cuda or cuda:N; cuda is torch's, jobs side by side.")
]
StoreOption = Annotated[Path, typer.Option("--store", "-r", help="Folder of the records.", envvar="FEDBENCH_STORE")]
ProcessesOption = Annotated[int, typer.Option("-j", "--processes", help="Runs at a time, each in a process.", min=1)]
WorkersOption = Annotated[int, typer.Option(help="Threads that train the jobs of one run.", min=1)]
JsonOption = Annotated[bool, typer.Option("--json", help="One JSON object a line.")]

FileOption = Annotated[
    str | None, typer.Option("--algorithm", "-a", help="file.py:Class, where the record's algorithm is in a file of your own.")
]
DrawOption = Annotated[int, typer.Option(help="Seed of that draw; another one draws others.", min=0)]

SuitesArgument = Annotated[
    list[str],
    typer.Argument(metavar="SUITE...", help="Names of suites, or paths to .yaml files.", autocompletion=completion.suites),
]
FolderOption = Annotated[Path, typer.Option("--tuned-in", help="Folder of the files of chosen options.")]
ReferencesOption = Annotated[Path, typer.Option("--references", help="Folder of the files of reference times.")]
ArchivesOption = Annotated[Path, typer.Option("--archives", help="Folder of the archives.")]
