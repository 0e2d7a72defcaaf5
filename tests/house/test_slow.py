"""Which slow tests `.ci/run` takes, and what runs them all at night."""

from __future__ import annotations

import re
from subprocess import CompletedProcess

import pytest
import yaml

from tests.house import slow
from tests.house.slow import ALONE, ROOT, base, git, holders, touched

FILES = [
    "benchmarks/test_cases.py",
    "tests/bench/test_regress.py",
    "tests/kernels/test_cuda_build.py",
    "tests/suites/findings/test_rederive.py",
    "tests/suites/test_kills.py",
]


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        (["fedbench/suites/price.py"], FILES[3:]),
        (["fedbench/suites/findings/page.py", "README.md"], FILES[3:]),
        (["csrc/accumulate/sum.cpp"], [FILES[2]]),
        (["fedbench/bench/case.py"], FILES[:2]),
        (["benchmarks/asv_cases/cases.py"], [FILES[0]]),
        (["tests/suites/kills.py"], FILES[3:]),
        (["tests/suites/test_kills.py", "tests/bench/test_regress.py"], [FILES[1], *FILES[3:]]),
        (["README.md", "docs/rules.md", "fedbench/errors.py", "results/suites/axes/runs.parquet", "tests/conftest.py"], []),
    ],
)
def test_what_a_change_touches(changed: list[str], expected: list[str]) -> None:
    assert touched(changed, FILES) == expected


def test_files_with_slow_tests_are_found() -> None:
    found = holders()
    assert {"tests/bench/test_regress.py", "tests/suites/test_kills.py", "benchmarks/test_cases.py"} <= set(found)
    assert "tests/house/test_prose.py" not in found
    assert set(ALONE) <= set(found)


def test_what_fails_and_what_is_left_to_the_night(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Every file takes three minutes, and the second one fails."""
    files = ["tests/kernels/test_a.py", "tests/kernels/test_aarch64.py", "tests/kernels/test_b.py", "tests/kernels/test_c.py"]
    ran: list[str] = []

    def run(command: list[str], **_: object) -> CompletedProcess[str]:
        ran.append(command[-1])
        return CompletedProcess(command, int(command[-1].endswith("b.py")))

    monkeypatch.setattr(slow, "git", lambda *_: "csrc/a.cpp")
    monkeypatch.setattr(slow, "holders", lambda: files)
    monkeypatch.setattr(slow.subprocess, "run", run)
    monkeypatch.setattr(slow.time, "monotonic", lambda: 180.0 * len(ran))
    assert slow.main("abc") == 1
    assert ran == [files[0], files[2]]
    said = capsys.readouterr().out
    assert "left to the night: tests/kernels/test_aarch64.py (`make aarch64` runs it)" in said
    assert "left to the night: tests/kernels/test_c.py (4 minutes have passed)" in said
    assert "failed: tests/kernels/test_b.py" in said


def test_there_is_a_commit_to_compare_with() -> None:
    if not (ROOT / ".git").exists() or git("rev-list", "--count", "HEAD") == "1":
        pytest.skip("not a checkout, or one of a single commit")
    assert re.fullmatch(r"[0-9a-f]{40}", base())
    assert base() != git("rev-parse", "HEAD")


def test_the_night_runs_all_of_them() -> None:
    text = (ROOT / ".github/workflows/nightly.yml").read_text()
    content = yaml.safe_load(text)
    assert content["permissions"] == {"contents": "read"}
    assert set(content[True]) == {"schedule", "workflow_dispatch"}  # `on` is true in YAML 1.1
    steps = [step for job in content["jobs"].values() for step in job["steps"]]
    assert any("make slow" in step.get("run", "") for step in steps)
    for step in steps:
        assert re.fullmatch(r"actions/[\w-]+@[0-9a-f]{40}", step.get("uses", "actions/x@" + "0" * 40)), "pinned"


def test_the_log_has_durations() -> None:
    recipes = (ROOT / "Makefile").read_text()
    assert re.search(r"^slow: .*\n\t.*-m \"slow and not gpu\" --durations=25$", recipes, re.MULTILINE)
    assert re.search(r"^test: .*\n\t.*--durations=25$", recipes, re.MULTILINE)
