"""`fedbench new`."""

from __future__ import annotations

import importlib.util
import keyword
import sys
from pathlib import Path
from string import Template
from typing import Annotated

import typer

from fedbench import registry
from fedbench.cli.output import say
from fedbench.errors import UsageError
from fedbench.sources import ALGORITHMS, NAME

app = typer.Typer(help="Write the files of something new.", no_args_is_help=True)
TEMPLATES = Path(__file__).with_name("templates")


@app.command()
def algorithm(
    name: Annotated[str, typer.Argument(help="Small letters, digits and underscores.")],
    directory: Annotated[Path, typer.Option("--directory", "-d", help="Where to write; made if it is not there.")] = Path(),
) -> None:
    """Write the file of an algorithm and its test.

    NAME.py is a small algorithm that works, test_NAME.py passes as it stands; change both.

    Example: fedbench new algorithm damped && fedbench plan digits-demo -a ./damped.py:Damped
    """
    check_name(name)
    cls = "".join(part.capitalize() for part in name.split("_"))
    files = {directory / f"{name}.py": "algorithm.txt", directory / f"test_{name}.py": "test_algorithm.txt"}
    for file in files:
        if file.exists():
            raise UsageError(f"new algorithm: {file} is there already; choose another name or --directory")
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for file, template in files.items():
            text = Template((TEMPLATES / template).read_text()).substitute(name=name, Class=cls, test_file=f"test_{name}.py")
            file.write_text(text)
    except OSError as error:
        raise UsageError(f"new algorithm: {directory} cannot be written ({error.strerror}); choose another --directory") from None
    _say_what_next(name, cls, directory)


def check_name(name: str) -> None:
    """UsageError for what cannot be a module's name, or is taken."""
    if not NAME.fullmatch(name) or name.endswith("_"):
        raise UsageError(f"new algorithm: the name must be small letters, digits and underscores, such as my_rule, got {name!r}")
    if keyword.iskeyword(name) or keyword.issoftkeyword(name):
        raise UsageError(f"new algorithm: {name!r} is a word of Python; choose another name")
    known = registry.names("algorithm")
    squeezed = {other.replace("_", ""): other for other in known}
    if name.replace("_", "") in squeezed:
        taken = squeezed[name.replace("_", "")]
        raise UsageError(f"new algorithm: {name!r} is taken by {taken!r}, see `fedbench info {taken}`; choose another name")
    if name in sys.stdlib_module_names or importlib.util.find_spec(name) is not None:
        raise UsageError(f"new algorithm: {name!r} is an installed module, which the file would hide; choose another name")


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
    say("\n".join(lines))
