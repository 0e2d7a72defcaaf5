"""The names under which a site shows algorithms."""

from __future__ import annotations

from collections.abc import Callable

from fedbench.leaderboard.document import of_records
from fedbench.leaderboard.places import Places
from fedbench.results.record import Record
from tests.conftest import alter


def test_a_built_in_algorithm_has_its_full_name_whatever_its_options(record: Callable[..., Record]) -> None:
    own = record("fedprox")
    alter(own, "spec.algorithm.origin", {"kind": "object", "class": "Mine"})
    places = Places([of_records([record("fedbuff[buffer_size=5]"), record("scaffold"), own, record("unknown_here")], "title")])
    labels = ("fedbuff[buffer_size=5]", "scaffold", "fedprox", "unknown_here", "not there")
    assert [places.full_name(label) for label in labels] == ["FedBuff", "SCAFFOLD", "", "", ""]
    assert [places.title(label) for label in labels[:3]] == ["FedBuff fedbuff[buffer_size=5]", "SCAFFOLD", "fedprox"]
