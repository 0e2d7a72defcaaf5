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
BEFORE = {"suite map": ("suite run corners.yaml --quiet", "suite pack corners.yaml")}
"""What is typed first where an example needs files that are not written by hand."""
DESIGN = """\
schema: 1
name: points
factors:
  skew: {levels: [{level: iid, set: {partition.kind: iid}}, {level: two_class}]}
  at_work: {levels: [{level: 5, set: {at_work: 5, targets: [{value: 0.5}]}}, {level: 20, set: {at_work: 20, targets: [{value: 0.5}]}}]}
points: {design: 3}
drawn:
  seed: 1
  starts: 1
  figures:
   {points: 3, effects: 3, d_efficiency: 1, condition: 1, variance_inflation: 1, inflated: x, aliasing: 0, aliased: ["", ""], left_out: {}}
  design: [[iid, 5], [iid, 20], [two_class, 20]]
"""
SUITE = """\
schema: 1
name: corners
about: Three points.
scenario: digits-demo
design: points.yaml
algorithms: [fedavg, fedbuff]
seeds: {count: 2}
evaluation: {kind: log, first_seconds: 0.1, ratio: 1.05}
"""
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
            before = [wrong for line in BEFORE.get(verb, ()) if (wrong := self._run(verb, shlex.split(line)))]
            self.results[example.line] = "".join(before) or self._run(verb, [*words, *SMALLER.get(verb, [])])
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
    (folder / "points.yaml").write_text(DESIGN)
    (folder / "corners.yaml").write_text(SUITE)
    (folder / "logs").mkdir()
    (folder / "logs/a.log").write_text("1289406399 549692 59.851754 10.781778 248069 1008\n")
    devices = {n: {"computation": 9.0 + n, "communication": 1000} for n in range(100)}
    (folder / "client_device_capacity").write_bytes(pickle.dumps(devices))
    seen = {n: {"active": [n % 40], "inactive": [50], "finish_time": 100, "model": "x", "duration": 9} for n in range(100)}
    (folder / "client_behave_trace").write_bytes(pickle.dumps(seen))
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
