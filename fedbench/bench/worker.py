"""The process of one build in `make regress`, and how it is asked. Requests and answers are one
JSON object a line:

    {"prepare": case, "small": bool}  ->  {"skipped": why, or ""}
    {"sample": true}                  ->  {"passed": seconds of a call, "worked": of processors},
                                          see `Sampler.both`
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any, TextIO

from fedbench.bench.case import missing
from fedbench.bench.catalogue import watched
from fedbench.bench.measure import Sampler
from fedbench.errors import FedbenchError


def serve(requests: TextIO, answers: TextIO) -> None:
    """Answers requests until they end. An error is an answer too: {"error": ..}."""
    sampler: Sampler | None = None
    for line in requests:
        request = json.loads(line)
        try:
            if "prepare" in request:
                sampler, answer = _prepare(**request)
            else:
                answer = dict(zip(("passed", "worked"), sampler.both(), strict=True)) if sampler else {}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def _prepare(prepare: str, small: bool = False) -> tuple[Sampler | None, dict[str, object]]:
    case = watched(prepare)
    if why := missing(case.ours):
        return None, {"skipped": why}
    given = case.inputs(case.small if small else case.size)
    ready = case.ours.start(given)
    case.check(case.ours, ready, case.reference(given))
    return Sampler(ready.act), {"skipped": ""}


class Worker:
    """A process of the given Python, which runs the cases of this tree with the build that is
    installed there."""

    def __init__(self, python: Path) -> None:
        self.python = python
        # -P keeps the script's folder off the path, since its modules must not hide others of the
        # same name.
        self._process = subprocess.Popen(
            [python, "-P", Path(__file__).with_name("other_build.py")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def prepare(self, case: str, *, small: bool) -> str:
        """Prepares a case, and returns why that build cannot run it, or empty text."""
        return str(self._ask(prepare=case, small=small)["skipped"])

    def sample(self) -> tuple[float, float]:
        """Returns what `Sampler.both` does there."""
        answer = self._ask(sample=True)
        return answer["passed"], answer["worked"]

    def _ask(self, **request: object) -> dict[str, Any]:
        """Returns the answer to a request. FedbenchError if it is an error, or there is none."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        answer: dict[str, Any] = json.loads(line) if line else {"error": f"the process ended with {self._process.wait()}"}
        if "error" in answer:
            raise FedbenchError(f"worker of {self.python}: {answer['error']}")
        return answer

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.communicate()
