"""The rules by which a printed number is judged, version 2. They are committed before the verdicts
that follow from them, and hold for every cell alike.

A measured number has one of four verdicts. They rest on the 95 % interval of ours / printed, which
is Student's t-interval of the mean over seeds. The printed number is taken as it stands.

- reproduced: the whole interval lies in [LOW, HIGH], and there are at least FEWEST seeds.
- close: the mean over seeds lies in [LOW, HIGH], but not the whole interval, or there are too few
  seeds.
- contradicted: the whole interval lies outside of [LOW, HIGH].
- not decided: anything else.

An accuracy is judged by ours - printed in the place of ours / printed, and by POINTS percentage
points to either side in the place of [LOW, HIGH].

Where there is an interval:

- One seed has none. Its number is close or not decided.
- Two seeds have one, which reaches 12.7 standard errors to either side. It may contradict.
- A time is read on a grid: a whole number of rounds, or the time between two evaluations. Seeds
  that are equal there need not be equal. So the standard deviation is at least that of rounding,
  step / sqrt(12). Where nothing is known of a grid, equal numbers have no interval.
- A run ends where its target is reached, and at the latest at LIMIT times the printed number. A
  seed that ends without the target says only that its number is larger. If no seed of at least
  FEWEST gets there, the interval begins at the earliest place where one ended, and has no upper
  end. If some seeds get there and others do not, or if there are fewer seeds, the mean has a lower
  bound and no interval, and the number is not decided.
- A run diverges if its model stops being finite. Where a time is measured, it counts as one that
  ends without its target and was watched until the end of its budget. It has no accuracy to read
  off, and counts as an accuracy of 0 %, below every run that ends with a model, since the papers
  print accuracies of runs that ended. No number is reproduced or close with such a seed. If all of
  at least FEWEST seeds diverge, the number is contradicted.

A number that is printed as a bound, such as >880, stands for everything from there on. Its range is
LOW and more, without an upper end. The runs of such a cell end at the bound.

Some experiments depend on something that decides the outcome and that the paper does not print,
such as who has which data, or how many steps a client does. Their numbers are judged as well, but
are at best close, since to agree with a guess is not to reproduce. The guess is written beside the
verdict, and the reason says that it is judged with the number. A number is not comparable if it was
measured on other hardware or is damaged in our copy of the paper. Options are those that the paper
prints. It is not run if data are missing or the price is too high. A scenario that stands in for
another (Fashion-MNIST or CIFAR-10 as JPEG for CIFAR-10) gives no verdict: the number is not run,
and the page says what stands in. Its targets are the same shares of what central training reaches,
see `ceilings`.

A fact of configuration, such as a count of parameters or a rate, agrees with the code or differs
from it. Such facts are counted apart from measured results.

A rate of convergence agrees if the 95 % intervals of the measured exponents contain the printed
ones and what is measured has the sign that the rate gives it, such as a delay that costs. Otherwise
it is consistent with the bound, as long as nothing that is measured lies above it; else it differs.
A run without chance has no interval.

An order of two numbers of a table is compared seed by seed, for times on the logarithmic scale.

- kept, broken: the 95 % interval of the paired difference excludes equality, and there are at least
  two seeds. Or each of at least FEWEST seeds has the same order, and the means differ by more than
  the factor FACTOR. Kept is the printed order, broken the opposite one.
- kept twice, broken twice: both of two seeds have the order, and there are no others. Their
  interval reaches 12.7 standard errors to either side, so it hardly ever decides.
- kept once, broken once: the order was seen in one seed, and there is no other.
- undecided: anything else.

A seed has an order if both runs reached their targets, or if one run missed its target and was
watched for longer than the other run needed. A missed time and an accuracy of 0 % of a run that
diverged have an order but no difference, so no interval either. If all differences are equal there
is no interval. Orders are also read off scenarios that stand in for others, which is then said.

What version 2 changed. In version 1 a number was reproduced if its mean was at most 15 % away or
its interval contained it and was no wider than 40 %; it was close up to 40 %; and everything else
was contradicted. So one seed could reproduce or contradict a number, and an interval that said
nothing could contradict as well. Now the interval decides, and "not decided" is a verdict. A target
that some of the seeds miss decided against a number; now it decides nothing. Accuracies were judged
by 15 % of their value, which is ten times as much as the papers compare; now by 1.5 points. An
order of one seed counted like one of three. Facts of configuration were counted together with
measured results. A rate of convergence agreed wherever the measured exponents lay below the printed
ones.
"""

from __future__ import annotations

from collections.abc import Mapping

from fedbench.documents.paper import Kept, Verdict
from fedbench.written import PLUS_MINUS

VERSION = 2
LOW, HIGH = 0.85, 1.18
"""The range of ours / printed."""
POINTS = 1.5
"""The range of ours - printed of an accuracy, to either side, in percentage points."""
FEWEST = 3
"""The seeds that a number needs to be reproduced, and an order that has no interval."""
FACTOR = 1.2
LIMIT = 2.0
"""Where a run ends at the latest, in units of the printed number."""
FEWEST_ROUNDS = 50
"""Rounds that every run has to reach its target. Twice a very small printed number would be too
few."""

IN_SHORT: Mapping[Verdict | Kept, str] = {
    "reproduced": f"The whole 95 % interval of ours / printed lies in [{LOW}, {HIGH}], with at least {FEWEST} seeds. For an accuracy, the "
    f"interval of ours - printed lies within {PLUS_MINUS}{POINTS} points.",
    "close": "The mean over seeds lies there. The whole interval does not, or there are too few seeds, or something that decides the "
    "number is not printed.",
    "not decided": "The mean lies outside and the interval reaches inside, or there is no interval.",
    "contradicted": "The whole interval lies outside.",
    "agrees": "A constant, such as a count of parameters or a rate, is that of the code. A rate of convergence agrees if the measured "
    "exponents and signs are the printed ones.",
    "differs": "A constant is not that of the code. A rate of convergence differs if something that is measured lies above it.",
    "consistent with the bound": "What is measured does not lie above the printed rate of convergence, and does not show it either.",
    "not run": "Data are missing, or the price is too high, or another data set or network stands in.",
    "not comparable": "Other hardware, or a number that is lost or damaged in our copy of the paper.",
    "kept": f"The paired 95 % interval has two numbers in their printed order, or all of at least {FEWEST} seeds have, by more than a "
    f"factor of {FACTOR}.",
    "broken": "By the same test they are in the other order.",
    "undecided": "The test finds neither order.",
    "kept twice": "Both of two seeds have the printed order, and their interval does not decide.",
    "broken twice": "Both of two seeds have the other order, and their interval does not decide.",
    "kept once": "The printed order was seen in one seed, and there is no other.",
    "broken once": "The other order was seen in one seed, and there is no other.",
}
"""What every word means, in short."""
ENDS = (
    f"A run ends where its target is reached, and at the latest at {LIMIT:g} times the printed number; > says that a seed ended without. "
    "A run whose model stops being finite counts as an accuracy of 0 %. "
    f"Options are those that the paper prints. {PLUS_MINUS} after a number of ours is its 95 % interval over seeds; after a printed one it "
    "is what the paper prints. In a row that is not run, our number is of what stands in, and is not compared with the printed one. "
    f"These are [the rules](README.md#rules-version-{VERSION}) of version {VERSION}."
)
