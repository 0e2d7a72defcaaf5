"""Options of algorithms: every built-in one has a sentence, a plugin's need not."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

import pytest

from fedbench import registry
from fedbench.descriptions import describe_algorithm
from fedbench.errors import UsageError
from fedbench.options import describe, in_words, search, sentence
from fedbench.protocols import Algorithm, Buffered, Count, Linear, Log, Positive, option
from fedbench.types import Dispatch, Info, Rounds


@dataclass(frozen=True, kw_only=True)
class Mine(Buffered):
    """Mine.

    Source: me.
    """

    name = "mine"
    source = "me"

    buffer_size: Count = 3
    plain: Positive = 2.0
    said: Positive = option(0.5, "What it is.")


@pytest.mark.parametrize("name", sorted(registry.ALGORITHMS))
def test_every_built_in_option_has_one_sentence(name: str) -> None:
    cls = registry.find("algorithm", name)
    for field in dataclasses.fields(cls):
        about = sentence(cls, field.name)
        assert about.endswith("."), f"{name}.{field.name}: {about!r}"
        assert about[0].isupper()
        assert ". " not in about.replace("Alg. ", "").replace("eq. ", ""), f"{name}.{field.name}: more than one sentence"


def test_a_default_that_changes_keeps_its_sentence() -> None:
    assert sentence(Mine, "buffer_size") == sentence(Buffered, "buffer_size") != ""
    assert Mine().buffer_size == 3


def test_an_option_without_a_sentence_works() -> None:
    assert (sentence(Mine, "plain"), sentence(Mine, "said")) == ("", "What it is.")
    rows = {row["name"]: row for row in describe_algorithm(Mine)["options"]}
    assert (rows["plain"]["about"], rows["plain"]["default"]) == ("", 2.0)
    assert (rows["said"]["about"], rows["said"]["default"]) == ("What it is.", 0.5)


def test_options_are_checked_as_plain_fields_are() -> None:
    assert (Mine(said=1).said, Mine.make({"said": 3}).options()["said"]) == (1.0, 3.0)
    with pytest.raises(UsageError, match="mine: said must be a number > 0, got 0"):
        Mine(said=0)


@dataclass(frozen=True, kw_only=True)
class Listed(Mine):
    """Mine, with a list.

    Source: me.
    """

    rates: tuple[Positive, ...] = ()


def test_the_items_of_a_list_are_checked() -> None:
    made = Listed.make({"rates": [1, 0.5]}).rates
    assert (made, [type(rate) for rate in made]) == ((1.0, 0.5), [float, float])
    for wrong in ([1, 0], [1, "a"], [True], [[1]]):
        with pytest.raises(UsageError, match="mine: rates must be a list of a number > 0, got "):
            Listed.make({"rates": wrong})


def test_allowed_values_in_words() -> None:
    assert describe(tuple[tuple[int, float], ...]) == "a list of [an integer, a number]"
    assert describe(Count | None) == "an integer >= 1 or none"


def test_without_fields_of_its_own() -> None:
    class Bare(Algorithm):
        name = "bare"
        source = "nobody"

        def dispatch(self, info: Info) -> Dispatch:
            return Rounds(select="all")

    assert sentence(Bare, "local_lr") == "The clients' learning rate."


@dataclass(frozen=True, kw_only=True)
class Tuned(Mine):
    """Mine, of which an option is tuned."""

    name = "tuned"
    said: Positive = option(0.5, "What it is.", search=Log(0.01, 2))


@dataclass(frozen=True, kw_only=True)
class Later(Tuned):
    """Tuned, with another default."""

    name = "later"
    said: Positive = 0.7


def test_values_that_are_tried_are_inherited_with_the_sentence() -> None:
    assert search(Tuned, "said") == search(Later, "said") == Log(0.01, 2)
    assert search(Mine, "said") is None
    assert search(Later, "plain") is None
    assert (in_words(Log(0.01, 2)), in_words(Linear(0, 1))) == ("0.01 to 2 (log)", "0 to 1 (linear)")
    assert Log(0.01, 2) != Linear(0.01, 2)


@pytest.mark.parametrize(
    ("kind", "ends", "message"),
    [
        (Log, (1, 0.1), "Log: high must be > low, got low 1, high 0.1"),
        (Log, (1, 1), "Log: high must be > low, got low 1, high 1"),
        (Log, (0, 1), "Log: low must be > 0 with scale: log, got 0"),
        (Linear, (2, 1), "Linear: high must be > low, got low 2, high 1"),
        (Linear, (0, math.inf), "Linear: high must be a number from -1e[+]09 to 1e[+]09, got inf"),
        (Linear, (math.nan, 1), "Linear: low must be a number from -1e[+]09 to 1e[+]09, got nan"),
        (Log, ("a", 1), "Log: low must be a number from -1e[+]09 to 1e[+]09, got 'a'"),
        (Log, (True, 2), "Log: low must be a number from -1e[+]09 to 1e[+]09, got True"),
    ],
)
def test_ends_that_make_no_interval(kind: type[Log], ends: tuple[Any, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        kind(*ends)
