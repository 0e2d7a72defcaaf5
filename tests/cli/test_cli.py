"""The command line as users meet it: exit codes, one-screen errors, JSON lines, Ctrl-C. Every call
is a real process."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from .commands import fedbench

SMALL = ["--set", "clients=6", "--set", "budget.seconds=4", "--set", "local.steps=2", "--set", "task.model=softmax"]
PLAN_1M = ["plan", "defedavg-fashion-iid", "-a", "fedbuff[concurrency=10000,buffer_size=100]", "--set", "clients=100000"]


def rows(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_list_and_info() -> None:
    found = rows(fedbench("list", "algorithms", "--json").stdout)
    assert [set(row) for row in found] == [{"name", "kind", "about"}] * len(found)
    assert {"fedavg", "fedasync", "fedbuff", "defedavg_iid", "scaffold", "fedac"} <= {row["name"] for row in found}
    (facts,) = rows(fedbench("info", "fedbuff", "--json").stdout)
    about = "How many arrivals make an update (M)."
    row = {"name": "buffer_size", "default": 10, "source": "all algorithms alike", "allowed": "an integer >= 1", "about": about}
    assert row in facts["options"]
    (rate,) = (one for one in rows(fedbench("info", "fadas", "--json").stdout)[0]["options"] if one["name"] == "server_lr")
    assert (rate["default"], rate["source"]) == (None, "the authors' code for CIFAR-10, scaled to the model")
    shown = fedbench("info", "FedBuff", COLUMNS="200").stdout
    assert "x <- x + server_lr * (1/M) sum s(tau) Delta" in shown
    assert "Federated Learning with Buffered Asynchronous Aggregation, Alg. 1, https://arxiv.org/abs/2106.06639" in shown
    assert about in shown
    assert "step_seconds: 0.0017" in fedbench("info", "defedavg_fashion_iid").stdout


def test_tasks_say_what_is_missing(tmp_path: Path) -> None:
    about = {row["name"]: row["about"] for row in rows(fedbench("list", "tasks", "--json", FEDBENCH_DATA=str(tmp_path)).stdout)}
    assert about["cifar10"].endswith("ten classes. Not on this machine.")
    assert about["digits"].endswith("8 x 8 as vectors, ten classes.")
    assert "task.text), with a pretrained encoder." in about["text"], "whole, whether or not the encoder's libraries are there"
    (facts,) = rows(fedbench("info", "cifar10", "--json", FEDBENCH_DATA=str(tmp_path)).stdout)
    assert facts["models"] == ["softmax", "mlp", "cnn_878538", "alexnet", "vgg19", "resnet18"]
    assert rows(fedbench("info", "digits", "--json").stdout)[0]["models"] == ["softmax", "mlp"]
    assert f"looked in {tmp_path / 'cifar-10-batches-py'} (no such folder)" in facts["missing"]
    assert "data: on this machine" in fedbench("info", "digits", FEDBENCH_DATA=str(tmp_path)).stdout


def test_what_a_scenario_asks_of_rounds_is_shown() -> None:
    part = ["--set", "rounds.deadline_seconds=1", "--set", "budget.seconds=9", "--json"]
    found = rows(fedbench("plan", "digits-flaky", "-a", "fedavg", "-a", "fedbuff", *part).stdout)
    assert [row["rounds"] for row in found] == ["deadline 1 s", "not applicable (Stream): deadline 1 s"]
    assert all(row["jobs_left"] > 0 for row in found)
    assert found[0]["jobs_late"] > 0
    assert "a scenario's rounds: not applicable (Stream)" in fedbench("info", "fedbuff").stdout
    assert "deadline_seconds" in fedbench("info", "digits-flaky").stdout


def test_plans_stand_side_by_side() -> None:
    several = ["-a", "fedavg", "-a", "fedbuff[buffer_size=5]", "-a", "quafl", "--set", "budget.seconds=4"]
    lines = fedbench("plan", "digits-demo", *several).stdout.splitlines()
    assert lines[1].split() == ["fedavg", "fedbuff[buffer_size=5]", "quafl"]
    assert [line.split() for line in lines if line.startswith("outcome")] == [["outcome", *["finished"] * 3]]
    assert [line for line in lines if line.startswith("quafl: plan digest: ")] == lines[-1:]


def test_a_million_jobs_are_planned_without_data_or_torch() -> None:
    """Mean staleness is (M_c - 1) / M whatever the speeds; peak memory stays below 500 MB."""
    result = fedbench(*PLAN_1M, "--set", "budget.updates=10000", "--json")
    (plan,) = rows(result.stdout)
    assert (plan["jobs_consumed"], plan["updates"], plan["outcome"]) == (1_000_000, 10_000, "finished")
    assert plan["staleness_mean_steady"] == pytest.approx((10_000 - 1) / 100, rel=0.01)
    assert plan["peak_mb"] < 500


@pytest.fixture(scope="module", name="ran")
def _ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, Any]]]:
    """A folder with the records of four runs, which nobody may change, and their JSON."""
    folder = tmp_path_factory.mktemp("ran")
    several = ["-a", "fedavg[cohort_size=2]", "-a", "fedbuff[buffer_size=2]", "--seeds", "2"]
    run = fedbench("run", "digits-demo", *several, *SMALL, "--json", cwd=folder)
    assert run.returncode == 0, run.stderr
    return folder, rows(run.stdout)


@pytest.fixture(name="copied")
def _copied(ran: tuple[Path, list[dict[str, Any]]], tmp_path: Path) -> tuple[Path, list[dict[str, Any]]]:
    return Path(shutil.copytree(ran[0], tmp_path / "copied")), ran[1]


def test_run_build_verify(copied: tuple[Path, list[dict[str, Any]]]) -> None:
    folder, records = copied
    assert [(r["spec"]["algorithm"]["name"], r["spec"]["seed"]) for r in records] == [
        ("fedavg", 0), ("fedavg", 1), ("fedbuff", 0), ("fedbuff", 1),
    ]  # fmt: skip
    assert fedbench("leaderboard", "build", cwd=folder).returncode == 0
    assert "<svg" in (folder / "leaderboard/index.html").read_text()
    assert fedbench("leaderboard", "check", cwd=folder).returncode == 0
    verified = fedbench("verify", records[0]["record"], "--json", cwd=folder)
    assert verified.returncode == 0
    assert rows(verified.stdout)[0]["verdict"] == "identical"
    again = fedbench("run", "digits-demo", "-a", "fedavg[cohort_size=2]", *SMALL, "--resume", cwd=folder)
    assert "1 of 1: fedavg[cohort_size=2] seed 0: finished" in again.stderr
    assert "in the store" in again.stderr


def test_a_trace_of_a_record(copied: tuple[Path, list[dict[str, Any]]]) -> None:
    folder, records = copied
    assert fedbench("trace", "runs", cwd=folder).returncode == 2
    assert fedbench("trace", records[0]["record"], cwd=folder).returncode == 0
    assert (folder / "trace.json").exists()
    unwritable = fedbench("trace", records[0]["record"], "-o", "trace.json/t.json", cwd=folder)
    assert unwritable.returncode == 2
    assert "cannot be written" in unwritable.stderr
    assert "Traceback" not in unwritable.stderr


def test_a_truncated_record_is_left_out_and_named(copied: tuple[Path, list[dict[str, Any]]]) -> None:
    folder, records = copied
    truncated = folder / records[1]["record"] / "record.json"
    truncated.write_bytes(truncated.read_bytes()[:1000])
    built, verified = fedbench("leaderboard", "build", cwd=folder), fedbench("verify", str(truncated.parent), cwd=folder)
    assert (built.returncode, verified.returncode) == (0, 1)
    assert f"left out: record runs/digits-demo/fedavg/{truncated.parent.name}/record.json: cannot be read" in built.stderr
    assert "truncated" in verified.stderr


def test_runs_side_by_side_give_the_same_records(tmp_path: Path) -> None:
    arguments = ["run", "digits-demo", "-a", "fedbuff[buffer_size=2]", "--seeds", "2", *SMALL, "--json"]
    alone, aside = (fedbench(*arguments, "--store", str(tmp_path / j), "-j", j, "--workers", j) for j in "12")
    assert [r["digests"] for r in rows(alone.stdout)] == [r["digests"] for r in rows(aside.stdout)]


def test_conformance(tmp_path: Path) -> None:
    result = fedbench("conformance", "--json")
    found = {row["id"]: row for row in rows(result.stdout)}
    assert result.returncode == 0
    assert set(found["fedbuff-hand"]) == {"id", "status", "precision", "max_error", "where"}
    assert found["fedbuff-hand"]["status"] == "pass"
    assert {row["status"] for row in found.values()} <= {"pass", "unsupported"}
    (tmp_path / "bad.json").write_text("{")
    broken = fedbench("conformance", str(tmp_path), "--json")
    assert (broken.returncode, rows(broken.stdout)[0]["status"]) == (1, "error")


BAD = [
    (["run", "digits-demo", "-a", "fedbuf"], "unknown algorithm 'fedbuf'; did you mean 'fedbuff'?"),
    (["run", "digits-demo", "-a", "fedbuff[bufer_size=3]"], "unknown option 'bufer_size'; did you mean 'buffer_size'?"),
    (["run", "digits-demo", "-a", "fedbuff[buffer_size=0]"], "fedbuff: buffer_size must be an integer >= 1, got 0"),
    (["run", "digits-demo", "-a", "fedbuff[scaling=cube]"], "scaling must be one of 'none', 'sqrt', got 'cube'"),
    (["run", "digits-demo", "-a", "fedbuff[buffer_size"], "expected name or name[param=value,...]"),
    (["run", "digits-demo", "-a", "fedavg", "--set", "budget.secnds=3"], "unknown key budget.secnds; did you mean 'seconds'?"),
    (["plan", "digits-flaky", "-a", "fedavg", "--set", "availability.kind=preiodic"], "'preiodic'"),
    (["run", "digits-flaky", "-a", "fedavg", "--set", "rounds.over_selection=11"], "cohort_size 21 without replacement"),
    (["run", "digits-demo", "-a", "fedavg", "--set", "compute.step_seconds=-1"], "compute.step_seconds"),
    (["run", "digits-demo", "-a", "defedavg_iid[cohort_size=21]"], "needs 21 arrivals"),
    (["run", "digits-demo", "-a", "fedbuff[concurrency=21]"], "concurrency 21 is more than the 20 clients"),
    (["run", "digits-demo", "-a", "fedavg[cohort_size=21]"], "cohort_size 21 without replacement is more than the 20 clients"),
    (["run", "digits-demo", "-a", "fedavg", "-a", "fedavg"], "asked for twice"),
    (["run", "digits-demo", "-a", "fedavg", "--set", "task.model=cnn_21840"], "use softmax or mlp"),
    (["run", "digits-demo", "-a", "fedavg", "--set", "partition={kind: iid}", "--set", "clients=2000"], "without an example"),
    (["run", "digits-demo", "-a", "fedavg", "--store", "file/runs"], "cannot be written"),
    (["run", "digit-demo", "-a", "fedavg"], "did you mean 'digits-demo'?"),
    (["verify", "nowhere"], "record nowhere: there is no such folder"),
    (["verify", "."], "record .: expected record.json and curves.parquet, or a store that has finished records"),
    (["trace", "nowhere"], "record nowhere: there is no such folder"),
    (["leaderboard", "build", "--store", "nowhere"], "there is no such folder"),
    (["conformance", "nowhere"], "no *.json vectors"),
    (["info", "fedav"], "did you mean 'fedavg'?"),
    (["info", "axes"], "info: axes is a suite; fedbench suite plan axes shows what it compares"),
    (["run", "digits-demo", "-a", "fedavg", "--seeds", "abc"], "got 'abc'"),
    (["run", "digits-demo", "-a", "fedavg", "--set", "local.stepz=3"], "(digits-demo, with local.stepz=3)"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "message"), BAD, ids=[" ".join(a) for a, _ in BAD])
def test_bad_input_is_one_screen_and_the_right_exit_code(arguments: list[str], message: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = fedbench(*arguments, cwd=tmp_path)
    assert message in result.stderr
    assert result.returncode == 2
    assert "Traceback" not in result.stderr
    assert len(result.stderr.splitlines()) <= 12
    assert not (tmp_path / "runs/digits-demo").exists()


def test_a_missing_data_set_says_what_to_install(tmp_path: Path) -> None:
    code = (
        "import fedbench.tasks.fashion_mnist as f, pathlib; f.DEBIAN = pathlib.Path('/nowhere');"
        "from fedbench.cli.main import main; main()"
    )
    command = [sys.executable, "-c", code, "run", "defedavg-fashion-iid", "-a", "fedavg"]
    result = subprocess.run(
        command, capture_output=True, text=True, cwd=tmp_path, env={**os.environ, "FEDBENCH_DATA": str(tmp_path)}, check=False
    )
    assert result.returncode == 2
    assert "dataset-fashion-mnist" in result.stderr
    assert "Traceback" not in result.stderr


SOON = "from fedbench.launch import progress; progress.LINE_EVERY = 0.1; from fedbench.cli.main import main; main()"
# What a shell runs in the background ignores SIGINT, and so do its children, unless they say
# otherwise.
HEARS_CTRL_C = f"import signal; signal.signal(signal.SIGINT, signal.default_int_handler); {SOON}"
DEAF = f"import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); {SOON}"


@pytest.mark.parametrize("jobs", [pytest.param(1, marks=pytest.mark.slow), 2])
@pytest.mark.parametrize(
    ("program", "sent"),
    [(HEARS_CTRL_C, signal.SIGINT), pytest.param(HEARS_CTRL_C, signal.SIGTERM, marks=pytest.mark.slow), (DEAF, signal.SIGTERM)],
)
def test_ctrl_c_keeps_what_is_done(tmp_path: Path, jobs: int, program: str, sent: signal.Signals) -> None:
    """A terminal sends Ctrl-C to all processes, `kill` sends SIGTERM to one, which a shell may have
    put into the background. The first run ends at its target; of two processes one waits then, the
    other runs."""
    command = [sys.executable, "-c", program, "run", "digits-demo", "-a", "fedbuff", "-a", "fedbuff[local_lr=1e-9]"]
    command += ["--set", "budget.seconds=4000", "--set", "budget.stop_at_target=true", "--set", "targets=[{value: 0.3}]"]
    command += ["--checkpoint-seconds", "1000", "--processes", str(jobs)]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, start_new_session=True)
    assert process.stderr is not None
    lines = iter(process.stderr.readline, "")
    assert any(line.startswith("1 of 2: fedbuff seed 0: finished") for line in lines)
    assert any("virtual s, version" in line for line in lines)
    if sent == signal.SIGINT:
        os.killpg(process.pid, sent)
    else:
        process.send_signal(sent)
    _, stderr = process.communicate(timeout=300)
    assert process.returncode == 130
    assert "continue with --resume" in stderr
    assert "Traceback" not in stderr
    assert list(tmp_path.glob("runs/*/*/*.partial/checkpoint.bin"))


@pytest.mark.parametrize(
    "arguments",
    [
        ["catalogue", "-o", "mine.py"],
        ["new", "algorithm", "mine"],
        pytest.param(["applicability", "-o", "mine.py"], marks=pytest.mark.slow),
    ],
)
def test_files_are_utf_8_whatever_the_locale_is(arguments: list[str], tmp_path: Path) -> None:
    plain = {"LC_ALL": "POSIX", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    result = fedbench(*arguments, cwd=tmp_path, **plain)
    assert result.returncode == 0, result.stderr
    assert ("\N{UP DOWN ARROW}" in (tmp_path / "mine.py").read_text(encoding="utf-8")) == (arguments[0] == "catalogue")
