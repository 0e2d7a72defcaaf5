"""What plain JSON lets through and a record must not have."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbench.strict_json import DEEPEST, RefusedJsonError, load

REFUSED = {
    '{"a": 1, "b": {"c": 1, "c": 2}}': "key 'c' is given twice",
    '{"a": NaN}': "expected finite numbers, got NaN",
    "[-Infinity]": "expected finite numbers, got -Infinity",
    "[1e999]": "expected finite numbers, got 1e999",
    "1" * 61: "expected at most 60 digits, got 61",
    "9" * 10_000: "expected at most 60 digits, got 10,000",
    "[" * 100_000: "levels, got many more",
    "[" * (DEEPEST + 1) + "]" * (DEEPEST + 1): f"expected at most {DEEPEST} levels, got more",
    '"\\ud800"': "whole characters",
    '{"\\udc00": 1}': "whole characters",
    "{": "not valid JSON",
    "": "not valid JSON",
    "1 2": "not valid JSON",
}


@pytest.mark.parametrize("text", REFUSED, ids=lambda text: text[:20])
def test_refused(text: str) -> None:
    with pytest.raises(RefusedJsonError, match=REFUSED[text]) as error:
        load(text)
    assert len(str(error.value)) < 200


def test_a_pair_of_surrogates_is_a_character() -> None:
    assert load('"\\ud83d\\ude00"') == "\U0001f600"


SCALARS = st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(allow_nan=False, allow_infinity=False) | st.text()


@given(st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20))
def test_all_else_is_read_as_it_was_written(value: object) -> None:
    assert load(json.dumps(value)) == value
