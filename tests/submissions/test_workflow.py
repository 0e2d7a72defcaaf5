"""The workflow trusts nothing of a pull request, and its script finds what a branch changes."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.submissions.conftest import NAME, Made
from tests.submissions.tampering import said

ROOT = Path(__file__).resolve().parents[2]
WORKFLOW = (ROOT / ".github/workflows/submission.yml").read_text()
SCRIPT = ROOT / ".ci/submissions"


def test_the_workflow_can_only_read_and_has_no_secrets() -> None:
    content = yaml.safe_load(WORKFLOW)
    assert content["permissions"] == {"contents": "read"}
    assert list(content[True]) == ["pull_request"], "pull_request_target would have secrets"  # `on` is true in YAML 1.1
    assert "secrets." not in WORKFLOW
    for job in content["jobs"].values():
        assert "permissions" not in job
        for step in job["steps"]:
            assert re.fullmatch(r"actions/[\w-]+@[0-9a-f]{40}", step.get("uses", "actions/x@" + "0" * 40)), "pinned"
            assert "${{" not in step.get("run", ""), "texts of a request go through the environment, not into a script"
            if "checkout" in step.get("uses", ""):
                assert step["with"]["persist-credentials"] is False


def test_every_action_is_one_commit() -> None:
    for file in (ROOT / ".github" / "workflows").glob("*.yml"):
        for action, version in re.findall(r"uses: *(\S+)(.*)", file.read_text()):
            if action.startswith("./"):  # a workflow of the same commit
                assert (ROOT / action).is_file(), f"{file.name}: {action}"
                continue
            assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", action), f"{file.name}: {action}"
            assert re.fullmatch(r"  # v\d+\.\d+\.\d+", version), f"{file.name}: {action} does not say its version"


def test_the_label_is_of_the_commit_that_was_read() -> None:
    """What was pushed after it, or a label without a commit, stops the job before anything else."""
    job = yaml.safe_load(WORKFLOW)["jobs"]["check"]
    first = job["steps"][0]
    assert first["if"] == "github.event.action == 'labeled'"
    assert "startsWith(github.event.label.name, 'run-plugins-')" in job["if"]
    read, pushed = "0123456789" * 4, "0123456789" * 3 + "9876543210"
    label = f"run-plugins-{read[:38]}"
    assert len(label) == 50, "as long as a label can be"

    def passes(label: str, head: str) -> bool:
        environment = {"LABEL": label, "HEAD": head}
        return subprocess.run(["bash", "-c", first["run"]], env=environment, check=False).returncode == 0

    assert passes(label, read)
    assert not any(
        passes(*one) for one in [(label, pushed), ("run-plugins-", read), ("run-plugins", read), ("run-plugins-*", read)]
    )
    flags = [step["env"]["PLUGINS"] for step in job["steps"] if "PLUGINS" in step.get("env", {})]
    assert flags == ["${{ github.event.action == 'labeled' && '--run-plugins' || '' }}"], "nowhere else"


def git(checkout: Path, *arguments: str) -> str:
    command = ["git", "-C", str(checkout), "-c", "user.name=A", "-c", "user.email=a@example.org", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture(name="checkout")
def _checkout(tmp_path: Path) -> Path:
    checkout = tmp_path / "request"
    (checkout / "results" / "submissions").mkdir(parents=True)
    git(checkout, "init", "-q")
    (checkout / "results" / "submissions" / "history.jsonl").touch()
    return checkout


def commit(checkout: Path) -> str:
    git(checkout, "add", "-A")
    git(checkout, "commit", "-q", "--allow-empty", "-m", "x")
    return git(checkout, "rev-parse", "HEAD")


def checked(checkout: Path, base: str) -> tuple[int, str]:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "BASE": base, "HEAD": commit(checkout), "DRAW": "3", "PLUGINS": ""}
    done = subprocess.run(["bash", str(SCRIPT), str(checkout)], env=environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def test_a_good_submission_passes(made: Made, checkout: Path) -> None:
    base = commit(checkout)
    shutil.copytree(made.folder, checkout / "results" / "submissions" / NAME)
    code, text = checked(checkout, base)
    assert (code, "3 of 3 records that were run again are identical" in text) == (0, True), text


def test_all_faults_are_named_and_the_rest_is_looked_at(made: Made, checkout: Path) -> None:
    folder = checkout / "results" / "submissions"
    shutil.copytree(made.folder, folder / "old")
    base = commit(checkout)
    shutil.rmtree(folder / "old")
    shutil.copytree(made.folder, folder / "$(touch trace)")
    shutil.copytree(made.folder, folder / "other")
    said(folder / "other", "name", "another")
    (folder / "link").symlink_to("/etc")
    (checkout / "setup.py").write_text("x")
    (folder / "history.jsonl").write_text("{}\n")
    code, text = checked(checkout, base)
    assert code == 1
    for words in (
        "old: taken out; a submission is retracted",
        r"not the name of a submission: \$\(touch\ trace\)",
        "fault: submission.yaml: name: expected that of the folder, 'other', got 'another'",
        "not of a submission: results/submissions/link",
        "not of a submission: setup.py",
        "history.jsonl: line 1: date: ",
    ):
        assert words in text
    assert not list(checkout.rglob("trace"))
