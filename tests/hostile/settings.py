"""Settings and selectors of a command line that somebody else wrote."""

from __future__ import annotations

from tests.hostile.case import Case, Link, Pipe


def _set(name: str, given: str, words: str, **more: object) -> Case:
    return Case(f"setting: {name}", ("plan", "digits-demo", "-a", "fedavg", "--set", given), words, **more)  # type: ignore[arg-type]


def _selector(name: str, given: str, words: str, **more: object) -> Case:
    return Case(f"selector: {name}", ("plan", "digits-demo", "-a", given), words, **more)  # type: ignore[arg-type]


CASES = [
    _set("no value", "x" * 100_000, "expected key.path=value"),
    _set("a key of 100,000 characters", "x" * 100_000 + "=1", "unknown key xxx"),
    _set("a path of 10,000 groups", "a." * 10_000 + "b=1", "unknown key a"),
    _set("a path of empty groups", "." * 10_000 + "=1", "unknown key"),
    _set("a key with line breaks", "a\nb\nc=1", r"unknown key a\\nb\\nc"),
    _set("a path with line breaks that ends in a value", "clients\n.x=1", r"unknown key clients\\n"),
    _set("a key inside a number", "clients.a\nb=1", "clients is not a group of keys"),
    _set("a key that clears the screen", "\x1b[2J=1", r"unknown key \\x1b\[2J"),
    _set("a value of many lines", "name=|\n" + " a\n" * 1000, "name must be text that matches"),
    _set("a value that cannot be read, of many lines", "name=[\n" + "a,\n" * 1000, "cannot be read"),
    _set("a value of 100,000 levels", "about=" + "[" * 100_000, "expected at most 30 levels"),
    _set("a value that is half of a pair", "about=\udc80", "unacceptable character|cannot be read"),
    _set("5,000 unknown keys", "local={" + ", ".join(f"k{i}: 1" for i in range(5000)) + "}", "more problems"),
    _set("a tag", "about=!!python/name:os.system", "tags are not read"),
    _set("a deadline of a nanosecond", "rounds.deadline_seconds=1e-9", "no update up to .* virtual seconds"),
    _set("a deadline of a microsecond", "rounds.deadline_seconds=1e-6", "no update up to .* virtual seconds"),
    _set("a file of windows that is a pipe", "availability={kind: table, file: w.csv}", "no plain file", files={"w.csv": Pipe()}),
    _set("a file of windows without an end", "availability={kind: table, file: /dev/zero}", "no plain file"),
    _set("a file of windows with line breaks in its name", 'availability={kind: table, file: "a\\nb"}', r"a\\nb"),
    _set("a file of windows with a long name", f"availability={{kind: table, file: {'x' * 5000}}}", "availability.file xxx"),
    _set("a file of windows with a null byte", 'availability={kind: table, file: "a\\0b"}', "availability.file"),
    _set(
        "a file of windows that is a list",
        f"availability={{kind: table, file: [{', '.join('abc' * 1000)}]}}",
        "availability.file",
    ),
    _set("a file of devices that is a pipe", "compute={kind: devices, file: d.csv}", "no plain file", files={"d.csv": Pipe()}),
    _set("a file of devices with a long name", f"compute={{kind: devices, file: {'x/' * 3000}}}", "compute.file"),
    _set("a folder of traces with a long name", f"network.trace={{folder: {'x' * 5000}}}", "network.trace.folder"),
    _set("a folder of traces with a null byte", 'network.trace={folder: "a\\0"}', "network.trace.folder"),
    _set("a folder of traces that is a device", "network.trace={folder: /dev/zero}", "cannot be read"),
    _set("a model with line breaks", 'task.model="a\\nb"', r"a\\nb"),
    _set("a model of 100,000 characters", "task.model=" + "m" * 100_000, "mmm"),
    _set("a data set with line breaks", 'task.name="a\\nb"', r"unknown task 'a\\nb'"),
    _set("a data set of 100,000 characters", "task.name=" + "m" * 100_000, "unknown task"),
    _set("an encoder of 100,000 levels", "task={name: mrpc, encoder: " + "../" * 60 + "}", "encoder"),
    _set("a million clients that take steps for ever", "local.steps=2147483648", "local.steps"),
    _selector("line breaks", "fed\navg", r"selector 'fed\\navg'|unknown algorithm"),
    _selector("10,000 characters", "x" * 9_999, "unknown algorithm"),
    _selector("100,000 characters", "x" * 100_000, "expected at most 10,000 characters"),
    _selector("an option of many lines", "fedavg[\na\nb\n=1]", "unknown option"),
    _selector("an option that clears the screen", "fedavg[\x1b[2J=1]", "option"),
    _selector("a value of many lines", "fedavg[cohort_size='a\n\n\nb']", "cohort_size must be an integer"),
    _selector("2,000 options", "fedavg[" + ",".join(f"k{i}=1" for i in range(1000)) + "]", "unknown option"),
    _selector("a preset with line breaks", 'fedavg[preset="a\\nb"]', "preset"),
    Case(
        "selector: an update of 10^9 arrivals",
        (
            *[
                "plan",
                "digits-demo",
                "-a",
                "fedbuff[buffer_size=1000000000]",
                "--set",
                "compute.step_seconds=1e-6",
                "--set",
                "network={}",
            ],
        ),
        "or updates fewer arrivals",
    ),
    _selector("an algorithm in a pipe", "./a.py:A", "no plain file", files={"a.py": Pipe()}),
    _selector("an algorithm without an end", "./a.py:A", "no plain file", files={"a.py": Link("/dev/zero")}),
    _selector("an algorithm in a file of a long name", "x" * 5000 + ".py:A", "File name too long"),
    _selector("an algorithm in a file with line breaks in its name", "a\nb.py:A", r"a\\nb.py"),
    Case("name: a scenario with line breaks", ("plan", "a\nb", "-a", "fedavg"), r"unknown scenario 'a\\nb'"),
    Case("name: a scenario of 100,000 characters", ("plan", "x" * 100_000, "-a", "fedavg"), "unknown scenario"),
    Case("name: a scenario in a file of a long name", ("plan", "x" * 5000 + ".yaml", "-a", "fedavg"), "File name too long"),
    Case("name: a suite with line breaks", ("suite", "plan", "a\nb", "--untimed"), r"unknown suite 'a\\nb'"),
    Case("name: a record with line breaks", ("verify", "a\nb"), r"record a\\nb"),
    Case("name: a record of 5,000 characters", ("verify", "a" * 5000), "record aaa"),
    Case("name: information on 100,000 characters", ("info", "x" * 100_000), "xxx"),
    Case("name: information with line breaks", ("info", "a\nb\x1b[2J"), r"a\\nb"),
]
