"""The process of a plug-in, as seen from the process that asks."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fedbench.engine.isolation import wire
from fedbench.errors import FedbenchError, PluginError, UsageError

ANSWER_SECONDS = 600.0
"""How long one method of a plug-in may take, with all that it asks for."""
SERVED = {
    "algorithm": "fedbench.engine.isolation.child",
    "model": "fedbench.engine.isolation.child_of_model",
    "loss": "fedbench.engine.isolation.child_of_loss",
    "metric": "fedbench.engine.isolation.child_of_metric",
    "optimizer": "fedbench.engine.isolation.child_of_optimizer",
}
"""What runs in the other process, by what the plug-in is."""
LONGEST = 2000  # characters of a message
PASSED_ON = re.compile(r"PATH|LANG|LC_\w+|(OMP|OPENBLAS|MKL)_\w+|FEDBENCH_ISA")
"""The variables of the environment that the other process gets: none holds a secret, and numpy has
as many threads there as here."""

Answers = Mapping[str, Callable[..., object]]
"""What a plug-in may ask for, by name."""


class ConfinedError(UsageError):
    """A plug-in wants what its process cannot do. It may be honest all the same."""


class Process:
    """The process that has the plug-in. `call` has it run a method; everything that the method asks
    for meanwhile is looked up in `answers`."""

    def __init__(self, name: str, folder: Path, readable: Sequence[Path] = (), *, kind: str = "algorithm") -> None:
        """`kind` is what the plug-in is, a key of SERVED."""
        self.name = f"{kind} {name}"
        self._channel, theirs = socket.socketpair()
        command = [sys.executable, "-I", "-B", "-m", SERVED[kind], str(theirs.fileno()), str(folder)]
        passed = {key: value for key, value in os.environ.items() if PASSED_ON.fullmatch(key)}
        self._process = subprocess.Popen(
            [*command, *map(str, readable)],
            cwd=folder,
            env={**passed, "HOME": str(folder), "TMPDIR": str(folder)},
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        theirs.close()
        self._released: list[int] = []
        try:
            self.confined = self._received(time.monotonic() + ANSWER_SECONDS) is True
        except PluginError:
            self.close()
            raise

    def release(self, message: int) -> None:
        """Lets the plug-in forget a message or a job, before its next call."""
        self._released.append(message)

    def _received(self, until: float) -> object:
        try:
            return wire.receive(self._channel, until)
        except wire.WireError as error:
            raise PluginError(f"{self.name}: its process gave no answer that can be read: {error}") from None

    def call(self, method: str, *arguments: object, answers: Answers | None = None) -> Any:
        """Returns what a method of the plug-in gives. Raises PluginError if it fails, ends, takes
        too long, or gives what no method gives."""
        if self._released:
            released, self._released = self._released, []
            self.call("release", released)
        until = time.monotonic() + ANSWER_SECONDS
        try:
            wire.send(self._channel, [method, list(arguments)])
            while "asks" in (answer := self._mapping(self._received(until))):
                name, asked = answer["asks"]
                wire.send(self._channel, self._answer((answers or {}).get(name), name, asked))
        except (OSError, ValueError, TypeError) as error:
            raise PluginError(f"{self.name}: {method}: its process ended, or asks what it must not: {error}") from None
        if "done" not in answer:
            what, *code = f"{answer.get('failed')!s:.{LONGEST}}".split("\n", 1)
            kind = ConfinedError if answer.get("confined") is True else PluginError
            raise kind(f"{self.name}: {method}: {what}", *code)
        return answer["done"]

    def _mapping(self, answer: object) -> dict[str, Any]:
        if not isinstance(answer, dict):
            raise PluginError(f"{self.name}: its process gave no answer that can be read: {type(answer).__name__}")
        return answer

    @staticmethod
    def _answer(answered: Callable[..., object] | None, name: str, asked: Sequence[object]) -> dict[str, object]:
        if answered is None:
            return {"refused": f"there is no {name} to be asked for here"}
        try:
            return {"answer": answered(*asked)}
        except (FedbenchError, RuntimeError, ValueError, TypeError, IndexError) as error:
            return {"refused": str(error)}

    def close(self) -> None:
        """Ends the process and those that it started."""
        self._channel.close()
        pid = self._process.pid
        with contextlib.suppress(OSError):  # a kernel that does not list them
            for child in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8").split():
                os.kill(int(child), signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
        self._process.wait()
