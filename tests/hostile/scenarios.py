"""Scenario files that anybody may have written."""

from __future__ import annotations

from collections.abc import Callable

from tests.hostile.case import Case, Folder, Hole, Link, Made, Pipe

PLAN = ("plan", "./s.yaml", "-a", "fedavg")
GOOD = """\
schema: 1
name: mine
about: A small one.
task: {name: digits, model: mlp}
clients: 20
partition: {kind: iid}
local: {steps: 2, batch_size: 10}
compute: {kind: per_step, step_seconds: 0.02}
budget: {updates: 5, seconds: 40}
evaluation: {every_seconds: 1}
"""


def _case(name: str, made: Made, words: str) -> Case:
    return Case(f"scenario: {name}", PLAN, words, {"s.yaml": made})


def _with(**keys: str) -> str:
    """The good scenario, in which keys have other text."""
    lines = GOOD.splitlines()
    kept = [line for line in lines if line.partition(":")[0] not in keys]
    return "\n".join([*kept, *(f"{key}: {text}" for key, text in keys.items())]) + "\n"


def _many(count: int, line: Callable[[int], str]) -> Callable[[], str]:
    return lambda: GOOD + "".join(line(i) for i in range(count))


CASES = [
    _case("a pipe", Pipe(), "it is no plain file"),
    _case("a device without an end", Link("/dev/zero"), "it is no plain file"),
    _case("random numbers without an end", Link("/dev/urandom"), "it is no plain file"),
    _case("a terminal", Link("/dev/tty"), "cannot be read"),
    _case("a folder", Folder(), "it is no plain file"),
    _case("a link to itself", Link("s.yaml"), "Too many levels of symbolic links"),
    _case("a link to nothing", Link("nowhere"), "No such file"),
    _case("memory of the process", Link("/proc/self/mem"), "cannot be read|no plain file"),
    _case("a hole of a terabyte", Hole(1 << 40), "expected at most"),
    _case("a hole of 2 MB", Hole(2 << 20), "expected at most .* characters"),
    _case("a hole of 400 KB", Hole(400_000), "not valid YAML: unacceptable character"),
    _case("empty", "", "expected a mapping of keys, got NoneType"),
    _case("a byte order mark alone", b"\xef\xbb\xbf", "expected a mapping of keys, got NoneType"),
    _case("UTF-16", "schema: 1".encode("utf-16"), "expected text in UTF-8"),
    _case("10,000 unknown keys", _many(10_000, lambda i: f"key_{i}: {i}\n"), r"unknown key key_0.*and 9,99\d more problems"),
    _case(
        "10,000 unknown keys of a group",
        lambda: _with(local="{steps: 2, batch_size: 10, " + ", ".join(f"k{i}: 1" for i in range(10_000)) + "}"),
        r"unknown key local\.k0.*and 9,99\d more problems",
    ),
    _case("10,000 long keys", _many(400, lambda i: f"{'k' * 1000}{i}: 1\n"), "unknown key kkk.*and 39[0-9] more problems"),
    _case("a key of 100,000 characters", lambda: GOOD + "k" * 900 + ": 1\n", "unknown key kkk"),
    _case(
        "10,000 wrong items",
        lambda: _with(local="{batch_size: 10, steps: [" + ", ".join(["x"] * 10_000) + "]}"),
        "local.steps.0 must be.*more problems",
    ),
    _case(
        "10,000 short lists",
        lambda: _with(availability="{kind: table, rows: [" + ", ".join(["[[1]]"] * 10_000) + "]}"),
        "availability.rows.0.0.*more problems",
    ),
    _case(
        "10,000 wrong traces",
        lambda: _with(network="{trace: {given: [" + ", ".join(["[]"] * 10_000) + "]}}"),
        "network.trace.given.0 must be.*more problems",
    ),
    _case("quoted text of many lines", _with(name='"' + "a\n\n  " * 200 + '"'), "name must be text that matches"),
    _case(
        "a name in a block of many lines",
        GOOD.replace("name: mine", "name: |\n" + "  line\n" * 200),
        "name must be text that matches",
    ),
    _case(
        "a folded block as a number",
        GOOD.replace("clients: 20", "clients: >\n" + "  word\n\n" * 200),
        "clients must be an integer",
    ),
    _case("a block of many lines as a kind", _with(partition='{kind: "a\n\n\n   b"}'), "partition.kind must be one of"),
    _case("a key of many lines", GOOD + '? "a\\nb\\nerror: all is well"\n: 1\n', r"unknown key a\\nb\\nerror: all is well"),
    _case("a block as a key", GOOD + "? |\n  a\n  b\n: 1\n", r"unknown key a\\nb\\n"),
    _case("a key that clears the screen", GOOD + '"\\e[2J\\e[1;1H": 1\n', r"unknown key \\x1b\[2J"),
    _case("a key that turns the direction of writing", GOOD + '"\\u202Eabc": 1\n', r"unknown key \\u202eabc"),
    _case("a key with a null byte", GOOD + '"a\\0b": 1\n', r"unknown key a\\x00b"),
    _case("a key with a carriage return", GOOD + '"clients\\rgone": 1\n', r"unknown key clients\\rgone"),
    _case("a key with half of a pair", GOOD + '"\\uD800": 1\n', r"must be a group of keys, got .\\ud800"),
    _case(
        "a value with a separator of lines",
        _with(clients='"a\\u2028b\\x85c"'),
        r"clients must be an integer, got 'a\\u2028b\\x85c'",
    ),
    _case("a name that is a mapping", _with(name="{a: " + "[x, " * 20 + "1" + "]" * 20 + "}"), "name must be text"),
    _case("a name of 400,000 characters", lambda: _with(name="x" * 400_000), "name must be text that matches"),
    _case("a number of 400,000 digits", lambda: _with(clients="9" * 400_000), "clients must be an integer"),
    _case("one level more than is read", _with(about="[" * 31 + "]" * 31), "expected at most 30 levels"),
    _case("100,000 levels", lambda: "[" * 100_000, "expected at most 30 levels"),
    _case("100,000 levels of mappings", lambda: "{a: " * 100_000, "expected at most 30 levels"),
    _case("100,000 levels by indentation", lambda: "\n".join(" " * i + "a:" for i in range(900)), "expected at most 30 levels"),
    _case("100,000 dashes", lambda: "- " * 200_000, "expected at most 30 levels"),
    _case("many documents", lambda: "--- a\n" * 50_000, "expected a single document"),
    _case("aliases", "a: &a [x, x]\nb: *a\n", "anchors and aliases are not read"),
    _case("an object of Python", "name: !!python/object/apply:os.system [touch hacked]\n", "tags are not read"),
    _case("a module of Python", "name: !!python/module:this\n", "tags are not read"),
    _case(
        "a key given twice among many",
        lambda: "".join(f"k{i}: 1\n" for i in range(30_000)) + "k7: 2\n",
        "key 'k7' is given twice",
    ),
    _case(
        "a deadline of a nanosecond",
        _with(rounds="{deadline_seconds: 1.0e-9}"),
        "no update up to .* virtual seconds, though 10486[0-9]+ jobs began",
    ),
    _case("a comment of 2 MB", lambda: "#" * 2_000_000, "expected at most .* characters"),
    _case(
        "more points of evaluation than fit",
        _with(evaluation="{every_seconds: 0.001}", budget="{updates: 5, seconds: 1.0e+9}"),
        "points of evaluation",
    ),
    _case("a file of 16 MB", lambda: "x: 1\n" * 3_200_000, "expected at most"),
]
