"""The picture is drawn for every kind of line."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from fedbench.proof.theory import picture
from fedbench.proof.theory.rows import Claim, bound, bound_by, exact, slope, value


def test_the_picture(tmp_path: Path) -> None:
    claims = [Claim(name, "Somebody 2020", "It is so.", lambda: iter(())) for name in "abc"]
    rows = [
        (claims[0], bound("n = 4: below", 1.0, {"transient": 0.5, "noise": 1.5})),
        (claims[0], exact("n = 4: level", [1.0, 1.01], 1.0)),
        (claims[1], slope("against n, exponent", [2.0, 4.0], np.array([[1.0, 0.7], [1.0, 0.71]]), -0.5, 0.1)),
        (claims[1], slope("change, exponent", [2.0, 4.0], np.array([-1.0, -0.5]), -1.0, 0.1)),
        (claims[1], bound_by("smaller", 1.0, 2.0)),
        (claims[2], value("fails", 3.0, 1.0, 0.1)),
        (claims[2], bound_by("smaller", 1.0, 2.0)),
    ]
    picture.draw(rows, tmp_path / "new" / "theory.png")
    assert (tmp_path / "new" / "theory.png").read_bytes().startswith(b"\x89PNG")
