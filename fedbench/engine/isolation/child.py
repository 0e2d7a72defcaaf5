"""The process that runs a plug-in and nothing else. It answers which values the algorithm's methods
give, and asks for what they may know.

Usage: python -m fedbench.engine.isolation.child SOCKET FOLDER [READABLE ..], where SOCKET is the
number of a handle, FOLDER is empty but for the plug-in's file, and each READABLE is an installed
package, or a module's file, that it may read.
"""

from __future__ import annotations

import pkgutil
import socket
import sys
import sysconfig
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedbench.engine.isolation import confine
from fedbench.engine.isolation.imports import import_as_there

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from fedbench.protocols import Algorithm, Logits, Pullback, RowIndices
    from fedbench.types import Array, Batch, Info, Job, LocalRule, Message, State, Vector, Weights

SYSTEM = ("/usr/lib", "/usr/local/lib", "/lib", "/lib64", "/etc/ld.so.cache", "/dev/urandom")
CPU = ("/proc/cpuinfo", "/sys/devices/system/cpu")
"""Where torch looks for the instruction sets, without which its kernels are others and so are
bits."""


def main(serve: Callable[[socket.socket], object]) -> None:
    """Gives its rights up, makes what is served, and answers until nobody asks."""
    channel, folder = socket.socket(fileno=int(sys.argv[1])), Path(sys.argv[2])
    ours = Path(__file__).parents[2]
    libraries = {*SYSTEM, *CPU, sys.prefix, sys.base_prefix, *sysconfig.get_paths().values(), str(ours)}
    examples = {ours / "tasks" / "embedded"}  # with test sets, as those of scikit-learn
    examples |= {Path(sysconfig.get_path(kind)) / "sklearn" / "datasets" / "data" for kind in ("purelib", "platlib")}
    confined = confine.confine([Path(one) for one in [*libraries, *sys.argv[3:]]], folder, examples)
    # Imported here, since a thread that a library starts before would keep its rights.
    from fedbench.engine.isolation import wire

    wire.send(channel, confined)
    served = serve(channel)
    while True:
        try:
            name, arguments = wire.receive(channel)
        except wire.WireError:
            return  # nobody asks any more
        try:
            answer = {"done": getattr(served, name)(*arguments)}
            wire.send(channel, answer)
        except BaseException as error:  # a stranger's code may raise anything
            refused = any(isinstance(one, PermissionError) for one in _causes(error))
            wire.send(channel, {"failed": _described(error), "confined": refused})


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yields the error and what led to it."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _described(error: BaseException) -> str:
    from fedbench.errors import FedbenchError
    from fedbench.foreign import described

    return str(error) if isinstance(error, FedbenchError) else "\n".join(described(error))


class Asking:
    """A plug-in that is served. Its public methods are those that the other side may call."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel

    def _ask(self, name: str, *arguments: object) -> Any:
        """Returns the other side's answer to a question of the plug-in."""
        from fedbench.engine.isolation import wire
        from fedbench.errors import UsageError

        wire.send(self._channel, {"asks": [name, list(arguments)]})
        answer = wire.receive(self._channel)
        if "refused" in answer:
            raise UsageError(answer["refused"])
        return answer["answer"]


