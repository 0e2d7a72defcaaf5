"""The data of pictures: frozen dataclasses of numbers and texts, which `dataclasses.asdict` turns
into JSON values.

A picture on a page and a picture in a paper are drawn from the same data, so they cannot say
different things.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fedbench.results.record import Record

Rows = Mapping[str, Sequence[Record]]
"""The runs of one scenario by the name of their row, one run a seed."""


def is_reference(runs: Sequence[Record]) -> bool:
    """Returns whether these are the runs of a reference, which is shown and not ranked."""
    return runs[0].spec.algorithm.reference
