"""Shell completion through the machinery that the shells use, in a real process; and what a quick
start must not import."""

from __future__ import annotations

import subprocess
import sys

import pytest

from fedbench.cli.completion import PLOTS
from fedbench.cli.figures import MAKERS

from .commands import fedbench


def bash(line: str) -> list[str]:
    """What bash is offered for the last word of a line."""
    words = line.split(" ")
    return fedbench(_FEDBENCH_COMPLETE="complete_bash", COMP_WORDS=line, COMP_CWORD=str(len(words) - 1)).stdout.split()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("fedbench pla", ["plan"]),
        ("fedbench run digits", ["digits-demo", "digits-flaky"]),
        ("fedbench plan digits-demo -a fedb", ["fedbuff"]),
        ("fedbench run digits-demo -a fedbuff[buff", ["fedbuff[buffer_size="]),
        ("fedbench run digits-demo -a fedbuff[local_lr=1,buff", ["fedbuff[local_lr=1,buffer_size="]),
        ("fedbench run digits-demo -a fedbuff[pre", ["fedbuff[preset="]),
        (
            "fedbench run digits-demo -a fadas[preset=fadas",
            [f"fadas[preset=fadas-cifar10{rest}" for rest in ("", "-delay-adaptive")],
        ),
        ("fedbench info scaf", ["scaffold"]),
        ("fedbench info cif", ["cifar10", "cifar100", "cifar10_jpeg"]),
        ("fedbench new al", ["algorithm"]),
        ("fedbench run digits-demo -a nothing[x", []),
        ("fedbench plot he", ["heat"]),
        ("fedbench table --suite be", ["beyond"]),
        ("fedbench suite run smo", ["smoke"]),
        ("fedbench suite report smo", ["smoke"]),
        ("fedbench submit smo", ["smoke"]),
        ("fedbench theory fedbuff-b", ["fedbuff-bound"]),
        ("fedbench bench --group dist", ["distill"]),
        ("fedbench bench sum10-1", ["sum10-11m"]),
    ],
)
def test_bash(line: str, expected: list[str]) -> None:
    assert bash(line) == expected


def test_every_kind_of_figure_is_offered() -> None:
    assert list(MAKERS) == list(PLOTS)


@pytest.mark.parametrize(
    ("shell", "environment"),
    [("zsh", {}), ("fish", {"_TYPER_COMPLETE_FISH_ACTION": "get-args"})],
)
def test_other_shells(shell: str, environment: dict[str, str]) -> None:
    asked = {"_FEDBENCH_COMPLETE": f"complete_{shell}", "_TYPER_COMPLETE_ARGS": "fedbench info scaf", **environment}
    assert "scaffold" in fedbench(**asked).stdout


def test_zsh_shows_what_an_option_is() -> None:
    asked = {"_FEDBENCH_COMPLETE": "complete_zsh", "_TYPER_COMPLETE_ARGS": "fedbench run digits-demo -a fedbuff[buff"}
    assert "How many arrivals make an update" in fedbench(**asked).stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_scripts_call_the_program_by_its_name(shell: str) -> None:
    script = fedbench("--show-completion", shell, _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1").stdout
    assert f"_FEDBENCH_COMPLETE=complete_{shell}" in script


@pytest.mark.parametrize("arguments", [["--help"], ["list", "algorithms"], ["list", "tasks"], ["info", "fedbuff"]])
def test_a_quick_start_does_without_torch(arguments: list[str]) -> None:
    code = f"""
import sys
sys.argv = ["fedbench", *{arguments!r}]
from fedbench.cli.main import main
try:
    main()
finally:
    sys.stderr.write(str(sorted({{"torch", "pandas", "matplotlib", "sklearn"}} & set(sys.modules))))
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stderr == "[]"
