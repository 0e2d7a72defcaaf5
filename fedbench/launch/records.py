"""Records as users of the library handle them: a sequence with tables and a picture."""

from __future__ import annotations

import html
import itertools
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from fedbench import extras
from fedbench.analysis.axes import find
from fedbench.analysis.curves import last_k_mean, mean_curve
from fedbench.analysis.hits import first_hit
from fedbench.analysis.rows import AT_HORIZON, LAST_MEAN, Row
from fedbench.analysis.summary import ScenarioSummary, summarize
from fedbench.engine.spec import RunSpec
from fedbench.results import archive
from fedbench.results.record import Record
from fedbench.results.sections import Hit
from fedbench.results.store import read, record_folders
from fedbench.scenarios.schema import ACCURACY

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


SHOWN = ("scenario", "algorithm", "seed", "state", "test_accuracy", "updates", "wall_seconds")


class Records(Sequence[Record]):
    """Records of one or several runs, as a sequence with tables and a picture.

    They are in the order in which they were requested. An index gives a record, and a slice gives
    `Records`.

    Parameters
    ----------
    records : iterable of Record
        The records.
    elsewhere : iterable of RunSpec
        Runs that were requested but are not here, since another process was computing them.
    """

    def __init__(self, records: Iterable[Record], elsewhere: Iterable[RunSpec] = ()) -> None:
        self._records = tuple(records)
        self.elsewhere = tuple(elsewhere)

    @overload
    def __getitem__(self, index: int) -> Record: ...
    @overload
    def __getitem__(self, index: slice) -> Records: ...
    def __getitem__(self, index: int | slice) -> Record | Records:
        return Records(self._records[index]) if isinstance(index, slice) else self._records[index]

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> Iterator[Record]:
        return iter(self._records)

    @classmethod
    def load(cls, store: str | Path) -> Records:
        """Returns all finished records of a store, or of a folder of it, in path order; or those of
        an archive, such as `results/suites/axes`.

        Parameters
        ----------
        store : path
            The folder.

        Returns
        -------
        Records
            The records.

        Raises
        ------
        UsageError
            There is no such folder, or no record in it.
        RecordError
            A record is damaged.
        """
        return cls(records_in(Path(store)))

    def __repr__(self) -> str:
        """Returns how many records there are, and of what, rather than the records themselves."""
        parts = ((self._all("scenario"), "scenario"), (self._all("selector"), "algorithm"), (self._all("seed"), "seed"))
        return f"Records({', '.join([str(len(self)), *(_named(names, kind) for names, kind in parts if names)])})"

    def _all(self, attribute: str) -> list[Any]:
        """Returns the different values of an attribute, in order of appearance."""
        return list(dict.fromkeys(getattr(record, attribute) for record in self))

    def _repr_html_(self) -> str:
        """Returns what a notebook shows: a table with the columns SHOWN and the times to
        targets."""
        rows = [_row(record) for record in self]
        names = [name for name in dict.fromkeys(itertools.chain(*rows)) if name in SHOWN or name.startswith("seconds_to_")]
        head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
        body = "".join(f"<tr>{''.join(f'<td>{_shown(row.get(name))}</td>' for name in names)}</tr>" for row in rows)
        return f"<p>{html.escape(repr(self))}</p><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

    def frame(self) -> pd.DataFrame:
        """Returns a table with a row for each record.

        Its columns are scenario, algorithm, seed, state, the final metrics, times to the targets
        (`seconds_to_0.8`, virtual seconds, None for a miss), the ledger (bytes, busy seconds,
        staleness, ..), the run's id, and all options of the algorithms (`option_local_lr`), None
        where an algorithm has no such option.

        Returns
        -------
        pandas.DataFrame
            The table.

        Raises
        ------
        UsageError
            pandas is not installed.

        Examples
        --------
        >>> import fedbench as fb
        >>> records = fb.run("digits-demo", "fedavg", seeds=2, overrides=["budget.updates=2", "task.model=softmax"])
        >>> records.frame()[["algorithm", "seed", "state"]]
          algorithm  seed     state
        0    fedavg     0  finished
        1    fedavg     1  finished
        """
        extras.require("frame", "records.frame()")
        import pandas as pd

        options = {f"option_{name}": None for record in self for name in record.spec.algorithm.options}
        return pd.DataFrame([{**_row(record), **options, **_options(record)} for record in self])

    def curves(self) -> pd.DataFrame:
        """Returns the curves as a table with a row for each record and evaluation.

        Returns
        -------
        pandas.DataFrame
            Columns scenario, algorithm, seed, and those of the curves: seconds (virtual), version,
            steps, gradient evaluations, bytes, accuracy and losses.

        Raises
        ------
        UsageError
            pandas is not installed.
        """
        extras.require("frame", "records.curves()")
        import pandas as pd

        parts = [pd.DataFrame({"scenario": r.scenario, "algorithm": r.selector, "seed": r.seed, **r.curves}) for r in self]
        return pd.concat(parts, ignore_index=True)

    def standings(self, axis: str = "seconds") -> pd.DataFrame:
        """Returns a table that compares the algorithms of each scenario at the horizon.

        The horizon is the place on the axis that all compared runs of the scenario reach. The rule
        is in `fedbench.analysis.horizon`. Intervals and p-values are adjusted for several
        comparisons.

        Parameters
        ----------
        axis : {"seconds", "updates", "gradient_evaluations", "steps", "bytes"}
            What the runs have spent alike where they are compared.

        Returns
        -------
        pandas.DataFrame
            A row for each scenario and algorithm: its accuracy with its interval, and its
            difference to the best. The column `left_out` has the reason if a row is not compared.

        Raises
        ------
        UsageError
            The axis is unknown, or pandas is not installed.
        """
        extras.require("frame", "records.standings()")
        import pandas as pd

        return pd.DataFrame([_standing(row, one) for one in summarize(self, axis) for row in one.rows])

    def hits(self, metric: str, target: float, axis: str = "seconds") -> pd.DataFrame:
        """Returns a table of what each record had spent when a metric first reached a target.

        Parameters
        ----------
        metric : {"test_accuracy", "test_loss", "train_loss"}
            The metric.
        target : float
            The value that it has to reach: at least for an accuracy, at most for a loss.
        axis : {"seconds", "updates", "gradient_evaluations", "steps", "bytes"}
            What was spent.

        Returns
        -------
        pandas.DataFrame
            A row for each record. `reached` is None for a miss, which was watched until
            `censored_at`. `text` is `12 s`, or `> 40 s` for a miss.

        Raises
        ------
        UsageError
            The metric or the axis is unknown, or pandas is not installed.
        RecordError
            A record lacks the axis.
        """
        extras.require("frame", "records.hits()")
        import pandas as pd

        rows = [(one, first_hit(one, metric, target, axis)) for one in self]
        return pd.DataFrame(
            [{**_names(one), "reached": hit.reached, "censored_at": hit.censored_at, "text": str(hit)} for one, hit in rows]
        )

    def plot(self, metric: str = "test_accuracy", against: str = "seconds", ax: Axes | None = None) -> Axes:
        """Draws the mean over seeds of a metric with its band, for each scenario and algorithm.

        `mean_curve` of `fedbench.analysis.curves` has the rule.

        Parameters
        ----------
        metric : {"test_accuracy", "test_loss", "train_loss"}
            What is drawn.
        against : {"seconds", "updates", "gradient_evaluations", "steps", "bytes"}
            The horizontal axis.
        ax : matplotlib axes, optional
            Where it is drawn. None makes a figure.

        Returns
        -------
        matplotlib axes
            The axes.

        Raises
        ------
        UsageError
            The axis is unknown, or matplotlib is not installed.
        """
        extras.require("plot", "records.plot()")
        import matplotlib.pyplot as plt

        if ax is None:
            _, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
        summaries, axis = summarize(self, against), find(against)
        for one in summaries:
            for row in one.rows:
                curve = mean_curve(row.runs, metric, axis)
                name = row.selector if len(summaries) == 1 else f"{one.full_name}: {row.selector}"
                line = ax.plot(curve.at, curve.middle, label=name)[0]
                ax.fill_between(curve.at, curve.low, curve.high, color=line.get_color(), alpha=0.2, linewidth=0)
        ax.set_xlabel(axis.title)
        ax.set_ylabel(metric.replace("_", " "))
        ax.legend(frameon=False)
        return ax


