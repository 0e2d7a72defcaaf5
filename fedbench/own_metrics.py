"""Metrics that a scenario may ask for beside accuracy and losses: those of BUILT_IN by name, and
those of the user's own by their code, `path/to/mymetric.py:F1` or `package.module:F1`.

A scenario names a metric and its direction, which are read out of the text of the class. Code is
run under the rules of `own_models`, and only when a model is evaluated.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from fedbench import origins, own_models
from fedbench.errors import FedbenchError, UsageError, nearest, quoted
from fedbench.foreign import described
from fedbench.metric import Metric
from fedbench.own_models import Named

NAME = re.compile(r"[a-z][a-z0-9_]{0,59}")
TAKEN = ("seconds", "version", "updates", "steps", "gradient_evaluations", "bytes", "test_accuracy", "test_loss", "train_loss")
"""Names of other curves."""
TAKEN_IN_FRAMES = frozenset(
    """algorithm available_fraction avoided_steps busy_fraction busy_seconds busy_seconds_lost bytes_down bytes_up bytes_wasted
    checkpoint_bytes_peak end_seconds ended_by evaluated_on jobs jobs_consumed jobs_dropped_out jobs_late jobs_left messages_peak
    participation_gini participation_gini_available participation_max participation_min point public_logits_bytes run_id scenario
    seed staleness_max staleness_mean state steps_done steps_wasted test_accuracy_last_10 trained_steps wall_seconds""".split()  # noqa: SIM905
)
"""Names of other columns in a table of records or of their curves."""
UNSEEN = "unseen_"
OURS = ("client_", "class_", "server_", "option_", "seconds_to_", UNSEEN)
"""What names of other curves and columns begin with."""

BUILT_IN = {
    f"client_{what}_{over}": what == "accuracy" and over != "spread"
    for what in ("accuracy", "loss")
    for over in ("mean", "worst_decile", "spread")
} | {"class_accuracy_worst": True, f"{UNSEEN}accuracy": True, f"{UNSEEN}loss": False}
"""Metrics over clients and classes, and whether more is better. The spread is the standard
deviation over clients. Beside them `class_accuracy_7` is the accuracy of class 7. Those of unseen
clients are the means over all of their examples."""
CLASS = re.compile(r"class_accuracy_(0|[1-9][0-9]{0,5})")

LARGEST = float(np.finfo(np.float32).max)  # curves are float32
Array = npt.NDArray[Any]
Measure = Callable[[Array, Array, Array], float]
"""A function of logits, labels and features."""


def built_in(name: str) -> bool | None:
    """Returns whether more of a metric of this name is better, None if none is built in."""
    return True if CLASS.fullmatch(name) else BUILT_IN.get(name)


def is_free(name: str) -> bool:
    """Returns whether a metric of the user's own may have this name."""
    return NAME.fullmatch(name) is not None and name not in TAKEN and name not in TAKEN_IN_FRAMES and not name.startswith(OURS)


def declared(code: Named) -> tuple[str, bool]:
    """Returns the name and the direction of a metric, as the text of its class states them. Nothing
    is run. UsageError if the file has no such class, or it states no name that can be used."""
    content, _ = origins.read_file(code.file, code.selector, code.sha256, "metric")
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise UsageError(f"metric {code.selector}: {code.file.name} is no Python: {' '.join(str(error).split())}") from None
    classes = {one.name: one for one in tree.body if isinstance(one, ast.ClassDef)}
    if code.name not in classes:
        raise UsageError(f"metric {code.selector}: {code.file.name} has no class {code.name!r}{nearest(code.name, classes)}")
    stated = dict(_constants(classes[code.name]))
    name, higher = stated.get("name"), stated.get("higher_is_better", True)
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise UsageError(
            f"metric {code.selector}: the body of class {code.name} must state `name`, at most 60 small letters, digits and underscores, "
            f"got {'none' if name is None else quoted(name, 80)}"
        )
    if not is_free(name):
        raise UsageError(f"metric {code.selector}: expected a name that no other curve or column has, got {name!r}")
    if not isinstance(higher, bool):
        raise UsageError(f"metric {code.selector}: higher_is_better must be True or False, got {quoted(higher, 80)}")
    return name, higher


def _constants(found: ast.ClassDef) -> Iterator[tuple[str, object]]:
    """Yields what the body of a class sets to a value that stands there; None for any other."""
    for one in found.body:
        targets = one.targets if isinstance(one, ast.Assign) else [one.target] if isinstance(one, ast.AnnAssign) else []
        value = getattr(one, "value", None)
        for target in targets:
            if isinstance(target, ast.Name) and value is not None:
                yield target.id, value.value if isinstance(value, ast.Constant) else None


class Measured:
    """A metric that can be computed. What is computed first is computed twice, since a value must
    depend on the arguments alone."""

    def __init__(self, code: Named, name: str, *, higher_is_better: bool) -> None:
        """Runs the code. UsageError unless it has a Metric of this name and direction."""
        cls, self.selector = code.found(), code.selector
        if not (isinstance(cls, type) and issubclass(cls, Metric)):
            raise UsageError(f"metric {self.selector}: expected a class that extends fedbench.Metric, got {quoted(cls)}")
        if (cls.name, cls.higher_is_better) != (name, higher_is_better):
            raise UsageError(
                f"metric {self.selector}: the text of its class states {name!r} and {higher_is_better}, the class has "
                f"{quoted(cls.name, 80)} and {quoted(cls.higher_is_better, 80)}"
            )
        self._class, self._is_new = cls, True

    def __call__(self, logits: Array, labels: Array, features: Array) -> float:
        """Returns the value. UsageError if the code fails or gives no number."""
        given = [one.view() for one in (logits, labels, features)]
        for one in given:
            one.flags.writeable = False
        values = [self._value(given) for _ in range(1 + self._is_new)]
        self._is_new = False
        if len({np.float64(value).tobytes() for value in values}) > 1:
            raise UsageError(
                f"metric {self.selector}: gives {values[0]:g} and then {values[1]:g} for the same logits; it must depend on its arguments "
                "alone"
            )
        return values[0]

    def _value(self, given: list[Array]) -> float:
        try:
            value: object = self._class().value(*given)
        except FedbenchError:
            raise
        except Exception as error:
            why, *code = described(error)
            raise UsageError(f"metric {self.selector}: fails on logits {given[0].shape}: {why}", *code) from error
        found = np.asarray(value) if isinstance(value, int | float | np.ndarray | np.generic) else None
        if found is None or found.shape or found.dtype.kind not in "fiu":
            raise UsageError(f"metric {self.selector}: value must give a number, got {quoted(value, 80)}")
        if np.isfinite(number := float(found)) and abs(number) > LARGEST:
            raise UsageError(f"metric {self.selector}: value must be at most {LARGEST:.3g} in size, got {number:.3g}")
        return number


def made(code: str, sha256: str, name: str, *, higher_is_better: bool) -> Measure:
    """Returns the metric whose code has this sum. OriginError if the user has not named it, or it
    has changed; UsageError if it is not the one that is stated."""
    named = own_models.of(code, sha256, "metric")
    there: Measure | None = own_models.there(named)
    return there or Measured(named, name, higher_is_better=higher_is_better)
