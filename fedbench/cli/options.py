"""Arguments and options that several verbs of the command line have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fedbench.cli import completion

ARCHIVES, TUNED = Path("results/suites"), Path("results/tuned")

ScenarioArgument = Annotated[str, typer.Argument(help="Scenario: a name, or a .yaml file.", autocompletion=completion.scenarios)]
AlgorithmOption = Annotated[
    list[str],
    typer.Option(
        "--algorithm",
        "-a",
        help="Algorithm: name, name[param=value,...], file.py or file.py:Class[..]. Can be repeated.",
        autocompletion=completion.algorithms,
    ),
]
SetOption = Annotated[list[str] | None, typer.Option("--set", help="Set a key of the scenario: key.path=value. Can be repeated.")]
DeviceOption = Annotated[str, typer.Option(help="Device that trains the jobs: cpu, cuda or cuda:N. cuda needs torch.")]
StoreOption = Annotated[Path, typer.Option("--store", "-r", help="Folder of the records.", envvar="FEDBENCH_STORE")]
ProcessesOption = Annotated[int, typer.Option("-j", "--processes", help="Number of runs at a time, each in a process.", min=1)]
WorkersOption = Annotated[int, typer.Option(help="Number of threads that train the jobs of a run.", min=1)]
WatchOption = Annotated[
    list[str] | None,
    typer.Option(
        "--watch", help="Also report to csv:FILE, tensorboard:DIR, mlflow:URI_OR_DIR or wandb:PROJECT. Can be repeated."
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object per line.")]

FileOption = Annotated[
    str | None, typer.Option("--algorithm", "-a", help="file.py:Class of the record's algorithm, if it is in a file of yours.")
]
ModelFileOption = Annotated[
    str | None,
    typer.Option("--model", "-m", help="file.py:Class or package.module:Class of the record's model, if it is one of yours."),
]
MetricFilesOption = Annotated[
    list[str] | None,
    typer.Option("--metric", help="file.py:Class or package.module:Class of a metric of yours in the record. Can be repeated."),
]
LossFileOption = Annotated[
    str | None,
    typer.Option("--loss", help="file.py:Class or package.module:Class of the record's loss of yours."),
]
OptimizerFileOption = Annotated[
    str | None,
    typer.Option("--optimizer", help="file.py:Class or package.module:Class of the record's local optimizer of yours."),
]
DrawOption = Annotated[int, typer.Option(help="Seed of the random draw.", min=0)]

SuitesArgument = Annotated[
    list[str],
    typer.Argument(metavar="SUITE", help="Suites: names, or .yaml files.", autocompletion=completion.suites),
]
FolderOption = Annotated[Path, typer.Option("--tuned-in", help="Folder of the tuned options.")]
ReferencesOption = Annotated[
    Path, typer.Option("--references", help="Folder of the reference times. Default: those of fedbench.", show_default=False)
]
ArchivesOption = Annotated[Path, typer.Option("--archives", help="Folder of the archives of suites.")]
