"""A row: one algorithm under one scenario, with its runs, what they measured, and how it
compares."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fedbench.analysis.axes import Axis
from fedbench.analysis.curves import Curve, last_k_mean, mean_curve
from fedbench.analysis.hits import Hits, hits
from fedbench.analysis.server import public_logits_vectors, server_examples
from fedbench.analysis.standings import UNKNOWN, Comparison
from fedbench.analysis.statistics import Estimate, estimate
from fedbench.errors import RecordError
from fedbench.results.record import Record
from fedbench.results.sections import Used

FINAL = ("test_accuracy", "test_loss", "client_accuracy_mean", "client_accuracy_worst_decile")
LEDGER = ("bytes_up", "bytes_down", "bytes_wasted", "busy_fraction", "staleness_mean", "participation_gini")
WORK = ("gradient_evaluations", "trained_steps", "avoided_steps")
SERVER = ("server_forward_examples", "server_gradient_examples", "public_logits_vectors")
LOST = ("jobs_left", "jobs_dropped_out", "jobs_late")
LOSSES = (*LOST, "lost_share", "wasted_share")
AT_HORIZON = "test_accuracy_at_horizon"
LAST = 10  # evaluations, as the papers have it
LAST_MEAN = f"test_accuracy_last_{LAST}"


@dataclass(frozen=True)
class Row:
    """One algorithm under one scenario.

    runs: its records in order of seed.
    outcomes, ended_by: the number of seeds by state, and by the cause of the end.
    measures: estimates over seeds by name. The names are FINAL, `updates` (the final version),
    LAST_MEAN, AT_HORIZON, LEDGER, WORK and LOSSES. LOSSES are the jobs lost and late by cause,
    their share of all jobs, and the share of the local steps done that no update consumed. If the
    server computes with models, there are SERVER too.
    to_target: for each target of the scenario, in its order, what the seeds need to hold it.
    curve: the mean test accuracy.
    left_out: why its accuracy is not compared; empty if it is.
    accuracy: how it compares with the best mean of the rows that share its system.
    """

    selector: str
    runs: tuple[Record, ...]
    outcomes: dict[str, int]
    ended_by: dict[str, int]
    measures: dict[str, Estimate]
    to_target: tuple[Hits, ...]
    curve: Curve
    left_out: str = ""
    accuracy: Comparison = UNKNOWN

    @property
    def algorithm(self) -> Used:
        """Returns the name, the options and what else the record says of the algorithm."""
        return self.runs[0].spec.algorithm

    @property
    def is_reference(self) -> bool:
        """Returns whether it is a yardstick, such as SGD on the pooled data, which is shown and not
        ranked."""
        return self.algorithm.reference

    @property
    def uses_public_data(self) -> bool:
        return "public_data" in self.algorithm.requires

    @property
    def seeds(self) -> tuple[int, ...]:
        return tuple(run.seed for run in self.runs)

    @property
    def staleness_max(self) -> int:
        """Returns the largest staleness of any seed."""
        return max(run.ledger.staleness_max for run in self.runs)


def row(selector: str, runs: tuple[Record, ...], axis: Axis) -> Row:
    """Returns the row of the runs of one algorithm, before it is compared with others. There is at
    least one run, and one for each seed."""
    return Row(
        selector=selector,
        runs=runs,
        outcomes=_counts(run.state for run in runs),
        ended_by=_counts(run.outcome.ended_by for run in runs),
        measures=_measures(runs),
        to_target=tuple(hits(runs, target, axis) for target in runs[0].spec.scenario.targets),
        curve=mean_curve(runs, "test_accuracy", axis),
    )


def _counts(words: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(words).items()))


def _measures(runs: Sequence[Record]) -> dict[str, Estimate]:
    ledgers = [run.ledger for run in runs]
    measures = {name: estimate(getattr(run.final, name) for run in runs) for name in FINAL}
    measures[LAST_MEAN] = estimate(last_k_mean(run, "test_accuracy", LAST) for run in runs)
    measures["updates"] = estimate(run.final.version for run in runs)
    measures |= {name: estimate(getattr(ledger, name) for ledger in ledgers) for name in (*LEDGER, *WORK, *LOST)}
    measures["lost_share"] = estimate(ledger.share(LOST, "jobs") for ledger in ledgers)
    measures["wasted_share"] = estimate(ledger.share(["steps_wasted"], "steps_done") for ledger in ledgers)
    return measures | _of_server(runs)


def _of_server(runs: Sequence[Record]) -> dict[str, Estimate]:
    """Returns the measures of the server's own work; none if it has none, or if it is not known."""
    try:
        counted: list[dict[str, float]] = [{**server_examples(run)} for run in runs]
    except RecordError:
        return {}
    if not all(counted):
        return {}
    for run, one in zip(runs, counted, strict=True):
        one["public_logits_vectors"] = public_logits_vectors(run)
    return {name: estimate(one[name] for one in counted) for name in SERVER}
