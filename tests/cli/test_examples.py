"""The examples of the help run as they stand: in an empty folder, or after those that they name."""

from __future__ import annotations

import os
import pickle
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fedbench.cli.examples import EXAMPLES
from fedbench.cli.main import app
from tests.analysis.map.made_up_map import give
from tests.cli.commands import fedbench

CALM = ["-p", "calm", "-a", "fedavg", "-a", "fedbuff", "--quiet"]
SMALLER = {
    "race": ["--minutes", "0.05"],
    "tune": CALM,
    "suite run": CALM,
    "suite plan": [*CALM[:-1], "--untimed"],
    "suite": [*CALM[:-1], "--untimed"],
    "submit": CALM[2:-1],
    "bench": ["--rounds", "3"],
}
SLOW = {"bench", "theory"}  # each a process of its own: bench starts itself again
EXTRAS = {"plot": "plot"}


class Typed:
    """A folder, and what was typed there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.results: dict[str, str] = {}

    def type(self, verb: str) -> str:
        """Runs the example of a verb once, after those before it, and returns what is wrong."""
        example = EXAMPLES[verb]
        if example.after and (wrong := self.type(example.after)):
            return wrong
        if example.line not in self.results:
            program, *words = shlex.split(example.line)
            assert program == "fedbench"
            self.results[example.line] = self._run(verb, [*words, *SMALLER.get(verb, [])])
        return self.results[example.line]

    def _run(self, verb: str, words: list[str]) -> str:
        if verb in SLOW:
            ended = fedbench(*words, cwd=self.folder)
            return ended.stderr if ended.returncode else ""
        os.chdir(self.folder)
        result = CliRunner().invoke(
            app, ["1" if before == "-j" else word for before, word in zip(["", *words], words, strict=False)]
        )
        return f"{result.output}{result.exception!r}" if result.exit_code else ""


@pytest.fixture(scope="module", name="typed")
def _typed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Typed]:
    """A folder with nothing but the files that examples say they need, at a commit without local
    changes."""
    folder = tmp_path_factory.mktemp("examples")
    (folder / "logs").mkdir()
    (folder / "logs/a.log").write_text("1289406399 549692 59.851754 10.781778 248069 1008\n")
    devices = {n: {"computation": 9.0 + n, "communication": 1000} for n in range(100)}
    (folder / "client_device_capacity").write_bytes(pickle.dumps(devices))
    seen = {n: {"active": [n % 40], "inactive": [50], "finish_time": 100, "model": "x", "duration": 9} for n in range(100)}
    (folder / "client_behave_trace").write_bytes(pickle.dumps(seen))
    give(folder / "my-map.npz")
    before = Path.cwd()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fedbench.results.provenance.commit", lambda: ("0123456789" * 4, False))
        yield Typed(folder)
    os.chdir(before)


def marks(verb: str) -> list[pytest.MarkDecorator]:
    extra = [pytest.mark.extra(EXTRAS[verb])] if verb in EXTRAS else []
    return [*extra, *([pytest.mark.slow] if verb in SLOW else [])]


@pytest.mark.parametrize("verb", [pytest.param(verb, marks=marks(verb)) for verb in EXAMPLES])
def test_examples_run(verb: str, typed: Typed) -> None:
    assert typed.type(verb) == "", EXAMPLES[verb].line