class Served(Asking):
    """The algorithm, its state and the messages that jobs may still start from."""

    def __init__(self, channel: socket.socket) -> None:
        super().__init__(channel)
        self._messages: dict[int, Message] = {}
        self._next = 0

    # ---- the class and its options ----

    def load(self, place: str, path: list[str]) -> dict[str, object]:
        """Imports the class that `file.py:Class` or `package.module:Class` names, with the import
        path of the other side, and returns what it declares."""
        from fedbench import origins
        from fedbench.protocols import Algorithm

        import_as_there(path)
        if origins.is_in_file(place):
            self._class: type[Algorithm] = origins.from_file(place)
        else:
            self._class = pkgutil.resolve_name(place)
        hooks = [name for name in Algorithm.__dict__ if getattr(self._class, name, None) is not Algorithm.__dict__[name]]
        return {
            "class": self._class.__name__,
            "name": self._class.name,
            "title": self._class.title,
            "requires": sorted(self._class.requires),
            "sends": self._class.sends,
            "pooled": self._class.pooled,
            "alone": self._class.alone,
            "clients_remember": self._class.clients_remember,
            "hooks": [name for name in hooks if not name.startswith("_")],
            "defaults": self._class().options(),
        }

    def make(self, options: dict[str, object]) -> list[object]:
        """Returns the options with their defaults, and the terms of the local rule."""
        self._algorithm: Algorithm = self._class.make(options)
        return [self._algorithm.options(), sorted(self._algorithm.rule_terms)]

    # ---- what it declares ----

    def declares(self, what: str, clients: int) -> object:
        """Returns what `dispatch`, `traffic`, `gradient_work`, `server_work` or `server_memory`
        returns."""
        return getattr(self._algorithm, what)(self._info(clients))

    def _info(self, clients: int) -> Info:
        if not hasattr(self, "_known"):
            from fedbench.types import Info

            def asked(name: str) -> Callable[[], Any]:
                return lambda: self._ask(name)

            self._known = Info(
                clients,
                asked("n"),
                step_seconds=asked("step_seconds"),
                job_seconds=asked("job_seconds"),
                public_shape=asked("public_shape"),
            )
        return self._known

    # ---- the server ----

    def init(self, x0: Vector, clients: int) -> list[object]:
        """Returns the model, and whether clients remember a vector."""
        self._clients = clients
        self._state: State = self._algorithm.init(x0, _Tools(self))
        return [self._state.x, "memory" in self._state]

    def broadcast(self) -> list[object]:
        """Returns the number of a new message, and its model if it has one."""
        message = self._algorithm.broadcast(self._state, _Tools(self)).frozen()
        self._next += 1
        self._messages[self._next] = message
        return [self._next, message.x if "x" in message else None]

    def release(self, numbers: list[int]) -> None:
        """Forgets messages."""
        for number in numbers:
            self._messages.pop(number, None)

    def step(self, columns: dict[str, Array], version: int, sent: dict[str, Array], writes_memory: bool) -> object:
        """Makes an update of a Batch, whose arrays are in `columns`, and returns the new model."""
        import numpy as np

        if "memory" in self._state:
            self._state.memory.writeable = writes_memory
        batch = self._batch(columns, version, sent)
        with np.errstate(over="ignore", invalid="ignore"):
            self._algorithm.step(self._state, batch, _Tools(self))
        if "memory" in self._state:
            self._state.memory.writeable = True
        return self._state.x

    def evaluated(self) -> Vector:
        return self._algorithm.evaluated(self._state)

    def entry_weights(self, columns: dict[str, Array], version: int, sent: dict[str, Array]) -> Weights:
        return self._algorithm.entry_weights(self._batch(columns, version, sent), self._info(self._clients))

    def _batch(self, columns: dict[str, Array], version: int, sent: dict[str, Array]) -> Batch:
        from fedbench.types import Batch

        return Batch(**columns, version=version, sent=sent, base_x=lambda i: self._ask("base_x", i))

    def warnings(self) -> list[str]:
        return list(self._algorithm.warnings(self._state))

    def held(self) -> list[int]:
        """Returns the sizes of the state, see `held_bytes`."""
        from fedbench.engine.memory import held_bytes

        return list(held_bytes(self._state))

    def select(self, available: npt.NDArray[np.int32], round: int) -> object:
        return self._algorithm.select(self._state, available, round, _SelectionTools(self))

    # ---- the clients ----

    def row(self, client: int) -> object:
        return self._state.memory[client]

    def remember(self, client: int, row: Vector) -> None:
        """Writes what a client remembers."""
        self._state.memory[client] = row

    def rule(self, start: Vector, changes: dict[str, object]) -> LocalRule:
        return self._algorithm.rule(start, **changes)

    def local(self, message: int, job: Job, memory: Vector) -> LocalRule:
        return self._algorithm.local(self._messages[message], job, memory)

    def reply(self, message: int, job: Job, work: dict[str, Any], memory: Vector) -> list[object]:
        from fedbench.types import Work

        found = self._algorithm.reply(self._messages[message], job, Work(**work), memory)
        return [found.memory, found.sent]


class _Tools:
    """See fedbench.tools.Tools; every method asks the other side."""

    def __init__(self, served: Served) -> None:
        self._served = served

    @property
    def info(self) -> Info:
        return self._served._info(self._served._clients)

    def gradients(self, clients: Iterable[int], x: Vector) -> Iterator[Vector]:
        for client in clients:
            yield self._served._ask("gradient", int(client), x)

    @property
    def public_shape(self) -> tuple[int, int]:
        return tuple(self._served._ask("public_shape"))

    def public_batches(self, version: int, size: int, steps: int | None = None) -> Iterator[RowIndices]:
        return iter(self._served._ask("public_batches", version, size, steps))

    def public_logits(self, x: Vector, rows: RowIndices, *, training: bool = False) -> tuple[Logits, Pullback]:
        logits = self._served._ask("public_logits", x, rows, training)
        return logits, lambda dlogits: self._served._ask("pullback", dlogits)


class _SelectionTools:
    """See fedbench.tools.SelectionTools."""

    def __init__(self, served: Served) -> None:
        self.info, self.random = served._info(served._clients), _Random(served)


class _Random:
    """See fedbench.tools.Random."""

    def __init__(self, served: Served) -> None:
        self._served = served

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return lambda *count, **named: self._served._ask(name, *count, *named.values())


if __name__ == "__main__":
    main(Served)