def _shown(value: object) -> str:
    """Returns what a cell of a notebook's table shows."""
    return "-" if value is None else f"{value:.4g}" if isinstance(value, float) else html.escape(str(value))


def _names(record: Record) -> dict[str, Any]:
    return {"scenario": record.scenario, "algorithm": record.selector, "seed": record.seed}


def _options(record: Record) -> dict[str, Any]:
    return {f"option_{name}": value for name, value in record.spec.algorithm.options.items()}


def _standing(row: Row, summary: ScenarioSummary) -> dict[str, Any]:
    accuracy, compared = row.measures[AT_HORIZON], row.accuracy
    return {
        "scenario": summary.full_name,
        "algorithm": row.selector,
        "axis": summary.horizon.axis.name,
        "horizon": summary.horizon.at,
        "accuracy": accuracy.mean,
        "std": accuracy.std,
        "half_width": accuracy.half_width,
        "seeds": accuracy.n,
        "standing": compared.standing,
        "to_best": compared.difference,
        "to_best_half_width": compared.half_width,
        "p_adjusted": compared.shown().p_adjusted,
        "left_out": row.left_out,
    }


def _named(names: list[Any], kind: str) -> str:
    """Returns up to three names as they are, and their number if they are more, or if they are
    seeds."""
    return ", ".join(map(str, names)) if kind != "seed" and len(names) <= 3 else f"{len(names)} {kind}{'s' * (len(names) > 1)}"


def _goal(hit: Hit) -> str:
    """Returns a target as the name of a column has it: 0.8, or f1_0.8."""
    return f"{'' if hit.metric == ACCURACY else f'{hit.metric}_'}{hit.value:g}"


def _row(record: Record) -> dict[str, Any]:
    hits = {f"seconds_to_{_goal(hit)}": hit.seconds for hit in record.time_to_target}
    ledger = {name: value for name, value in record.ledger.as_dict().items() if not isinstance(value, list)}
    return {
        **_names(record),
        "state": record.state,
        "ended_by": record.outcome.ended_by,
        **{name: value for name, value in record.final.as_dict().items() if name not in ("version", "seconds", "own")},
        **record.final.own,
        LAST_MEAN: last_k_mean(record),
        **hits,
        **ledger,
        "wall_seconds": record.provenance.wall_seconds,
        "server_seconds_per_update": record.provenance.server_seconds_per_update,
        "run_id": record.run_id,
    }


def records_in(place: Path, *, check: bool = True) -> list[Record]:
    """Returns the records that `Records.load` finds. With `check` those of an archive are checked,
    some milliseconds each. Those of a store always are."""
    return archive.read(place, check=check) if archive.is_archive(place) else [read(one) for one in record_folders(place)]
