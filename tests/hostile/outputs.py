"""Places to write to that cannot be written to, or must not be replaced."""

from __future__ import annotations

from tests.hostile.case import ROOT, Case, Folder, Link, Made, Pipe

RECORDS = f"{ROOT}/results/records"


def _table(name: str, output: str, words: str, made: Made | None = None) -> Case:
    arguments = ("table", "--records", RECORDS, "--output", output)
    return Case(f"table: {name}", arguments, f"table: .*{words}", {} if made is None else {output.partition("/")[0]: made})


def _to(name: str, verb: str, words: str = "cannot be written", made: Made = "x") -> Case:
    """A case of a verb whose last word is a place where something else is already."""
    arguments = verb.split()
    return Case(f"{arguments[0]}: {name}", arguments, words, {arguments[-1]: made})


CASES = [
    _table("a folder", "folder", "folder cannot be written .it is no plain file", Folder()),
    _table("the folder itself", ".", "it is no plain file"),
    _table("the folder above", "..", "it is no plain file"),
    _table("the root", "/", "it is no plain file"),
    _table("no name", "", "it is no plain file"),
    _table("below a file", "file/t.md", "cannot be written", "x"),
    _table("below a device", "null/t.md", "cannot be written", Link("/dev/null")),
    _table("a device", "null", "it is no plain file", Link("/dev/null")),
    _table("a device that is full", "full", "it is no plain file", Link("/dev/full")),
    _table("a pipe", "pipe", "it is no plain file", Pipe()),
    _table("a link to the root", "link", "it is no plain file", Link("/")),
    _table("a name of 5,000 characters", "x" * 5000, "cannot be written .File name too long"),
    _table("a name of 254 characters", "x" * 254, "cannot be written .File name too long"),
    _table("line breaks", "no\nsuch" * 20 + "/" + "x" * 300, r"no\\nsuch.*cannot be written"),
    _to("a folder", f"trace {RECORDS} -o t.json", "expected one record", Folder()),
    _to("a folder", "catalogue -o c.html", made=Folder()),
    _to("a folder", "applicability digits-demo -a fedavg -o a.md", made=Folder()),
    _to("a file", f"leaderboard build --store {RECORDS} -o site"),
    _to("a file", "new algorithm mine -d folder"),
    _to("a file", "run digits-demo -a fedavg --store runs"),
    _to("a device", "run digits-demo -a fedavg --store runs", made=Link("/dev/null")),
    _to("a pipe", "run digits-demo -a fedavg --store runs", made=Pipe()),
    _to("a link to nothing", "run digits-demo -a fedavg --store runs", made=Link("nowhere/runs")),
    Case(
        "run: a store of 5,000 characters",
        ("run", "digits-demo", "-a", "fedavg", "--store", "x" * 5000),
        "File name too long",
        code=1,
    ),
    Case("new: a name of many lines", ("new", "algorithm", "a\nb" * 500), "the name must be small letters"),
    Case("new: a name of 100,000 characters", ("new", "task", "x" * 100_000), "the name must be small letters"),
    Case(
        "import: a folder", ("import", "traces", "l", "-o", "t"), "cannot be written", {"l/a.log": "0 0 0 0 1 1\n", "t": Folder()}
    ),
    Case(
        "import: a device",
        ("import", "devices", "p", "--clients", "1", "-o", "null"),
        "cannot be written|expected",
        {"p": b"}.", "null": Link("/dev/null")},
    ),
    Case("option: an unknown one of many lines", ("plan", "--a\nb\x1b[2J"), r"No such option: --a\\(n|x0a)b\\x1b", lines=4),
    Case("option: an unknown one of 100,000 characters", ("plan", "--" + "x" * 100_000), "No such option: --xxx", lines=4),
    Case(
        "option: a number of many lines",
        ("plan", "digits-demo", "-a", "fedavg", "--seed", "1\n2" * 500),
        "Input should be a valid integer",
        lines=4,
    ),
    Case("verb: an unknown one of many lines", ("a\nb\x1b[2J",), r"No such command 'a\\nb\\x1b", lines=4),
    Case("verb: an unknown one of 100,000 characters", ("x" * 100_000,), "No such command 'xxx", lines=4),
]
