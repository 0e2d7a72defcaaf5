"""`import fedbench as fb`: what is imported on first use lists itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import fedbench as fb
from fedbench.cli.verbs import VERBS, loaded


def test_everything_public_is_listed_and_there() -> None:
    assert set(fb.__all__) <= set(dir(fb))
    assert all(name.startswith("__") for name in set(dir(fb)) - set(fb.__all__))
    assert all(getattr(fb, name) is not None for name in fb.__all__)
    with pytest.raises(AttributeError, match="no attribute 'Record'; did you mean 'Records'"):
        fb.Record  # noqa: B018


def test_modules_are_there_without_another_import() -> None:
    code = (
        "import fedbench as fb, sys; fb.types.Stream; fb.kernels.weighted_sum; fb.errors; dir(fb); print('torch' in sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.stdout == "False\n", result.stderr


@pytest.mark.parametrize(
    ("code", "loaded"),
    [
        ("import fedbench", set()),
        ("import fedbench.kernels", {"numpy"}),
        ("import sys; sys.argv = ['fedbench', '--help']; from fedbench.cli.main import main; main()", {"typer", "rich"}),
    ],
)
def test_a_start_loads_no_more_than_it_needs(code: str, loaded: set[str]) -> None:
    """The packages that fedbench declares, required ones and those of extras, by what they are
    imported as. What these bring along is theirs."""
    ours = {
        "filelock", "jinja2", "markdown_it", "matplotlib", "numpy", "pandas", "pyarrow", "pydantic", "ray", "rich", "safetensors", "scipy",
        "sklearn", "submitit", "tokenizers", "torch", "torchvision", "transformers", "typer", "yaml",
    }  # fmt: skip
    end = f"import atexit, sys; atexit.register(lambda: print('loaded', sorted({ours} & set(sys.modules))))"
    result = subprocess.run([sys.executable, "-c", f"{end}\n{code}"], capture_output=True, text=True, check=False)
    assert result.stdout.splitlines()[-1] == f"loaded {sorted(loaded)}", result.stderr


def test_no_verb_loads_what_takes_long_before_it_is_used() -> None:
    slow = {"matplotlib", "pandas", "ray", "scipy", "sklearn", "torch", "transformers"}
    code = f"import sys; from fedbench.cli.verbs import VERBS, loaded; [loaded(name) for name in VERBS]; print({slow} & set(sys.modules))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.stdout == "set()\n", result.stderr


def test_runs_are_made_and_compared_without_pandas(tmp_path: Path) -> None:
    """pyarrow would import it where it is installed, which costs a short run time and memory."""
    code = (
        "import atexit, sys; atexit.register(lambda: print('pandas' in sys.modules)); from fedbench.cli.main import main; main()"
    )
    run = ["run", "digits-demo", "-a", "fedavg", "-a", "fedbuff", "--set", "budget.seconds=1"]
    for verb in (run, ["compare", "fedavg", "fedbuff"], ["table"], ["verify", "runs"]):
        command = [sys.executable, "-c", code, *verb]
        result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert result.stdout.splitlines()[-1] == "False", result.stdout + result.stderr


def test_python_can_run_the_package() -> None:
    program = [sys.executable, "-m", "fedbench"]
    result = subprocess.run([*program, "--version"], capture_output=True, text=True, check=False)
    assert result.stdout == f"fedbench {fb.__version__}\n", result.stderr
    result = subprocess.run([*program, "nothing"], capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert result.stderr.startswith("Usage: fedbench [OPTIONS]")


def test_the_lines_of_the_help_are_those_of_the_verbs() -> None:
    for name, verb in VERBS.items():
        command = loaded(name)
        assert (command.name, command.get_short_help_str(200)) == (name, verb.about)
