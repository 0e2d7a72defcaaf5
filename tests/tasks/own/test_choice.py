"""Which columns make an example, and which files have them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fedbench.errors import UsageError
from fedbench.tasks.own.choice import Wanted, features_of

NAMES = ("age", "bmi", "outcome", "who")
WANTED = Wanted("outcome", "who")


def test_all_others_in_the_order_of_the_file_or_those_that_are_named() -> None:
    assert features_of(NAMES, WANTED, "f") == ("age", "bmi")
    assert features_of(NAMES, Wanted("outcome"), "f") == ("age", "bmi", "who")
    assert features_of(NAMES, replace(WANTED, features=("bmi",)), "f") == ("bmi",)


def test_a_test_file_has_the_same_names_in_any_order() -> None:
    exact = replace(WANTED, exact=("age", "bmi"))
    assert features_of(("who", "bmi", "outcome", "age"), exact, "f") == ("age", "bmi")
    assert features_of(("bmi", "outcome", "age"), exact, "f", has_owners=False) == ("age", "bmi")
    named = replace(exact, features=("age", "bmi"))
    assert features_of(("bmi", "outcome", "age", "note"), named, "f", has_owners=False) == ("age", "bmi")


@pytest.mark.parametrize(
    ("names", "wanted", "message"),
    [
        (
            ("age", "outcome", "who"),
            replace(WANTED, exact=("age", "bmi")),
            "features of the training file, age, bmi; it lacks bmi;",
        ),
        (("age", "x\n", "outcome", "who"), replace(WANTED, exact=("age",)), r"it has x\\n beside them"),
        (("bim", "age", "outcome", "who"), replace(WANTED, exact=("age", "bmi")), "it lacks bmi and it has bim beside them"),
        (NAMES, replace(WANTED, features=("age", "age")), "got age, a column twice"),
        (NAMES, replace(WANTED, features=("age", "outcome")), "got outcome, the column of labels"),
        (NAMES, replace(WANTED, features=("who",)), "got who, the column of owners"),
        (NAMES, replace(WANTED, features=("bmj",)), r"has no column 'bmj'; did you mean 'bmi'\?"),
        (NAMES, Wanted("zzzzzz"), "has no column 'zzzzzz'; its columns are age, bmi, outcome, who"),
        ((*NAMES, "age"), WANTED, "has 2 columns 'age'; rename one of them"),
        ((*NAMES, "who"), WANTED, "has 2 columns 'who'"),
        (("outcome", "who"), WANTED, "has no column of features beside outcome, who"),
    ],
)
def test_one_line_says_what_is_wrong(names: tuple[str, ...], wanted: Wanted, message: str) -> None:
    with pytest.raises(UsageError, match=message) as error:
        features_of(names, wanted, "task file f")
    assert "\n" not in str(error.value)


def test_ten_thousand_names_are_not_all_printed() -> None:
    names = [f"{'n' * 300}{i}\n" for i in range(10_000)]
    for wanted in (Wanted("y"), Wanted(names[0], exact=("age",))):
        with pytest.raises(UsageError) as error:
            features_of(names, wanted, "task file f")
        assert len(str(error.value)) < 1500
        assert "\n" not in str(error.value)
