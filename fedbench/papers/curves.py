"""Makes the learning curves of the runs behind a table, for each figure in which the paper shows
its own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from fedbench.analysis.pictures.learning_curves import LearningCurves, learning_curves
from fedbench.documents.paper import Figure
from fedbench.papers import experiment
from fedbench.papers.cells import chosen
from fedbench.papers.reading import Find, read


@dataclass(frozen=True)
class Curves:
    """Our counterpart of a paper's figure: test accuracy along virtual seconds.

    `name` is what the paper calls its figure. `missing` names the algorithms whose runs are not all
    there.
    """

    paper: str
    name: str
    data: LearningCurves
    missing: tuple[str, ...]

    @property
    def file(self) -> str:
        """The name of the picture's file, which lies beside the page."""
        return f"{self.paper}-{re.sub(r'[^a-z0-9]+', '-', self.name.lower()).strip('-')}.svg"

    @property
    def about(self) -> str:
        """The caption of the picture."""
        left_out = f" Left out, since not all of its runs are there: {', '.join(self.missing)}." if self.missing else ""
        end = "A line ends where the first of its seeds ends, which is where its target is reached."
        return f"Ours for {self.name}: test accuracy along virtual seconds. {end}{left_out}"

    @property
    def figure(self) -> Figure:
        return Figure(name=self.name, about=self.about, file=self.file, data=self.data)


def curves(paper: str, find: Find) -> Iterator[Curves]:
    """Yields the figures of a paper for which at least one algorithm has all of its runs."""
    for figure in experiment.experiments(paper).figures:
        rows, missing = {}, []
        for cell in chosen(f"{paper}:{figure.table}"):
            if not cell.matches(figure.where):
                continue
            found = list(read(cell, find))
            if found and all(one.reading is not None for one in found):
                rows[cell.algorithm] = [record for one in found for record in one.used]
            else:
                missing.append(cell.algorithm)
        if rows:
            yield Curves(paper, figure.name, learning_curves(rows), tuple(missing))
