"""Suites, tuned options, reference times and search spaces that somebody else wrote."""

from __future__ import annotations

import json
from typing import Any

import yaml

from tests.hostile.case import ROOT, Case, Folder, Hole, Link, Made, Pipe

LIBRARY = ROOT / "fedbench" / "suites"
SMOKE: dict[str, Any] = yaml.safe_load((LIBRARY / "library" / "smoke.yaml").read_text())
BEYOND: dict[str, Any] = yaml.safe_load((ROOT / "results" / "tuned" / "beyond.yaml").read_text())
TIMES: dict[str, Any] = json.loads((LIBRARY / "references" / "beyond.json").read_text())
POINT = "shakespeare-roles"
CHOICE: dict[str, Any] = BEYOND["points"][POINT]["fedbuff"]


def _suite(name: str, made: Made, words: str) -> Case:
    return Case(f"suite: {name}", ("suite", "plan", "./s.yaml", "--untimed"), words, {"s.yaml": made})


def _changed(name: str, words: str, **keys: Any) -> Case:
    return _suite(name, json.dumps({**SMOKE, **keys}), words)


def _tuned(name: str, made: Made, words: str) -> Case:
    return Case(f"tuned: {name}", ("suite", "run", "beyond", "--tuned", "t.yaml"), words, {"t.yaml": made})


def _choice(name: str, words: str, **keys: Any) -> Case:
    points = {POINT: {"fedbuff": {**CHOICE, **keys}}}
    return _tuned(name, json.dumps({**BEYOND, "points": points}).replace("NaN", ".nan").replace("Infinity", ".inf"), words)


def _score(name: str, words: str, **keys: Any) -> Case:
    return _choice(name, words, score={**CHOICE["score"], **keys})


def _times(name: str, made: Made, words: str) -> Case:
    arguments = (
        "suite",
        "freeze",
        "beyond",
        "-o",
        "r.json",
        "--archives",
        f"{ROOT}/results/suites",
        "--tuned-in",
        f"{ROOT}/results/tuned",
    )
    return Case(f"reference: {name}", arguments, words, {"r.json": made})


def _problem(name: str, words: str, **keys: Any) -> Case:
    first, *others = TIMES["problems"]
    return _times(name, json.dumps({**TIMES, "problems": [{**first, **keys}, *others]}), words)


