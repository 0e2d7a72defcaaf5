"""Judges cells that are orders of convergence by the exponents that `fedbench theory` measures. The
lines that this command prints are committed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from fedbench import plain_files
from fedbench.documents.paper import Theory
from fedbench.documents.paper import Verdict as Word
from fedbench.documents.read import parsed
from fedbench.errors import RecordError
from fedbench.papers.cells import Cell

FILE = "theory.jsonl"
LARGEST = 1 << 20  # characters of the file
Claims = Mapping[str, Sequence[Theory]]
"""The lines of every claim, by the claim's name."""

MEASURED: Mapping[str, tuple[str, ...]] = {
    "FedAvg": ("fedavg-orders",),
    "FedAsync": ("fedasync-orders", "fedasync-delay"),
    "FedBuff": ("fedbuff-orders", "fedbuff-delay-noise", "fedbuff-delay", "fedbuff-bound"),
}
"""The claims that measure the order of an algorithm. The gradients of the test bed are not bounded,
so orders that are proven for bounded gradients are measured in the same way as the others."""

PRINTED: Mapping[tuple[str, str], float] = {
    ("fedavg-orders", "against T, exponent"): -0.5,
    ("fedasync-orders", "falling mixing, against T, exponent"): -0.5,
    ("fedasync-delay", "falling mixing, change by tau = 4 against T, exponent"): -1.0,
    ("fedasync-delay", "falling mixing, change against tau, exponent"): 2.0,
    ("fedbuff-orders", "against T, exponent"): -0.5,
    ("fedbuff-delay-noise", "with noise, change by tau = 8 against T, exponent"): -1.0,
    ("fedbuff-delay-noise", "with noise, change against tau, exponent"): 2.0,
}
"""By claim and check, the exponent that the table prints: -1/2 of T in O(1/sqrt(T)), and -1 of T
and 2 of tau in O(tau^2/T). Both terms are printed as costs, so the sign of what is measured is
positive."""

REMARKS: Mapping[str, str] = {
    "FedAsync": "The term in tau^2 / T is separate only where the mixing weight falls with T. With a constant weight alpha the leading "
    "term itself grows by 1 + alpha tau, which the order hides for a fixed tau.",
    "FedBuff": "Where noise moves the model, delay raises |grad F|^2 by tau / T. On the way to the optimum delay acts like momentum, and "
    "|grad F|^2 falls as tau grows.",
}
"""What the measured lines of an algorithm say beyond the printed order."""

BESIDE: Mapping[str, tuple[str, ...]] = {
    "000": ("defedavg-iid-speedup", "defedavg-niid-speedup", "defedavg-delay-boundary"),
    "001": (
        "objective-inconsistency",
        "calibration-unbiased",
        "fedagrac-orders",
        "fedagrac-reference-noise",
        "fedagrac-unequal-orders",
    ),
    "002": (
        "fedavg-orders",
        "fedasync-orders",
        "fedasync-delay",
        "fedbuff-orders",
        "fedbuff-delay",
        "fedbuff-delay-noise",
        "fedbuff-bound",
        "mean-staleness",
    ),
    "004": ("fedecho-orders", "fedecho-step", "fedecho-teacher"),
}
"""The claims that are shown with a paper's tables, by its number. They measure what its theorems
say."""


def load(folder: Path) -> dict[str, list[Theory]]:
    """Returns the committed lines of a folder by claim. They are empty if there is no file. Raises
    RecordError for a line that is not one of `fedbench theory --json`."""
    file = folder / FILE
    if not file.exists():
        return {}
    found: dict[str, list[Theory]] = {}
    for number, text in enumerate(plain_files.text(file, LARGEST, "lines of theory", RecordError).splitlines(), 1):
        line = parsed(text, Theory, f"{file}, line {number}", "expected a line of `fedbench theory --json`")
        found.setdefault(line.claim, []).append(line)
    return found


def judged(cell: Cell, claims: Claims) -> tuple[Word, str, str]:
    """Returns the verdict on a cell, the reason, and the measured exponents in words.

    An order differs if a line of its claims does not hold. It agrees if the intervals of the
    exponents contain the printed ones and all have the printed sign. Otherwise it is consistent
    with the bound, and the reason says which exponents are not the printed ones.
    """
    if cell.value is None:
        return "not comparable", cell.note, ""
    names = MEASURED[cell.algorithm]
    missing = [name for name in names if name not in claims]
    if missing:
        return "not run", f"`fedbench theory {' '.join(missing)}` has no committed lines.", ""
    lines = [line for name in names for line in claims[name]]
    broken = [line.check for line in lines if not line.holds]
    exponents = "; ".join(f"{line.check.removesuffix(', exponent')} {_exponent(line)}" for line in lines if line.kind == "slope")
    if broken:
        return "differs", f"What is measured does not hold the order: {'; '.join(broken)}.", exponents
    held = f"All {len(lines)} checks of {', '.join(names)} pass."
    off = [why for line in lines if (why := _unlike(line))]
    if not off:
        return "agrees", f"{held} The interval of every printed exponent contains it.", exponents
    certain = " Runs without noise have no interval." if any(line.low == line.high for line in lines) else ""
    why = f"{held} Not as printed: {'; '.join(off)}.{certain} {REMARKS.get(cell.algorithm, '')}"
    return "consistent with the bound", why.strip(), exponents


def _exponent(line: Theory) -> str:
    return f"{line.measured:.2f}{' of a decrease' if line.sign < 0 else ''}"


def _unlike(line: Theory) -> str:
    """Returns how a line departs from the printed exponent; empty if it does not, or if none is
    printed. Without chance there is no interval that could contain it."""
    printed = PRINTED.get((line.claim, line.check))
    if printed is None:
        return ""
    if line.interval and line.interval[0] <= printed <= line.interval[1] and line.sign > 0:
        return ""
    return f"{line.check.removesuffix(', exponent')} {_exponent(line)} and not {printed:g}"


if __name__ == "__main__":  # `make theory` asks for the claims whose lines are committed
    print(*dict.fromkeys(name for names in BESIDE.values() for name in names))
