"""What pictures show, as plain data: frozen dataclasses of numbers and texts, which
`dataclasses.asdict` turns into JSON.

A picture on a page and a picture in a paper are drawn from the same data, so they cannot say
different things.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fedbench.results.record import Record

Rows = Mapping[str, Sequence[Record]]
"""The runs of one scenario by the name of their row, one run a seed."""


def is_reference(runs: Sequence[Record]) -> bool:
    """Are these the runs of one worker with everybody's data, which is shown and not ranked?"""
    return bool(runs[0].meta["spec"]["algorithm"].get("reference"))