CASES = [
    _suite("a pipe", Pipe(), "it is no plain file"),
    _suite("a device without an end", Link("/dev/zero"), "it is no plain file"),
    _suite("a folder", Folder(), "it is no plain file"),
    _suite("a hole of a terabyte", Hole(1 << 40), "expected at most"),
    _suite("100,000 levels", "[" * 100_000, "expected at most 30 levels"),
    _suite(
        "10,000 unknown keys", lambda: json.dumps({**SMOKE, **{f"k{i}": 1 for i in range(10_000)}}), "and 9,995 more problems"
    ),
    _suite("a key of many lines", json.dumps({**SMOKE, "a\nb\x1b[2J" * 50: 1}), r"unknown key a\\nb"),
    _suite("a name of many lines", json.dumps({**SMOKE, "name": "a\nb" * 500}), "name must be text that matches"),
    _changed(
        "a typo in an option",
        r"options.concurrrency: none of its algorithms has this option; did you mean 'concurrency'",
        options={"concurrrency": 5},
    ),
    _changed("an option of many lines", r"options.a\\nb", options={"a\nb" * 40: 5}),
    _changed("10,000 unknown options", "none of its algorithms has this option", options={f"k{i}": 1 for i in range(10_000)}),
    _changed("an option that is no number", "concurrency must be an integer", options={"concurrency": "x" * 10_000}),
    _changed("an option that is a deep list", "concurrency must be an integer", options={"concurrency": [[[[1] * 1000] * 20]]}),
    _changed("options that are a list", "options must be", options=["concurrency"]),
    _changed("an option that is null", "clipped|must be|server_lr", options={"server_lr": None}),
    _changed("an unknown algorithm", r"unknown algorithm 'a\\nb'|selector", algorithms=["a\nb" * 200]),
    _changed("a thousand unknown algorithms", "unknown algorithm", algorithms=[f"unknown_{i}" for i in range(1000)]),
    _changed("more algorithms than are read", "algorithms must be", algorithms=["fedavg"] * 1001),
    _changed(
        "more points than are read", "points must be", points=[{"name": f"p{i}", "scenario": "digits-demo"} for i in range(1001)]
    ),
    _changed(
        "a thousand points of one name", "the name p is given twice", points=[{"name": "p", "scenario": "digits-demo"}] * 1000
    ),
    _changed("a point whose scenario is a pipe", "it is no plain file", points=[{"name": "p", "scenario": "/dev/stdin"}]),
    _changed("a point whose scenario has many lines", r"a\\nb", points=[{"name": "p", "scenario": "a\nb" * 500}]),
    _changed(
        "a point that sets unknown keys",
        "unknown key",
        points=[{"name": "p", "scenario": "digits-demo", "set": {f"k{i}": 1 for i in range(2000)}}],
    ),
    _changed(
        "a point that sets a deep value",
        "about must be text",
        points=[{"name": "p", "scenario": "digits-demo", "set": {"about": json.loads("[" * 26 + "]" * 26)}}],
    ),
    _changed("2^31 seeds", "seeds.count must be", seeds={"first": 0, "count": 2**31}),
    _changed("seeds of 10^300", "seeds.first must be", seeds={"first": 10**50, "count": 1}),
    _changed("2^31 trials", "tuning.trials must be", tuning={**SMOKE["tuning"], "trials": 2**31}),
    _changed("an unknown part of tuning", "unknown key tuning.typo", tuning={**SMOKE["tuning"], "typo": 1}),
    _changed(
        "a share that is not a number", "tuning.validation_share must be", tuning={**SMOKE["tuning"], "validation_share": "nan"}
    ),
    _tuned("a pipe", Pipe(), "it is no plain file"),
    _tuned("a device without an end", Link("/dev/urandom"), "it is no plain file"),
    _tuned("more than two million characters", lambda: "a: " + "x" * (1 << 21), "expected at most 2,097,152 characters"),
    _tuned("a million values", lambda: "a: [" + "a," * 1_040_000 + "a]", "unknown key a"),
    _tuned("100,000 levels", "{a: " * 100_000, "expected at most 30 levels"),
    _tuned(
        "10,000 unknown points",
        lambda: json.dumps({**BEYOND, "points": {f"p{i}": {} for i in range(10_000)}}),
        "unknown point 'p0'",
    ),
    _tuned(
        "10,000 wrong points",
        lambda: json.dumps({**BEYOND, "points": {f"p{i}": 1 for i in range(10_000)}}),
        "and 9,995 more problems",
    ),
    _tuned("a point of many lines", json.dumps({**BEYOND, "points": {"a\nb" * 40: {}}}), r"unknown point 'a\\nb"),
    _tuned(
        "an unknown algorithm",
        json.dumps({**BEYOND, "points": {POINT: {"fedbufff": CHOICE}}}),
        "unknown algorithm 'fedbufff'; did you mean",
    ),
    _tuned(
        "an algorithm that is no selector", json.dumps({**BEYOND, "points": {POINT: {"a\nb[": CHOICE}}}), "expected name or name"
    ),
    _tuned("another design", json.dumps({**BEYOND, "design_hash": "x\ny" * 5000}), "expected beyond"),
    _choice("a typo in an option", "fedbuff: unknown option 'server_lrr'; did you mean 'server_lr'", options={"server_lrr": 0.1}),
    _choice("an option that is not a number", "server_lr must be a number > 0, got nan", options={"server_lr": float("nan")}),
    _choice("an option that is negative", "server_lr must be a number > 0, got -1", options={"server_lr": -1}),
    _choice("an option that is null", "server_lr must be a number > 0, got None", options={"server_lr": None}),
    _choice("a negative trial", "trial must be >= 0", trial=-1),
    _choice("no trials", "trials must be >= 1", trials=0),
    _choice("a spread of many numbers", "spread", spread={"restricted_mean_seconds": [1.0] * 5000}),
    _choice("a spread of another name", "spread", spread={"a\nb" * 500: [1.0] * 5}),
    _choice("a spread that is not a number", "spread", spread={"restricted_mean_seconds": [float("nan")] * 5}),
    _choice("an unknown key", "unknown key|typo", typo=1),
    _choice("a digest of many lines", "digest must be", digest="a\nb" * 500),
    _score("a score that is not a number", "score.restricted_mean_seconds must be", restricted_mean_seconds=float("nan")),
    _score("a score that is negative", "score.restricted_mean_seconds must be >= 0", restricted_mean_seconds=-1.0),
    _score("a score that is null", "score.validation_accuracy must be", validation_accuracy=None),
    _score("an accuracy that is infinite", "score.validation_accuracy must be", validation_accuracy=float("inf")),
    _score("misses that are negative", "score.misses must be >= 0", misses=-3),
    _score("misses of 10^50", "score.misses must be <=", misses=10**50),
    _times("a pipe", Pipe(), "it is no plain file"),
    _times("a hole of a terabyte", Hole(1 << 40), "expected at most"),
    _times("a hole of a megabyte", Hole(1 << 20), "not valid JSON"),
    _times("100,000 levels", "[" * 100_000, "levels"),
    _times("not a number", json.dumps(TIMES).replace("1.122", "NaN"), "expected finite numbers, got NaN"),
    _times("a number of 100,000 digits", json.dumps(TIMES).replace("1.122", "9" * 100_000), "expected at most 60 digits"),
    _times("a key given twice", json.dumps(TIMES)[:-1] + ', "name": "other"}', "key 'name' is given twice"),
    _times(
        "10,000 unknown keys", lambda: json.dumps({**TIMES, **{f"k{i}": 1 for i in range(10_000)}}), "and 9,995 more problems"
    ),
    _times("the same problem twice", json.dumps({**TIMES, "problems": TIMES["problems"][:1] * 2}), "expected every problem once"),
    _problem("a time that is negative", "problems.0.seconds must be >= 0, got -1", seconds=-1),
    _problem("a time that is null", "problems.0.seconds must be a number, got None", seconds=None),
    _problem("a target that is null", "problems.0.target must be a number, got None", target=None),
    _problem("a typo in a key", "unknown key problems.0.second; did you mean 'seconds'", second=1),
]
