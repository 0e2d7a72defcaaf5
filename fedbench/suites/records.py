"""Records as users handle them: a sequence with a table and a picture."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, overload

from fedbench.results.record import Record

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


class Records(Sequence[Record]):
    """Records of one or several runs, in the order in which they were asked for."""

    def __init__(self, records: Iterable[Record]) -> None:
        self._records = tuple(records)

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

    def __repr__(self) -> str:
        return f"Records({len(self)}: {', '.join(sorted({f'{r.scenario} {r.selector}' for r in self}))})"

    def frame(self) -> pd.DataFrame:
        """One row per record: scenario, algorithm, seed, state, final metrics, time to the first target, ledger."""
        import pandas as pd

        return pd.DataFrame([_row(record) for record in self])

    def curves(self) -> pd.DataFrame:
        """One row per record and grid point: the curves, with scenario, algorithm and seed."""
        import pandas as pd

        parts = [pd.DataFrame({"scenario": r.scenario, "algorithm": r.selector, "seed": r.seed, **r.curves}) for r in self]
        return pd.concat(parts, ignore_index=True)

    def plot(self, metric: str = "test_accuracy", against: str = "seconds", ax: Axes | None = None) -> Axes:
        """Mean over seeds of a curve per algorithm, with a band from the lowest to the highest seed."""
        import matplotlib.pyplot as plt

        if ax is None:
            _, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
        table = self.curves()
        for name, group in table.groupby("algorithm", sort=True):
            over_seeds = group.groupby(against)[metric].agg(["mean", "min", "max"])
            line = ax.plot(over_seeds.index, over_seeds["mean"], label=str(name))[0]
            ax.fill_between(
                over_seeds.index, over_seeds["min"], over_seeds["max"], color=line.get_color(), alpha=0.2, linewidth=0
            )
        ax.set_xlabel("virtual seconds" if against == "seconds" else against)
        ax.set_ylabel(metric.replace("_", " "))
        ax.legend(frameon=False)
        return ax


def _row(record: Record) -> dict[str, Any]:
    hits = {f"seconds_to_{hit['value']:g}": hit["seconds"] for hit in record.meta["time_to_target"]}
    ledger = {name: value for name, value in record.meta["ledger"].items() if not isinstance(value, list)}
    return {
        "scenario": record.scenario,
        "algorithm": record.selector,
        "seed": record.seed,
        "state": record.state,
        **{name: value for name, value in record.meta["final"].items() if name not in ("version", "seconds")},
        **hits,
        **ledger,
        "wall_seconds": record.meta["provenance"].get("wall_seconds"),
        "server_seconds_per_update": record.meta["provenance"].get("server_seconds_per_update"),
        "run_id": record.run_id,
    }
