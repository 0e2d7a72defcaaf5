"""What pictures show, as plain data: frozen dataclasses of numbers and texts, which `dataclasses.asdict` turns into JSON.

A picture on a page and a picture in a paper are drawn from the same data, so they cannot say different things.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fedbench.results.record import Record

Rows = Mapping[str, Sequence[Record]]
"""The runs of one scenario by the name of their row, one run a seed."""
