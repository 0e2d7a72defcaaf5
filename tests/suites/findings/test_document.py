"""The document of a suite: what the boards hold, as JSON."""

from __future__ import annotations

import json

from fedbench.suites.findings.document import document
from fedbench.suites.findings.results import reference_of
from tests.suites.findings.made_up import results, suite

TUNED = {
    "calm": {"fedavg": 8, "fedbuff": 4, "asysg": 2, "centralised": 1},
    "rough": {"fedavg": 12, "fedbuff": None},
}


def test_it_is_json_and_has_what_the_boards_have() -> None:
    one = results(TUNED, {"calm": {"fedavg": 16}}, suite(algorithms=("fedavg", "fedbuff", "asysg", "centralised")))
    found = document(one, reference_of(one))
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert [one["name"] for one in found["points"]] == ["calm", "rough"]
    words = (
        "First: `asysg` (2.5 s). Like for like, first: `fedbuff` (4.5 s). Like for like, the time of `fedavg` over the earliest"
    )
    assert found["points"][0]["sentence"].startswith(words)
    assert (
        "Like for like, the earliest synchronous row's over the earliest asynchronous one's is 1.89 ["
        in found["points"][0]["sentence"]
    )
    assert found["points"][1]["sentence"].startswith("First: `fedavg` (12.5 s). Like for like, first: `fedavg` (12.5 s).")
    rows = {row["label"]: row for row in found["boards"]["tuned"]["calm"]}
    assert list(rows) == ["centralised", "asysg", "fedbuff", "fedavg"]
    assert [rows[name]["first"] for name in rows] == [False, True, False, False]
    assert [rows[name]["first_alike"] for name in rows] == [False, False, True, False]
    assert rows["fedbuff"]["seconds"]["1"] == 4.5
    assert rows["fedbuff"]["targets"] == [{"target": 0.8, "hits": 10, "median": 4.4, "bytes": 1000.0}]
    missed = found["boards"]["tuned"]["rough"][1]
    assert (missed["label"], missed["solved"], missed["targets"][0]["median"]) == ("fedbuff", 0.0, None)
    assert [row["label"] for row in found["boards"]["published"]["calm"]] == ["fedavg"]


def test_what_algorithms_are() -> None:
    found = {one["label"]: one for one in document(results(TUNED, {}), None)["algorithms"]}
    assert [found[name]["family"] for name in ("fedavg", "fedbuff", "centralised")] == [
        "synchronous",
        "asynchronous",
        "reference",
    ]
    assert found["asysg"]["advantages"] == ["more than 10 clients at work at a time"]
    assert found["fedecho"]["advantages"] == ["unlabelled public data"]
    assert found["centralised"]["advantages"] == []


def test_profiles_are_against_the_frozen_reference() -> None:
    one = results(TUNED, {"calm": {"fedavg": 16}})
    found = document(one, reference_of(one))["profiles"]
    at = found["factors"].index(4)
    assert found["shares"]["tuned"]["fedbuff"][at] == 0.5, "it arrives at one of two points"
    assert found["shares"]["tuned"]["fedavg"][at] == 1.0
    assert found["shares"]["tuned"]["fedavg"][found["factors"].index(1)] == 0.25, (
        "half of the seeds at one point are no later than the median"
    )
    assert list(found["shares"]["published"]) == ["fedavg"]
    assert document(one, None)["profiles"] == {"factors": [], "shares": {"tuned": {}, "published": {}}}
