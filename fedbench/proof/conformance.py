"""Checks conformance vectors, which are files of inputs and expected results. vectors/FORMAT*.md
describe their formats.

A vector passes only if it does in every precision. Runs of an algorithm must give the same bits
with waves of single jobs, with maximal waves, and with a plan that is cut into single updates. A
vector that needs something that is not implemented is `unsupported`, and is never skipped.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from fedbench import plain_files
from fedbench.errors import FedbenchError, UsageError
from fedbench.proof.algorithm_vectors import AlgorithmVector
from fedbench.proof.closed_network import TheoryVector
from fedbench.proof.compare import Mismatch, Unsupported
from fedbench.proof.forms import Checked
from fedbench.proof.kernel_vectors import KernelVector
from fedbench.proof.plan_vectors import PlanVector

FORMS: dict[str, tuple[type[Checked], tuple[str, ...]]] = {
    "fedbench.algorithm.v1": (AlgorithmVector, ("float64", "float32")),
    "fedbench.kernel.v1": (KernelVector, ("float64", "float32")),
    "fedbench.plan.v1": (PlanVector, ("int64",)),
    "fedbench.plan.v2": (PlanVector, ("int64",)),
    "fedbench.theory.v1": (TheoryVector, ("float64", "float32")),
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
        document = plain_files.json_in(file, LARGEST, "vector", finite=False)
    except UsageError as error:
        return Row(file.stem, "error", "", None, f"cannot be read: {error}")
    if not isinstance(document, dict):
        return Row(file.stem, "error", "", None, f"expected a JSON object, got {type(document).__name__}")
    name = str(document.get("id", file.stem))
    known = FORMS.get(str(document.get("format")))
    if known is None:
        return Row(name, "unsupported", "", None, f"format {document.get('format')!r}")
    form, precisions = known
    worst = 0.0
    try:
        vector = form.model_validate(document)
    except ValidationError as errors:
        first = errors.errors(include_url=False)[0]
        return Row(name, "error", "", None, f"{'.'.join(map(str, first['loc']))}: {first['msg']}")
    for precision in precisions:
        try:
            worst = max(worst, vector.check(precision))
        except Unsupported as reason:
            return Row(name, "unsupported", precision, None, str(reason))
        except Mismatch as reason:
            return Row(name, "fail", precision, reason.ratio, str(reason))
        except (FedbenchError, ArithmeticError, LookupError, TypeError, ValueError) as error:
            return Row(name, "error", precision, None, f"{type(error).__name__}: {error}")
    return Row(name, "pass", "+".join(precisions), worst, "")
