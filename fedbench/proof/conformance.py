"""Checks conformance vectors, which are files of inputs and expected results. vectors/FORMAT*.md
describe their formats.

A vector passes only if it does in every precision. Runs of an algorithm must give the same bits
with waves of single jobs, with maximal waves, and with a plan that is cut into single updates. A
vector that needs something that is not implemented is `unsupported`, and is never skipped.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from fedbench import plain_files
from fedbench.errors import FedbenchError, UsageError
from fedbench.proof.algorithm_vectors import check_algorithm
from fedbench.proof.closed_network import check_theory
from fedbench.proof.compare import Mismatch, Unsupported
from fedbench.proof.kernel_vectors import check_kernel
from fedbench.proof.plan_vectors import check_plan

Precision = Literal["float64", "float32"]
Check = Callable[[dict[str, Any], str], float]

CHECKS: dict[str, tuple[Check, tuple[str, ...]]] = {
    "fedbench.algorithm.v1": (check_algorithm, ("float64", "float32")),
    "fedbench.kernel.v1": (check_kernel, ("float64", "float32")),
    "fedbench.plan.v1": (check_plan, ("int64",)),
    "fedbench.plan.v2": (check_plan, ("int64",)),
    "fedbench.theory.v1": (check_theory, ("float64", "float32")),
}
LARGEST = 64 << 20  # bytes of a vector
SHIPPED = Path(__file__).with_name("vectors")


@dataclass(frozen=True)
class Row:
    """The result of one vector. `max_error` is the largest error as a fraction of its tolerance,
    and `where` says what failed."""

    id: str
    status: Literal["pass", "fail", "unsupported", "error"]
    precision: str
    max_error: float | None
    where: str

    def as_json(self) -> str:
        return json.dumps(asdict(self))


def check_folder(folder: str | Path = SHIPPED) -> Iterator[Row]:
    """Yields one Row for every *.json of the folder, in the order of names. UsageError if there is
    none."""
    folder = Path(folder)
    files = sorted(folder.glob("*.json"))
    if not files:
        raise UsageError(f"conformance: no *.json vectors in {folder}; the shipped ones are in {SHIPPED}")
    return (check_file(file) for file in files)


def check_file(file: Path) -> Row:
    """Returns the result of one vector file."""
    try:
        vector = plain_files.json_in(file, LARGEST, "vector", finite=False)
    except UsageError as error:
        return Row(file.stem, "error", "", None, f"cannot be read: {error}")
    if not isinstance(vector, dict):
        return Row(file.stem, "error", "", None, f"expected a JSON object, got {type(vector).__name__}")
    name = str(vector.get("id", file.stem))
    known = CHECKS.get(str(vector.get("format")))
    if known is None:
        return Row(name, "unsupported", "", None, f"format {vector.get('format')!r}")
    check, precisions = known
    worst = 0.0
    for precision in precisions:
        try:
            worst = max(worst, check(vector, precision))
        except Unsupported as reason:
            return Row(name, "unsupported", precision, None, str(reason))
        except Mismatch as reason:
            return Row(name, "fail", precision, reason.ratio, str(reason))
        except (FedbenchError, ArithmeticError, LookupError, TypeError, ValueError) as error:
            return Row(name, "error", precision, None, f"{type(error).__name__}: {error}")
    return Row(name, "pass", "+".join(precisions), worst, "")
