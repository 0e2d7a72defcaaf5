"""Hostile records: sections that are none, and numbers that do not fit each other."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from fedbench.results.record import SCHEMA
from tests.changes import GONE
from tests.submissions.kinds import KINDS, Kind, Make
from tests.submissions.tampering import cell, forged


def forging(changes: dict[str, Any], *, identity: bool = False) -> Make:
    return lambda folder: forged(folder, changes, identity=identity)


def _in_rest(change: Callable[[str], str]) -> Make:
    return lambda folder: cell(folder, "rest", change)


def _before(what: str) -> Callable[[str], str]:
    return lambda text: "{" + what + ", " + text[1:]


SECTIONS = {
    "sections that are no JSON": (_in_rest(lambda _: "{'a': 1}"), "column rest: not valid JSON"),
    "sections that are a list": (_in_rest(lambda _: "[]"), "column rest: expected a mapping of keys, got list"),
    "deep JSON": (_in_rest(_before('"x": ' + "[" * 100_000 + "]" * 100_000)), "column rest: expected at most 40 levels"),
    "JSON that is a little too deep": (
        _in_rest(_before('"x": ' + "[" * 60 + "]" * 60)),
        "column rest: expected at most 40 levels",
    ),
    "NaN in JSON": (_in_rest(_before('"x": NaN')), "column rest: expected finite numbers, got NaN"),
    "infinity in JSON": (_in_rest(_before('"x": -Infinity')), "column rest: expected finite numbers, got -Infinity"),
    "a float beyond all floats": (_in_rest(_before('"x": 1e999')), "column rest: expected finite numbers, got 1e999"),
    "an integer of 400 digits": (_in_rest(_before(f'"x": 1{"0" * 400}')), "column rest: expected at most 60 digits, got 401"),
    "an integer of a million digits": (_in_rest(_before(f'"x": {"9" * 1_000_000}')), "column rest: expected at most 60 digits"),
    "a key of JSON twice": (_in_rest(_before('"run_id": "x"')), "column rest: key 'run_id' is given twice"),
    "half a character in JSON": (_in_rest(_before('"x": "\\ud800"')), "column rest: expected whole characters"),
    "a section that is missing": (_in_rest(lambda t: json.dumps({"schema": SCHEMA})), "run_id: Field required"),
    "a section too many": (_in_rest(_before('"verified": true')), "verified: Extra inputs are not permitted, got True"),
    "another scenario for readers": (
        lambda f: cell(f, "scenario", lambda _: "<script>"),
        "column scenario: .* it says '<script>'",
    ),
    "another selector for readers": (lambda f: cell(f, "selector", lambda _: "fedbuff"), "column selector: .* it says 'fedbuff'"),
    "another seed for readers": (lambda f: cell(f, "seed", lambda _: 2**62), "column seed: .* it says"),
    "a specification that is none": (
        lambda f: cell(f, "specification", lambda _: '{"seed": 0}'),
        "spec.scenario: Field required",
    ),
    "a commit with local changes": (
        forging({"provenance.dirty": True}),
        "provenance.dirty: expected a commit without .*, got True",
    ),
    "no commit": (forging({"provenance.commit": None}), "provenance.commit: expected the commit"),
    "measured on other examples": (
        forging({"final.evaluated_on": "validation"}),
        "final.evaluated_on: expected 'test', got 'validation'",
    ),
    "no digest over everything": (forging({"digests.result": GONE}), "digests: expected .*result"),
    "a digest that is none": (forging({"digests.model": "0" * 31}), "digests.model"),
    "an accuracy above one": (forging({"final.test_accuracy": 1.5}), "final.test_accuracy: .*less than or equal to 1, got 1.5"),
    "a count below zero": (forging({"ledger.bytes_up": -1}), "ledger.bytes_up: .*got -1"),
    "a count beyond 64 bits": (forging({"ledger.bytes_up": 2**70}), "ledger.bytes_up: .*got 1180591620717411303424"),
    "an edited accuracy": (forging({"final.test_accuracy": 0.999}), "final.test_accuracy: the rest of the record gives"),
    "a scenario hash that is not the scenario's": (
        forging({"spec.scenario_hash": "0" * 16}, identity=True),
        "scenario_hash: the rest",
    ),
    "a scenario that is none": (
        forging({"spec.scenario": {"name": "digits-demo"}}),
        "spec.scenario: it is no scenario: ",
    ),
    "an option of torch's that is none": (
        forging({"spec.algorithm.options": {"bogus": 1}, "provenance.trainer": "torch"}, identity=True),
        "its options are neither the default ones of suite smoke nor tuned ones",
    ),
    "a file that torch would read": (
        forging({"spec.scenario.task": {"name": "own", "file": "/dev/zero"}, "provenance.trainer": "torch"}, identity=True),
        "scenario",
    ),
    "a seed outside the suite": (forging({"spec.seed": 7}, identity=True), "expected a seed of suite smoke, 0 to 2, got 7"),
    "a seed without end": (
        forging({"spec.seed": 2**62}, identity=True),
        "expected a seed of suite smoke, 0 to 2, got 4611686018427387904",
    ),
    "a name of an algorithm that is a path": (forging({"spec.algorithm.name": "../x"}, identity=True), "spec.algorithm.name"),
}
for _name, (_make, _words) in SECTIONS.items():
    KINDS[_name] = Kind(_make, _words)
