"""What a model refuses is said on one line."""

from __future__ import annotations

import pytest
from pydantic import BaseModel, ConfigDict, ValidationError

from fedbench.documents.site import Change
from fedbench.errors import RecordError, UsageError
from fedbench.refusals import first_problem, refused_in


class Pair(BaseModel):
    model_config = ConfigDict(strict=True, title="pair")

    first: int
    second: int


def test_what_a_maker_of_documents_may_not_make_is_one_line() -> None:
    @refused_in("changes: too much")
    def made() -> Change:
        return Change(date="2026-01-01", text="a\nb" * 10_000)

    with pytest.raises(UsageError, match=r"^changes: too much: text: String should have at most 20000 characters, got 'a\\nb"):
        made()


@pytest.mark.parametrize(
    ("given", "told", "line"),
    [
        ({"first": "1", "second": 2}, (), "first: Input should be a valid integer, got '1'"),
        ({"first": "1", "second": 2}, ("int_type",), "first: Input should be a valid integer"),
        ({"first": 1}, (), "second: Field required"),
        (3, (), "pair: Input should be a valid dictionary or instance of Pair, got 3"),
    ],
)
def test_the_first_problem_has_its_field_and_its_value(given: object, told: tuple[str, ...], line: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Pair.model_validate(given)
    assert first_problem(caught.value, *told) == line
    with pytest.raises(RecordError, match=r"^here: "), refused_in("here", RecordError):
        Pair.model_validate(given)
