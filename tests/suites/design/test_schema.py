"""What a design may be, and what is said of one that may not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fedbench.errors import UsageError
from fedbench.scenarios import problems
from fedbench.suites.design.schema import LIBRARY, load

from .conftest import levels, made

FIGURES: dict[str, Any] = {
    "points": 2, "effects": 1, "d_efficiency": 1, "condition": 1, "variance_inflation": 1, "inflated": "", "aliasing": 0,
    "aliased": ["", ""], "left_out": {},
}  # fmt: skip


def drawn(*design: list[Any], **more: Any) -> dict[str, Any]:
    return {"seed": 1, "starts": 1, "figures": FIGURES, "design": list(design), **more}


def test_every_design_of_the_library_is_valid() -> None:
    names = problems.names(LIBRARY)
    assert "map" in names
    for name in names:
        assert load(name).name == name


@pytest.mark.parametrize(
    ("factors", "more", "message"),
    [
        ({"a": levels(1)}, {}, "factors.a.levels must be a list of at least 2"),
        ({"a": levels(1, 1)}, {}, r"factors.a: levels: every level once, got \[1.0, 1.0\]"),
        ({"a": levels(2, 1)}, {}, "factors.a: levels: numbers ascend"),
        ({"a": {**levels(0, 1), "scale": "log"}}, {}, "are > 0 with scale: log, got"),
        ({"a": levels("x", 1)}, {}, "numbers alone, or texts alone"),
        ({"all": levels(1, 2)}, {}, "all have other meanings"),
        ({"a": levels(1, 2)}, {"interactions": [["a", "b"]]}, "interactions.0: unknown factor 'b'"),
        ({"a": levels(1, 2)}, {"interactions": [["a", "a"]]}, "interactions.0: expected two factors, or one and all"),
        ({"a": levels(1, 2)}, {"impossible": [{"a": [3]}]}, r"impossible.0.a: expected some of \[1.0, 2.0\], got 3.0"),
        ({"a": levels(1, 2)}, {"impossible": [{"aa": [1]}]}, "impossible.0: unknown factor 'aa'"),
        ({"a": levels(1, 2)}, {"points": {"other_clients": 1}}, "points.other_clients: 1 points need the factor other_clients"),
        (
            {"a": {"levels": [{"level": 1}, {"level": 2, "set": {"clients": 3}}]},
             "b": {"levels": [{"level": 1, "set": {"clients": 4}}, {"level": 2}]}},
            {}, "factors: a and b both set clients",
        ),
        ({"a": levels(1, 2)}, {"drawn": drawn([1], [1])}, "drawn: every point of design and held_out once"),
        ({"a": levels(1, 2)}, {"drawn": drawn([1])}, "drawn.design: expected 2 points, got 1"),
        ({"a": levels(1, 2)}, {"drawn": drawn([1], [3])}, r"drawn.design.1: expected a level each of a, got \[3.0\]"),
        ({"a": levels(1, 2)}, {"drawn": drawn([1], [1, 2])}, r"drawn.design.1: expected a level each of a"),
        ({"a": levels(1, 2)}, {"drawn": drawn([1], [2]), "impossible": [{"a": [2]}]}, "drawn.design.1: expected a possible point"),
        (
            {"a": levels(1, 2, 3)}, {"points": {"held_out": 1}, "drawn": drawn([1], [2], held_out=[[2]])},
            "drawn: every point of design and held_out once",
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(factors: dict[str, Any], more: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        made(factors, 2, **more)


def test_all_stands_for_every_other_factor_and_a_pair_counts_once() -> None:
    factors = {"a": levels(1, 2), "b": levels(1, 2), "c": levels("x", "y")}
    found = made(factors, 2, interactions=[["b", "all"], ["c", "b"], ["c", "all"]])
    assert found.pairs() == [("b", "a"), ("b", "c"), ("c", "a")]


def test_possible_points_may_depend_on_the_number_of_clients() -> None:
    found = made(
        {"a": levels(1, 2), "b": levels(1, 2, 3)}, 2, other_clients=levels(30, 1000),
        impossible=[{"a": [1], "b": [2, 3]}, {"clients": [30], "b": [3]}],
    )  # fmt: skip
    assert found.possible().tolist() == [[True, False, False], [True, True, True]]
    assert found.possible({"clients": 30.0}).tolist() == [[True, False, False], [True, True, False]]
    assert found.possible({"clients": 1000.0}).tolist() == found.possible().tolist()


def test_a_file_is_looked_for_beside_the_suite(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(
        "{schema: 1, name: mine, factors: {a: {levels: [{level: 1}, {level: 2}]}}, points: {design: 2}}"
    )
    assert load("mine.yaml", [tmp_path]).name == "mine"
    with pytest.raises(UsageError, match=r"design other.yaml: cannot be read: No such file"):
        load("other.yaml", [tmp_path])
    with pytest.raises(UsageError, match="unknown design 'maps'; did you mean 'map'"):
        load("maps")
