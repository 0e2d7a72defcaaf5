"""Makes the learning curves of the runs behind a table, for each figure in which the paper shows
its own."""

from __future__ import annotations

from collections.abc import Iterator

from fedbench.analysis.pictures.learning_curves import learning_curves
from fedbench.documents.paper import Figure
from fedbench.leaderboard.places import slug
from fedbench.papers import experiment
from fedbench.papers.cells import chosen
from fedbench.papers.reading import Find, complete


def curves(paper: str, find: Find) -> Iterator[Figure]:
    """Yields the figures of a paper for which at least one algorithm has all of its runs."""
    for figure in experiment.experiments(paper).figures:
        rows, missing = {}, []
        for cell in experiment.ways(chosen(f"{paper}:{figure.table}")):
            if cell.stand_in != figure.stand_in or not cell.matches(figure.where):
                continue
            if found := complete(cell, find):
                rows[cell.algorithm] = found
            else:
                missing.append(cell.algorithm)
        if rows:
            left_out = f" Left out, since not all of its runs are there: {', '.join(missing)}." if missing else ""
            end = "A line ends where the first of its seeds ends: when its target counts as reached, or with a miss."
            on = f" on {figure.stand_in}" if figure.stand_in else ""
            about = f"Ours for {figure.name}{on}: test accuracy along virtual seconds. {end}{left_out}"
            yield Figure(name=figure.name, about=about, file=f"{paper}-{slug(figure.name)}.svg", data=learning_curves(rows))
