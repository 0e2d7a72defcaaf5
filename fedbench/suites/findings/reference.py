"""The frozen reference times of a suite, to which performance profiles are relative."""

from __future__ import annotations

from pathlib import Path

from fedbench.analysis import profiles
from fedbench.analysis.board import Board, times
from fedbench.analysis.profiles import Reference, freeze
from fedbench.errors import UsageError
from fedbench.results.record import Record
from fedbench.suites.findings.results import Results
from fedbench.suites.race.judging import digest
from fedbench.suites.tuned import TUNED

REFERENCES = Path(__file__).parents[1] / "references"


def reference_file(suite: str) -> Path:
    """Returns the file in which the package keeps the reference times of a suite, whether or not it
    exists."""
    return REFERENCES / f"{suite}.json"


def reference_of(results: Results) -> Reference:
    """Returns the reference times that are to be frozen: those of the best tuned rows, with the
    resolution of every point. Raises UsageError without tuned rows, and for a race."""
    if results.race is not None:
        raise UsageError(f"reference of suite {results.suite.name}: a race has none, its rows have different numbers of seeds")
    of_points = results.tuned
    if not of_points:
        raise UsageError(f"reference of suite {results.suite.name}: it has no complete row with tuned options")
    runs: dict[str, list[Record]] = {}
    for point, rows in results.seats.items():
        for row, of_row in rows.items():
            label = results.labels[row.removesuffix(TUNED)]
            standing = of_points[point].of(label) if point in of_points and row.endswith(TUNED) else None
            if standing is not None and standing.ranking is not None:
                runs.setdefault(label, []).extend(of_row)
    return freeze(
        results.suite.name,
        {label: times(of_points, label) for label in sorted(runs)},
        {label: digest(of_label) for label, of_label in runs.items()},
        resolution={point: shown for point, one in of_points.items() if (shown := _shown(one)) is not None},
        hashes={point: results.hashes[point] for point in of_points},
    )


def _shown(board: Board) -> float | None:
    """Returns the ratio that every group of a board shows, None if there is none."""
    found = [one for group in board.groups if (one := board.ranking(group).resolution) is not None]
    return round(max(found), 3) if found else None


def reference_for(results: Results, references: Path = REFERENCES) -> Reference | None:
    """Returns the reference times of a suite from a folder, None for a suite without tuned rows,
    and for a race, whose points have different numbers of seeds.

    Raises UsageError if the file is missing, or if it is of other scenarios than those of the
    suite.
    """
    if not results.tuned or results.race is not None:
        return None
    file = references / f"{results.suite.name}.json"
    if not file.exists():
        raise UsageError(
            f"reference {file}: there is no such file; `fedbench suite freeze {results.suite.typed} -o {file}` makes it from tuned rows"
        )
    found = profiles.read(file)
    check_reference(found, results)
    return found


def check_reference(reference: Reference, results: Results) -> None:
    """Raises UsageError if reference times are of other scenarios than those of the suite."""
    for point, found in reference.hashes.items():
        expected = results.hashes.get(point, "no such point")
        if found != expected:
            raise UsageError(
                f"reference {reference.name}: point {point} is of scenario {found}, expected {expected}; freeze it again"
            )
