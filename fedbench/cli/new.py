"""`fedbench new`."""

from __future__ import annotations

import importlib.util
import keyword
import sys
from collections.abc import Mapping
from pathlib import Path
from string import Template
from typing import Annotated

import typer

from fedbench import registry
from fedbench.cli.output import put, writing
from fedbench.errors import UsageError
from fedbench.origins import ALGORITHMS, NAME

app = typer.Typer(help="Write a template for your own algorithm or data.", no_args_is_help=True)
TEMPLATES = Path(__file__).with_name("templates")

NameArgument = Annotated[str, typer.Argument(help="Name: small letters, digits and underscores.")]
DirectoryOption = Annotated[Path, typer.Option("--directory", "-d", help="Folder to write into, made if it is missing.")]


@app.command()
def algorithm(name: NameArgument, directory: DirectoryOption = Path()) -> None:
    """Write the file of an algorithm and its test.

    NAME.py is a small algorithm that works, and test_NAME.py passes as it stands. Change both.
    """
    check_name("algorithm", name)
    cls = "".join(part.capitalize() for part in name.split("_"))
    files = {f"{name}.py": "algorithm.txt", f"test_{name}.py": "test_algorithm.txt"}
    _write("algorithm", directory, files, name=name, Class=cls, test_file=f"test_{name}.py")
    _say_what_next(name, cls, directory)


@app.command()
def task(name: NameArgument, directory: DirectoryOption = Path()) -> None:
    """Write a task of your own data, a scenario and a test.

    NAME.py writes the arrays into a file, NAME.yaml is a scenario that learns from it, and
    test_NAME.py passes as it stands. Change all three.
    """
    check_name("task", name)
    files = {f"{name}.py": "task.txt", f"{name}.yaml": "task_scenario.txt", f"test_{name}.py": "test_task.txt"}
    _write("task", directory, files, name=name, test_file=f"test_{name}.py")
    lines = [
        f"wrote {', '.join(str(directory / file) for file in files)}",
        f"  pytest {directory / f'test_{name}.py'}",
        f"  python {directory / f'{name}.py'}",
        f"  fedbench plan {directory / f'{name}.yaml'} -a 'fedavg[cohort_size=4]'",
        f"  fedbench run {directory / f'{name}.yaml'} -a 'fedavg[cohort_size=4]' -a 'fedbuff[buffer_size=4]'",
    ]
    put("\n".join(lines))


def _write(kind: str, directory: Path, files: Mapping[str, str], **words: str) -> None:
    """Writes files from templates whose placeholders are replaced by `words`.

    Args:
        kind: What the files are of, for error messages.
        directory: Where the files are written.
        files: The template of every file.
        words: The text that replaces each placeholder.

    Raises:
        UsageError: A file is there already, or cannot be written.
    """
    for file in files:
        if (directory / file).exists():
            raise UsageError(f"new {kind}: {directory / file} is there already; choose another name or --directory")
    with writing(f"new {kind}", directory, "--directory"):
        directory.mkdir(parents=True, exist_ok=True)
        for file, template in files.items():
            (directory / file).write_text(Template((TEMPLATES / template).read_text()).substitute(words))


def check_name(kind: str, name: str) -> None:
    """Raises UsageError if the name cannot be a module's name, or is taken. `kind` is algorithm or
    task."""
    if not NAME.fullmatch(name) or name.endswith("_"):
        raise UsageError(f"new {kind}: the name must be small letters, digits and underscores, such as my_{kind}, got {name!r}")
    if keyword.iskeyword(name) or keyword.issoftkeyword(name):
        raise UsageError(f"new {kind}: {name!r} is a word of Python; choose another name")
    known = registry.names(kind)
    squeezed = {other.replace("_", ""): other for other in known}
    if name.replace("_", "") in squeezed:
        taken = squeezed[name.replace("_", "")]
        raise UsageError(f"new {kind}: {name!r} is taken by {taken!r}, see `fedbench info {taken}`; choose another name")
    if name in sys.stdlib_module_names or importlib.util.find_spec(name) is not None:
        raise UsageError(f"new {kind}: {name!r} is an installed module, which the file would hide; choose another name")


def _say_what_next(name: str, cls: str, directory: Path) -> None:
    place = f"{directory / name}.py" if directory.is_absolute() else f"./{directory / name}.py"
    lines = [
        f"wrote {directory / name}.py and {directory / f'test_{name}.py'}",
        f"  pytest {directory / f'test_{name}.py'}",
        f"  fedbench info {place}:{cls}",
        f"  fedbench test {place}:{cls}",
        f"  fedbench run digits-demo -a '{place}:{cls}[damping=0.5]' -a fedbuff",
        f"to call it {name!r} everywhere, name the class as an entry point of your package:",
        f'  [project.entry-points."{ALGORITHMS}"]',
        f'  {name} = "your_package.{name}:{cls}"',
    ]
    put("\n".join(lines))
