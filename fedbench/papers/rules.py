"""The rules by which a printed number is judged. They were committed before the runs that they
judge, and hold for every cell alike.

A number that was measured again has one of three verdicts:

- reproduced: the 95 % interval over seeds contains the printed number and is no wider than WIDEST
  of it to either side, or the mean is at most SAME of the printed number away. Reasons: the papers
  print means of three runs, and the times of three runs spread by about as much; an interval that
  contains everything says nothing.
- close: the mean is at most CLOSE of the printed number away, or the interval contains it and is
  wider. Reason: what the papers leave open (how time is counted, how often the model is evaluated,
  initial values) moves a time by about as much.
- contradicted: anything else.

A run ends where its target is reached, and at the latest at LIMIT times the printed number, since
the verdict is settled there. A seed that ends without the target counts with the place where it
ended. Then nothing is reproduced, and if no seed reaches the target the number is contradicted. A
number that is printed as a bound is reproduced if every seed misses the target up to the bound,
contradicted if none does, and otherwise close.

A run diverges if its model stops being finite. It has no accuracy to read off. It counts as an
accuracy of 0 %, below every run that ends with a model, in the mean and in orders, and two such
runs have no order. Nothing is reproduced with such a seed, and if all diverge the number is
contradicted. Reason: the papers print accuracies of runs that ended, so leaving such a seed out
would flatter an algorithm that diverges. Where a time is measured, a run that diverges counts as
one that ends without its target and was watched until the end of its budget.

Some experiments depend on something that decides the outcome and that the paper does not print,
such as who has which data, or how many steps a client does. Their numbers are judged as well, but
are at best close, since to agree with a guess is not to reproduce. The guess is written beside the
verdict. A number is not comparable if it was measured on other hardware or is damaged in our copy
of the paper. Options are those that the paper prints. A scenario that stands in for another
(Fashion-MNIST for CIFAR-10) gives no verdict on a number at all.

The other verdicts:

- agrees, differs: whether a fact of configuration, such as a count of parameters or a rate, is that
  of the code.
- not run: the reason is given, which is missing data or the price.

An order of two numbers of a table is kept if it is the printed one with every seed, broken if it is
the opposite one with every seed, and otherwise undecided. The number of seeds is given, even if it
is one. Two numbers that end for different causes may have no order. A seed has an order if both
runs reached their targets, or if one run missed its target and was watched for longer than the
other run needed. Orders are also read off scenarios that stand in for others, which is then said.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from fedbench.analysis.statistics import Estimate, estimate

SAME, CLOSE, WIDEST = 0.15, 0.40, 0.40
LIMIT = 2.0
"""Where a run ends at the latest, in units of the printed number."""
FEWEST_ROUNDS = 50
"""Rounds that every run has to reach its target. Twice a very small printed number would be too
few."""

Word = Literal["reproduced", "close", "contradicted", "agrees", "differs", "not run", "not comparable"]
WORDS: tuple[Word, ...] = get_args(Word)
Order = Literal["kept", "broken", "undecided"]
IN_SHORT: Mapping[Word | Order, str] = {
    "reproduced": f"The 95 % interval over seeds contains the printed number and is at most {WIDEST:.0%} of it wide to either side, or the "
    f"mean is at most {SAME:.0%} away.",
    "close": f"The mean is at most {CLOSE:.0%} away, or a wider interval contains the printed number; or something that decides the number "
    "is not printed.",
    "contradicted": "Anything else that was measured.",
    "agrees": "A fact of configuration, such as a count of parameters or a rate, is that of the code; a measured order is the printed one.",
    "differs": "It is not.",
    "not run": "Data are missing, or the price is too high.",
    "not comparable": "Other hardware, or a number that is lost or damaged in our copy of the paper.",
    "kept": "Two numbers are in their printed order with every seed.",
    "broken": "They are in the other order with every seed.",
    "undecided": "Neither.",
}
"""What every word means, in one sentence."""
ENDS = (
    f"A run ends where its target is reached, and at the latest at {LIMIT:g} times the printed number; > says that a seed ended without. "
    "A run whose model stops being finite counts as an accuracy of 0 %. "
    "Options are those that the paper prints. The rules and their reasons were committed before the runs."
)


@dataclass(frozen=True)
class Reading:
    """The number that one seed gave.

    Attributes:
        value: the number.
        missed: the run ended at `value` without its target.
        diverged: the run ended without a model. If an accuracy is read off, `value` is 0, and
            otherwise the run missed its target as well.
    """

    value: float
    missed: bool = False
    diverged: bool = False

    @property
    def text(self) -> str:
        if self.diverged:
            return "diverged"
        return f"{'>' if self.missed else ''}{self.value:.6g}"


@dataclass(frozen=True)
class Judged:
    """A verdict on a number, with the mean over seeds and the reason, which is a sentence. A seed
    that missed counts with the place where it ended."""

    word: Word
    mean: Estimate
    why: str


def judge(printed: float, readings: Sequence[Reading], *, censored: bool = False, guessed: bool = False) -> Judged:
    """Returns the verdict on a printed number.

    Args:
        printed: the number, > 0.
        readings: those of the seeds, at least one.
        censored: whether the number is printed as a bound.
        guessed: whether something that decides the outcome is not printed.
    """
    found = _judged_bound(printed, readings) if censored else _judged(printed, readings)
    if guessed and found.word == "reproduced":
        return Judged("close", found.mean, f"{found.why} What decides it is not printed, so it is no better than close.")
    return found


def _judged_bound(bound: float, readings: Sequence[Reading]) -> Judged:
    misses = sum(one.missed or one.value > bound for one in readings)
    word: Word = "reproduced" if misses == len(readings) else "close" if misses else "contradicted"
    why = f"{misses} of {_seeds(len(readings))} miss the target until {bound:g}; the paper's runs do."
    return Judged(word, _mean(readings), why)


def _judged(printed: float, readings: Sequence[Reading]) -> Judged:
    mean, misses, diverged = _mean(readings), sum(one.missed for one in readings), sum(one.diverged for one in readings)
    distance = abs(_of(mean) - printed) / printed
    away = f"The mean is {'at least ' if misses else ''}{_of(mean) / printed:.2f} times the printed number"
    if misses or diverged:
        lost = sum(one.missed or one.diverged for one in readings)
        word: Word = "close" if lost < len(readings) and distance <= CLOSE else "contradicted"
        what = "end without the target" if misses else "diverge and count as 0"
        also = f" ({diverged} diverged)" if misses and diverged else ""
        return Judged(word, mean, f"{away}; {lost} of {_seeds(len(readings))} {what}{also}.")
    half = mean.half_width
    inside = half is not None and abs(_of(mean) - printed) <= half
    narrow = half is not None and half <= WIDEST * printed
    interval = "" if half is None else f", its interval {'contains' if inside else 'does not contain'} it"
    good = (inside and narrow) or distance <= SAME
    word = "reproduced" if good else "close" if inside or distance <= CLOSE else "contradicted"
    wide = " and is wide" if inside and not narrow else ""
    return Judged(word, mean, f"{away}{interval}{wide} ({_seeds(len(readings))}).")


def _mean(readings: Sequence[Reading]) -> Estimate:
    return estimate(one.value for one in readings)


def _of(mean: Estimate) -> float:
    if mean.mean is None:
        raise ValueError("expected at least one seed, got none")
    return mean.mean


def _seeds(n: int) -> str:
    return f"{n} seed{'s' * (n != 1)}"


def order(printed: int, first: Mapping[int, Reading], second: Mapping[int, Reading]) -> Order:
    """Returns whether two numbers are in the printed order.

    Args:
        printed: -1 if the first number is printed smaller, 1 if it is printed larger.
        first: readings of the first number by seed.
        second: those of the second number. Only seeds that both have are compared.
    """
    signs = [_sign(first[seed], second[seed]) for seed in sorted(first.keys() & second.keys())]
    if signs and all(sign == printed for sign in signs):
        return "kept"
    return "broken" if signs and all(sign == -printed for sign in signs) else "undecided"


def _sign(one: Reading, other: Reading) -> int:
    """Returns -1 if the first is certainly smaller, 1 if it is certainly larger, and 0 if neither
    is certain."""
    smaller = not one.missed and one.value < other.value
    larger = not other.missed and one.value > other.value
    return larger - smaller
