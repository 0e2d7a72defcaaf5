"""Cells that are orders of convergence, against the exponents that `fedbench theory` measures. The
lines that it prints are committed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fedbench import plain_files, strict_json
from fedbench.errors import RecordError
from fedbench.papers.cells import Cell
from fedbench.papers.rules import Word

FILE = "theory.jsonl"
LARGEST = 1 << 20  # characters of it
Claims = Mapping[str, Sequence[Mapping[str, Any]]]
"""The lines of a claim, by its name."""

MEASURED: Mapping[str, tuple[str, ...]] = {
    "FedAvg": ("fedavg-orders",),
    "FedAsync": ("fedasync-orders", "fedasync-delay"),
    "FedBuff": ("fedbuff-orders", "fedbuff-delay", "fedbuff-bound"),
}
"""The claims in which an algorithm's order is measured. Gradients of the test bed are not bounded,
so what is proven with bounded ones and what is proven without are measured alike."""

REMARKS: Mapping[str, str] = {
    "FedAsync": "The term in tau^2 / T is separate only where the mixing weight falls with T. With a constant weight alpha the leading "
    "term itself grows by 1 + alpha tau, which the order hides for a fixed tau.",
    "FedBuff": "On the quadratic test bed what delay changes grows as tau and not as tau^2, so it lies below the printed order.",
}
"""What the measured lines say beyond the printed order."""

BESIDE: Mapping[str, tuple[str, ...]] = {
    "000": ("defedavg-iid-speedup", "defedavg-niid-speedup", "defedavg-delay-boundary"),
    "001": ("objective-inconsistency", "calibration-unbiased", "fedagrac-orders", "fedagrac-reference-noise"),
    "002": (
        "fedavg-orders",
        "fedasync-orders",
        "fedasync-delay",
        "fedbuff-orders",
        "fedbuff-delay",
        "fedbuff-bound",
        "mean-staleness",
    ),
    "004": ("fedecho-orders", "fedecho-step", "fedecho-teacher"),
}
"""The claims that stand beside a paper's tables: what its theorems say, measured."""


def load(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Returns the committed lines by claim; none if there is no file. RecordError if a line is
    none."""
    file = folder / FILE
    if not file.exists():
        return {}
    found: dict[str, list[dict[str, Any]]] = {}
    for number, line in enumerate(plain_files.text(file, LARGEST, "lines of theory", RecordError).splitlines(), 1):
        try:
            row = strict_json.load(line)
            found.setdefault(row["claim"], []).append(row)
        except (strict_json.RefusedJsonError, KeyError, TypeError) as error:
            raise RecordError(f"{file}, line {number}: expected a line of `fedbench theory --json`, got {error}") from None
    return found


def judged(cell: Cell, claims: Claims) -> tuple[Word, str, str]:
    """Returns verdict, reason, and the measured exponents in words. An order agrees if all lines of
    its claims hold."""
    if cell.value is None:
        return "not comparable", cell.note, ""
    names = MEASURED[cell.algorithm]
    missing = [name for name in names if name not in claims]
    if missing:
        return "not run", f"`fedbench theory {' '.join(missing)}` has no committed lines.", ""
    lines = [line for name in names for line in claims[name]]
    broken = [line["check"] for line in lines if not line["holds"]]
    exponents = "; ".join(f"{line['check']} {line['measured']:.2f}" for line in lines if line["kind"] == "slope")
    if broken:
        return "differs", f"What is measured does not hold the order: {'; '.join(broken)}.", exponents
    held = f"All {len(lines)} measured lines of {', '.join(names)} hold."
    return "agrees", f"{held} {REMARKS.get(cell.algorithm, '')}".strip(), exponents


if __name__ == "__main__":  # for `make theory`: the claims whose lines are committed
    print(*dict.fromkeys(name for names in BESIDE.values() for name in names))
