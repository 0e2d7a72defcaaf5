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

from fedbench import own_metrics, registry
from fedbench.cli.output import put, say, writing
from fedbench.errors import UsageError
from fedbench.origins import ALGORITHMS, NAME

app = typer.Typer(help="Write a template for your own algorithm, model, metric, optimizer or data.", no_args_is_help=True)
TEMPLATES = Path(__file__).with_name("templates")
EXAMPLE = "nguyen2022"  # the paper of the algorithm that the template is a variant of
OUTSIDE = {
    "imports": "from fedbench.protocols import Buffered, Fraction, Positive, Tools",
    "options": """\
    # The annotation is the allowed range. `option(0.9, "A sentence.", search=Log(0.1, 1))`, both
    # from fedbench.protocols, gives an option a sentence, which `fedbench info` shows, and the
    # values that `fedbench tune` and `fedbench race` try.
    server_lr: Positive = 1.0
    damping: Fraction = 0.9""",
    "cites": "authors, title, venue, year; algorithm and line numbers; where this departs from them.",
    "source": '"authors year, Alg. 1"',
}

NameArgument = Annotated[str, typer.Argument(help="Name: small letters, digits and underscores.")]
DirectoryOption = Annotated[Path, typer.Option("--directory", "-d", help="Folder to write into, made if it is missing.")]


@app.command()
def algorithm(
    name: NameArgument,
    directory: DirectoryOption = Path(),
    in_package: Annotated[
        bool, typer.Option("--in-package", help="Write into the package, in a clone, with all entries.")
    ] = False,
    paper: Annotated[str, typer.Option(help="Key of its paper in fedbench/literature.toml.")] = EXAMPLE,
    title: Annotated[str, typer.Option(help="Title of a paper that is not there yet.")] = "",
    authors: Annotated[str, typer.Option(help="Family names of its authors, with commas between.")] = "",
    venue: Annotated[str, typer.Option(help="Venue, such as NeurIPS or arXiv.")] = "",
    link: Annotated[str, typer.Option(help="Address, such as https://arxiv.org/abs/2106.06639.")] = "",
) -> None:
    """Write the file of an algorithm and its test.

    NAME.py is a small algorithm that works, and test_NAME.py passes as it stands. Change both. With
    --in-package it is an algorithm of the package, with an entry in every list that has them all.
    """
    check_name("algorithm", name)
    cls = "".join(part.capitalize() for part in name.split("_"))
    given = {
        "--paper": paper if paper != EXAMPLE else "",
        "--title": title,
        "--authors": authors,
        "--venue": venue,
        "--link": link,
    }
    if in_package:
        from fedbench.cli.new_in_package import Source, write

        if directory != Path():
            raise UsageError("new algorithm: --in-package writes into the package; leave out --directory")
        return _say_what_to_fill_in(name, write(name, cls, Source(paper, title, authors, venue, link)))
    if asked := [option for option, value in given.items() if value]:
        raise UsageError(f"new algorithm: {asked[0]} needs --in-package")
    files = {f"{name}.py": "algorithm.txt", f"test_{name}.py": "test_algorithm.txt"}
    _write("algorithm", directory, files, name=name, Class=cls, test_file=f"test_{name}.py", **OUTSIDE)
    return _say_what_next(name, cls, directory)


def _say_what_to_fill_in(name: str, written: list[str]) -> None:
    lines = [
        "wrote",
        *(f"  {file}" for file in written),
        "fill in",
        f"  fedbench/algorithms/{name}.py: the paper's equations, options and source in the place of the example's",
        f"  tests/algorithms/test_{name}.py: a step by hand, and a limit case in which it is another algorithm",
        "  tests/engine/test_execute.py and fedbench/suites/spaces: the options that it has then",
        "  tests/house/mutants.yaml: mistakes that a reader of the paper could make",
        "  CHANGELOG.md: a line",
    ]
    for line in lines:
        say(line)
    put(
        "and check\n"
        f"  fedbench test {name}\n"
        "  fedbench applicability -o docs/applicability.md\n"
        "  pytest tests/algorithms tests/house tests/engine/test_execute.py\n"
        "  make lint"
    )


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


@app.command()
def model(name: NameArgument, directory: DirectoryOption = Path()) -> None:
    """Write the file of a model and its test.

    NAME.py is a small torch module that works, and test_NAME.py passes as it stands. Change both.
    """
    _write_code("model", name, directory, "-a fedavg -a fedbuff --set task.model={}")


@app.command()
def metric(name: NameArgument, directory: DirectoryOption = Path()) -> None:
    """Write the file of a metric and its test.

    NAME.py is a small metric that works, and test_NAME.py passes as it stands. Change both.
    """
    check_name("metric", name)
    if not own_metrics.is_free(name):
        raise UsageError(f"new metric: expected a name that no other curve or column has, got {name!r}; choose another name")
    _write_code("metric", name, directory, "-a fedavg -a fedbuff --set evaluation.metrics=[{}]")


@app.command()
def optimizer(name: NameArgument, directory: DirectoryOption = Path()) -> None:
    """Write the file of a local optimizer and its test.

    NAME.py is a small optimizer that works, and test_NAME.py passes as it stands. Change both.
    """
    _write_code("optimizer", name, directory, "-a fedavg -a scaffold --set local.optimizer={}")


def _write_code(kind: str, name: str, directory: Path, run: str) -> None:
    """Writes the file of a class and its test, and says how it is tested and run."""
    check_name(kind, name)
    cls = "".join(part.capitalize() for part in name.split("_"))
    _write(kind, directory, {f"{name}.py": f"{kind}.txt", f"test_{name}.py": f"test_{kind}.txt"}, name=name, Class=cls)
    place = f"{_shown(directory / name)}.py:{cls}"
    lines = [
        f"wrote {directory / name}.py and {directory / f'test_{name}.py'}",
        f"  pytest {directory / f'test_{name}.py'}",
        f"  fedbench test {place}",
        f"  fedbench run digits-demo {run.format(place)}",
    ]
    put("\n".join(lines))


def _shown(place: Path) -> str:
    """Returns a path that is a path for everybody who reads it."""
    return str(place) if place.is_absolute() else f"./{place}"


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
            (directory / file).write_text(
                Template((TEMPLATES / template).read_text(encoding="utf-8")).substitute(words), encoding="utf-8"
            )


def check_name(kind: str, name: str) -> None:
    """Raises UsageError if the name cannot be a module's name, or is taken. `kind` is algorithm,
    task, model, metric or optimizer; the last three are named by their files, so none is taken."""
    if not NAME.fullmatch(name) or name.endswith("_"):
        raise UsageError(f"new {kind}: the name must be small letters, digits and underscores, such as my_{kind}, got {name!r}")
    if keyword.iskeyword(name) or keyword.issoftkeyword(name):
        raise UsageError(f"new {kind}: {name!r} is a word of Python; choose another name")
    known = registry.names(kind) if kind in ("algorithm", "task") else []
    squeezed = {other.replace("_", ""): other for other in known}
    if name.replace("_", "") in squeezed:
        taken = squeezed[name.replace("_", "")]
        raise UsageError(f"new {kind}: {name!r} is taken by {taken!r}, see `fedbench info {taken}`; choose another name")
    if name in sys.stdlib_module_names or importlib.util.find_spec(name) is not None:
        raise UsageError(f"new {kind}: {name!r} is an installed module, which the file would hide; choose another name")


def _say_what_next(name: str, cls: str, directory: Path) -> None:
    place = f"{_shown(directory / name)}.py"
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
