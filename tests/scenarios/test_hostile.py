"""Scenarios, overrides, selectors and availability files that anybody may have written: one line
each, soon, and with little memory."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from fedbench import registry
from fedbench.errors import UsageError
from fedbench.scenarios.load import load
from fedbench.scenarios.windows import read_windows

BOMB = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{chr(98 + i)}: &{chr(98 + i)} [{', '.join([f'*{chr(97 + i)}'] * 10)}]\n" for i in range(9)
)

TEXTS = {
    "": "expected a mapping of keys, got NoneType",
    "- a\n- b\n": "expected a mapping of keys, got list",
    "just words": "expected a mapping of keys, got str",
    "a: b: c": "not valid YAML: mapping values are not allowed here",
    "a: [1, 2": "not valid YAML: while parsing a flow sequence",
    "a: 1\na: 2\n": "key 'a' is given twice, in lines 1 and 2",
    "name: &x digits\nabout: *x\n": "anchors and aliases are not read, got 'x' in line 1",
    BOMB: "anchors and aliases are not read, got 'a' in line 1",
    "name: !!python/object/apply:os.system ['touch hacked']\n": "tags are not read, got 'tag:yaml.org,2002:python/object/apply:os.system'",
    "name: !local x\n": "tags are not read, got '!local' in line 1",
    "name: !!binary aGk=\n": "tags are not read",
    "<<: {name: x}\n": "unknown key <<",
    "name: " + "[" * 40 + "]" * 40 + "\n": "expected at most 30 levels, got more in line 1",
    "a: " + "{a: " * 5000 + "1" + "}" * 5000 + "\n": "expected at most 30 levels",
    "x" * (1 << 20): "expected at most 524,288 characters",
    "name: " + "9" * 100_000 + "\n": "name must be text that matches|unknown|missing",
    "name: \x00\n": "not valid YAML: unacceptable character",
    "? [a, b]\n: 1\n": "not valid YAML: while constructing a mapping",
    "? {a: b}\n: 1\n": "not valid YAML: while constructing a mapping",
    "1: 2\n": "unknown key|must be",
    "%YAML 9.9\n---\na: 1\n": "not valid YAML: found incompatible YAML document",
    "a: 1\n---\nb: 2\n": "not valid YAML: expected a single document",
}


@pytest.mark.parametrize("number", range(len(TEXTS)))
def test_texts_that_are_no_scenario(number: int, tmp_path: Path) -> None:
    text, expected = list(TEXTS.items())[number]
    file = tmp_path / "s.yaml"
    file.write_text(text)
    refused(lambda: load(file), f"scenario .*(?:{expected})")
    assert not (tmp_path / "hacked").exists()


OVERRIDES = {
    "clients=1:30": "clients must be an integer, got '1:30'",
    "clients=0x10": "clients must be an integer, got '0x10'",
    "clients=010": "clients must be an integer, got '010'",
    "clients=.nan": "clients must be finite, got nan",
    "clients=.inf": "clients must be finite, got inf",
    "clients=2001-01-01": "clients must be an integer, got '2001-01-01'",
    "clients=100000000": "clients must be <= 1000000, got 100000000",
    "clients=0": "clients must be >= 1, got 0",
    "clients=-3": "clients must be >= 1, got -3",
    f"clients={'9' * 100}": "clients must be an integer, got '99999",
    f"clients={'9' * 50}": "clients must be <= 1000000, got 99999",
    "clients=[1]": "clients must be an integer",
    "clients={a: 1}": "clients must be an integer",
    "clients=&a 3": "anchors and aliases are not read",
    "clients=*a": "anchors and aliases are not read",
    "clients=!!int 3": "tags are not read",
    "clients={a: 1, a: 2}": "key 'a' is given twice, in line 1",
    f"clients={'[' * 100}": "expected at most 30 levels",
    "clients=[": "cannot be read: while parsing a flow node",
    "=3": "expected key.path=value",
    "clients": "expected key.path=value",
    "clients.x=3": "clients is not a group of keys",
    "a.b.c.d=3": "unknown key a",
    f"{'a.' * 3000}b=3": "unknown key a",
    "budget.seconds=.nan": "budget.seconds must be",
    "budget.seconds=1e400": "budget.seconds must be",
    "budget.seconds=1e300": "budget.seconds must be <= 1000000000",
    "budget.updates=1e10": "budget.updates must be",
    f"budget.jobs={10**30}": "budget.jobs must be <= 4.611686018e+18, got 1000",
    "evaluation.every_seconds=0": "evaluation.every_seconds must be >= 0.001",
    "evaluation.every_seconds=-1": "evaluation.every_seconds must be >= 0.001",
    "name=../../x": "name must be text that matches",
    f"name={'x' * 101}": "name must be text that matches",
    f"about={'x' * 20_000}": "about must be",
    f"targets=[{', '.join(['{value: 0.5}'] * 101)}]": "targets must be",
    "targets=[{value: 2}]": "targets.0: value: expected a test accuracy above 0 and at most 1, got 2",
    "partition={kind: dirichlet, alpha: 0}": "partition",
    "partition={kind: [a]}": "partition",
    "availability={kind: table, rows: [[[0, 1]]]}": "expected one row for each of 20 clients, got 1",
    "availability={kind: table, rows: [[[0]]]}": "availability",
    "availability={kind: table, file: nowhere.csv}": "not on this machine",
    "availability={kind: table, file: [a]}": "not on this machine",
    "local.steps=[1, 2]": "expected one number for each of 20 clients, got 2",
    "local.batch_size=0": "local.batch_size must be",
    "compute.kind=\udcff": "unacceptable character",
}


@pytest.mark.parametrize("override", OVERRIDES, ids=lambda one: one[:40].encode("ascii", "backslashreplace").decode())
def test_overrides_that_cannot_be(override: str) -> None:
    refused(lambda: load("digits-demo", [override]), re.escape(OVERRIDES[override]))


def test_a_grid_of_too_many_points() -> None:
    refused(
        lambda: load("digits-demo", ["evaluation.every_seconds=0.001", "budget.seconds=1e9"]),
        r"expected at most 2,097,152 points of evaluation in budget.seconds, got 1,000,000,000,000: 1e\+09 / 0.001",
    )


SELECTORS = {
    "": "expected name or name[param=value,...]",
    "fedbuff[": "expected name or name",
    "fedbuff]": "expected name or name",
    "fedbuff[buffer_size]": "expected param=value, got 'buffer_size'",
    "fedbuff[=3]": "expected param=value",
    "fedbuff[buffer_size=3,buffer_size=5]": "option buffer_size is given twice",
    "fedbuff[buffer-size=3,buffer_size=5]": "option buffer_size is given twice",
    "fedbuff[buffer_size=1:30]": "buffer_size must be an integer >= 1, got '1:30'",
    "fedbuff[buffer_size=1e3]": "buffer_size must be an integer",
    "fedbuff[buffer_size=true]": "buffer_size must be an integer",
    "fedbuff[buffer_size=0]": "buffer_size must be an integer >= 1, got 0",
    f"fedbuff[buffer_size={10**30}]": "buffer_size must be an integer",
    f"fedbuff[buffer_size={'9' * 5000}]": "buffer_size must be an integer",
    "fedbuff[buffer_size=]": "buffer_size must be an integer >= 1, got None",
    "fedbuff[server_lr=.nan]": "server_lr must be a number > 0, got nan",
    "fedbuff[server_lr=.inf]": "server_lr must be a number > 0, got inf",
    "fedbuff[server_lr=1e999]": "server_lr must be a number > 0, got inf",
    "fedbuff[server_lr=*a]": "anchors and aliases are not read",
    "fedbuff[server_lr=!!python/name:os.system]": "tags are not read",
    "fedbuff[scaling={a: 1}]": "scaling must be one of",
    "fedbuff[preset=none]": "preset",
    "fedbuff[preset=[a]]": "preset",
    "fedbuff[buffersize=3]": "unknown option 'buffersize'; did you mean",
    "fedbufff": "unknown algorithm 'fedbufff'; did you mean 'fedbuff'",
    f"{'x' * 9000}": "unknown algorithm",
    f"{'x' * 20_000}": "expected at most 10,000 characters, got 20,000",
    f"fedbuff[{'a=1,' * 2000}]": "option a is given twice",
    "os.system": "expected name or name",
    "../x.py:X": "cannot be read: No such file or directory",
    "/dev/zero.py:X": "cannot be read",
    "fedbuff\x00": "expected name or name",
}


@pytest.mark.parametrize("selector", SELECTORS, ids=lambda one: one[:40].replace("\x00", "0"))
def test_selectors_that_are_none(selector: str) -> None:
    refused(lambda: registry.algorithm(selector), re.escape(SELECTORS[selector]))


WINDOWS = {
    ("w.csv", b"client,on,off\n1000000000,0,1\n"): "line 2: expected a client 0 .. 5 and finite seconds",
    ("w.csv", b"client,on,off\n6,0,1\n"): "line 2: expected a client 0 .. 5",
    ("w.csv", b"client,on,off\n-1,0,1\n"): "line 2: expected a client 0 .. 5",
    ("w.csv", b"client,on,off\nnan,0,1\n"): "line 2: expected a client 0 .. 5 and finite seconds",
    ("w.csv", b"client,on,off\ninf,0,1\n"): "line 2: expected a client 0 .. 5",
    ("w.csv", b"client,on,off\n0,nan,1\n"): "line 2: expected a client 0 .. 5 and finite seconds",
    ("w.csv", b"client,on,off\n0,0\n"): "line 2: expected client, on and off as numbers",
    ("w.csv", b"client,on,off\n0,0,1,2\n"): "line 2: expected client, on and off as numbers",
    ("w.csv", b"client,on,off\n0,zero,1\n"): "line 2: expected client, on and off as numbers",
    ("w.csv", b"client,on,off\n0," + b"9" * 5000 + b",1\n"): "line 2: expected a client 0 .. 5 and finite seconds",
    ("w.csv", b"client,on,off\n\xff,0,1\n"): "expected text in UTF-8, got the byte 0xff at 14",
    ("w.csv", b""): "expected the header client,on,off, got ''",
    ("w.csv", b"a" * 1000): "expected the header client,on,off",
    ("w.csv", b'client,on,off\n"' + b"a" * 200_000 + b'"\n'): "not valid CSV: field larger than field limit",
    ("w.csv", b"client,on,off\n0\x00,0,1\n"): "line 2: expected|not valid CSV: line contains NUL",
    ("w.json", b"[[1000000000, 0, 1]]"): "entry 0: expected a client 0 .. 5",
    ("w.json", b"[[NaN, 0, 1]]"): "expected finite numbers, got NaN",
    ("w.json", b"[[0, 1e999, 1]]"): "expected finite numbers, got 1e999",
    ("w.json", b"[[" + b"9" * 400 + b", 0, 1]]"): "expected at most 60 digits, got 400",
    ("w.json", b"[" * 100_000): "expected at most 40 levels, got many more",
    ("w.json", b"[" + b"9" * 10_000 + b"]"): "expected at most 60 digits, got 10,000",
    ("w.json", b"{}"): "expected a list of [client, on, off]",
    ("w.json", b"[1]"): "expected a list of [client, on, off]",
    ("w.json", b"[[null, 0, 1]]"): "entry 0: expected client, on and off as numbers",
    ("w.json", b"[[[0], 0, 1]]"): "entry 0: expected client, on and off as numbers",
    ("w.json", b"\xff\xfe"): "expected text in UTF-8",
}


@pytest.mark.parametrize("number", range(len(WINDOWS)))
def test_availability_files_that_are_none(number: int, tmp_path: Path) -> None:
    (name, content), expected = list(WINDOWS.items())[number]
    file = tmp_path / name
    file.write_bytes(content)
    either = "|".join(re.escape(one) for one in expected.split("|"))
    refused(lambda: read_windows(file, 6), rf"availability.file .*(?:{either})")


def test_more_windows_than_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fedbench.scenarios.windows.MOST_WINDOWS", 3)
    file = tmp_path / "w.csv"
    file.write_text("client,on,off\n" + "".join(f"0,{i},{i}.5\n" for i in range(4)))
    refused(lambda: read_windows(file, 6), "expected at most 3 lines below the header, got 5 lines in all")


def refused(call: object, expected: str) -> None:
    """One line that says so, which is not longer than a few lines of a terminal."""
    assert callable(call)
    with pytest.raises(UsageError, match=expected) as error:
        call()
    assert "\n" not in str(error.value)
    assert len(str(error.value)) <= 600


MOST_SECONDS = 20.0  # of a processor; it takes less than five
MOST_MB = 500
LARGE = {
    "a billion clients in one line": (
        ["plan", "digits-demo", "-a", "fedavg", "--set", "availability={kind: table, file: w.csv}"],
        "expected a client 0 .. 19",
    ),
    "aliases": (["plan", "./bomb.yaml", "-a", "fedavg"], "anchors and aliases are not read"),
    "aliases in an override": (["plan", "digits-demo", "-a", "fedavg", "--set", f"targets={BOMB}"], "cannot be read"),
    "long grid": (
        ["plan", "digits-demo", "-a", "fedavg", "--set", "evaluation.every_seconds=0.001", "--set", "budget.seconds=1e9"],
        "expected at most 2,097,152 points",
    ),
    "many clients": (["plan", "digits-demo", "-a", "fedavg", "--set", "clients=100000000"], "clients must be <= 1000000"),
    "endless scenario": (["plan", "./endless.yaml", "-a", "fedavg"], "cannot be read: it is no plain file"),
    "endless availability": (
        ["plan", "digits-demo", "-a", "fedavg", "--set", "availability={kind: table, file: endless.csv}"],
        "cannot be read: it is no plain file",
    ),
    "endless algorithm": (["plan", "digits-demo", "-a", "./endless.py:X"], "cannot be read: it is no plain file"),
    "a large scenario": (["plan", "./large.yaml", "-a", "fedavg"], "expected at most"),
    "the largest scenario": (["plan", "./largest.yaml", "-a", "fedavg"], "unknown key"),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", LARGE)
def test_little_memory_and_little_time(case: str, tmp_path: Path) -> None:
    arguments, expected = LARGE[case]
    (tmp_path / "w.csv").write_text("client,on,off\n1000000000,0,1\n")
    (tmp_path / "bomb.yaml").write_text(BOMB)
    (tmp_path / "large.yaml").write_text("x" * (64 << 20))
    (tmp_path / "largest.yaml").write_text("a: [" + "1, " * 174_000 + "1]\n")
    for name in ("endless.yaml", "endless.csv", "endless.py"):
        (tmp_path / name).symlink_to("/dev/zero")
    code, stderr, seconds, megabytes = measured(arguments, tmp_path)
    assert code == 2
    assert expected in stderr
    assert len(stderr.strip().splitlines()) == 1
    assert megabytes < MOST_MB
    assert seconds < MOST_SECONDS


MEASURED = """
from pathlib import Path
from fedbench.cli.main import main
from fedbench.process import peak_memory_mb
try:
    main()
finally:
    Path("peak").write_text(str(peak_memory_mb()))
"""  # the peak that wait4 tells is at least what the parent had when it began the process


def measured(arguments: list[str], cwd: Path) -> tuple[int, str, float, float]:
    """(exit code, standard error, seconds of a processor, megabytes at most) of the command
    line."""
    command = [sys.executable, "-c", MEASURED, *arguments]
    with (cwd / "stderr").open("w+") as stderr:
        process = subprocess.Popen(command, cwd=cwd, stdout=subprocess.DEVNULL, stderr=stderr)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        stderr.seek(0)
        return process.returncode, stderr.read(), usage.ru_utime + usage.ru_stime, float((cwd / "peak").read_text())
