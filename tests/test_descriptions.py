"""What is said of an algorithm: its name as papers write it."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from fedbench import registry
from fedbench.algorithms.fedbuff import FedBuff
from fedbench.descriptions import describe_algorithm

BUILT_IN = registry.names("algorithm")


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_built_in_algorithm_has_the_name_that_papers_write(name: str) -> None:
    full = describe_algorithm(registry.find("algorithm", name))["full_name"]
    assert full.strip() == full != ""
    assert full[0].isupper() or "-" in full, "a name, and not the code's"


def test_full_names_are_distinct() -> None:
    names = [describe_algorithm(registry.find("algorithm", name))["full_name"] for name in BUILT_IN]
    assert len(set(names)) == len(names)


def test_a_subclass_does_not_pass_for_what_it_extends() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Mine(FedBuff):
        name = "mine"

    assert describe_algorithm(Mine)["full_name"] == ""
