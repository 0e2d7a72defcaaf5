"""The rules by which a printed number is judged. They were committed before the runs that they
judge, and hold for every cell alike.

A verdict on a number that was measured again:

reproduced      the 95 % interval over seeds contains the printed number and is no wider than WIDEST of it to either side, or the mean is at
                most SAME of the printed number away. Reasons: the papers print means of three runs,
                    whose own spread of times is of that
                size; an interval that contains everything says nothing.
close           the mean is at most CLOSE of it away, or the interval contains it and is wider. Reasons: what the papers leave open (how
                time is counted, how often is evaluated, initial values) moves a time by so much.
contradicted    anything else.

A run ends where its target is reached, and at the latest at LIMIT times the printed number: beyond
it the verdict is settled. A seed that ends without the target counts with the place where it ended;
then nothing is reproduced, and if no seed gets there it is contradicted. A number that is printed
as a bound is reproduced if every seed misses the target until there, contradicted if none does, and
else close.

A run diverges if its model stops being finite; it has no accuracy to read off. It counts as an
accuracy of 0 %, below every run that ends with a model, in the mean and in orders, and two such
runs have no order. Nothing is reproduced with such a seed, and if all diverge the number is
contradicted. Reason: the papers print accuracies of runs that ended, so a seed left out would
flatter whoever diverged. For a time, a run that diverges is one that ends without its target,
watched until the end of its budget.

A number whose experiment differs in something that the paper does not print and that decides the
outcome (who has which data, how many steps a client does) is judged as well, but at best close: to
agree with a guess is not to reproduce. It stands beside the verdict what was guessed. A number that
was measured on other hardware, or is damaged in our copy of the paper, is not comparable. Options
are those that the paper prints; a scenario that stands in for another (Fashion-MNIST for CIFAR-10)
gives no verdict on a number at all.

agrees, differs a number that is a fact of configuration, such as a count of parameters or a rate, and the code's.
not run         with the reason: missing data, or the price.

An order of two numbers of a table is kept if it is the printed one with every seed, broken if it is
the other one with every seed, and else undecided. One seed is said to be one. Numbers that end for
different causes have no order: a seed's pair has one if both reached their targets, or one was
watched for longer than the other needed. Orders are also read off scenarios that stand in for
others, and say so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from fedbench.analysis.statistics import Estimate, estimate

SAME, CLOSE, WIDEST = 0.15, 0.40, 0.40
LIMIT = 2.0
"""A run ends here at the latest, in units of the printed number."""
FEWEST_ROUNDS = 50
"""Rounds that a run has in any case to reach its target: twice a very small number would be no time
at all."""

Word = Literal["reproduced", "close", "contradicted", "agrees", "differs", "not run", "not comparable"]
WORDS: tuple[Word, ...] = ("reproduced", "close", "contradicted", "agrees", "differs", "not run", "not comparable")
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
"""What the words mean, in a sentence each."""
ENDS = (
    f"A run ends where its target is reached, and at the latest at {LIMIT:g} times the printed number; > says that a seed ended without. "
    "A run whose model stops being finite counts as an accuracy of 0 %. "
    "Options are those that the paper prints. The rules and their reasons were committed before the runs."
)


@dataclass(frozen=True)
class Reading:
    """What a seed gave. `missed`: the target was not reached until `value`, where the run ended.
    `diverged`: the run has no accuracy, and `value` is 0."""

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
    """A verdict on a number, with the mean over seeds (misses count where they ended) and what
    decided, as a sentence."""

    word: Word
    mean: Estimate
    why: str


def judge(printed: float, readings: Sequence[Reading], *, censored: bool = False, guessed: bool = False) -> Judged:
    """Returns the verdict on a printed number.

    Args:
        printed: the number, > 0.
        readings: of the seeds, at least one.
        censored: the number is printed as a bound.
        guessed: something that decides the outcome is not printed.
    """
    found = _judged_bound(printed, readings) if censored else _judged(printed, readings)
    if guessed and found.word == "reproduced":
        return Judged("close", found.mean, f"{found.why} What decides it is not printed, so it is no better than close.")
    return found


def _judged_bound(bound: float, readings: Sequence[Reading]) -> Judged:
    misses = sum(one.missed or one.value > bound for one in readings)
    word: Word = "reproduced" if misses == len(readings) else "close" if misses else "contradicted"
    return Judged(
        word, _mean(readings), f"{misses} of {_seeds(len(readings))} miss the target until {bound:g}; the paper's runs do."
    )


def _judged(printed: float, readings: Sequence[Reading]) -> Judged:
    mean, misses, diverged = _mean(readings), sum(one.missed for one in readings), sum(one.diverged for one in readings)
    distance = abs(_of(mean) - printed) / printed
    away = f"The mean is {'at least ' if misses else ''}{_of(mean) / printed:.2f} times the printed number"
    if misses or diverged:
        word: Word = "close" if misses + diverged < len(readings) and distance <= CLOSE else "contradicted"
        what = "end without the target" if misses else "diverge and count as 0"
        return Judged(word, mean, f"{away}; {misses or diverged} of {_seeds(len(readings))} {what}.")
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
    """Whether two numbers are in the printed order.

    Args:
        printed: -1 if the first is printed smaller, 1 if larger.
        first, second: readings by seed; only seeds that both have are looked at.
    """
    signs = [_sign(first[seed], second[seed]) for seed in sorted(first.keys() & second.keys())]
    if signs and all(sign == printed for sign in signs):
        return "kept"
    return "broken" if signs and all(sign == -printed for sign in signs) else "undecided"


def _sign(one: Reading, other: Reading) -> int:
    """-1 if the first is certainly smaller, 1 if it is larger, 0 if neither is known."""
    smaller = not one.missed and one.value < other.value
    larger = not other.missed and one.value > other.value
    return larger - smaller
