"""Which slow tests `.ci/run` takes, and what runs them all at night."""

from __future__ import annotations

import re

import pytest
import yaml

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
