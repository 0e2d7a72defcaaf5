"""The shipped conformance vectors, and that the checker itself can fail."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fedbench.errors import UsageError
from fedbench.proof.algorithm_vectors import make_algorithm
from fedbench.proof.conformance import SHIPPED, Row, check_file, check_folder

FILES = sorted(SHIPPED.glob("*.json"))
PREFIXES = (
    "ace-",
    "aced-",
    "area-",
    "fedavg-",
    "fedasync-",
    "fedbuff-",
    "defedavg-iid-",
    "scaffold-",
    "fedac-",
    "ca2fl-",
    "fadas-",
    "mifa-",
    "asysg-",
    "defedavg-niid-",
    "quafl-",
    "ringleader-",
    "favano-",
    "generalized-async-",
    "malenia-",
    "rennala-",
    "ringmaster-",
    "plan-fifo-",
    "theory-network-",
    "plan-fresh-",
    "plan-harmonic-",
    "plan-over-",
    "plan-stop-",
    "fedadam-",
    "fedagrac-",
    "fedawe-",
    "feddyn-",
    "fedlin-",
    "fednova-",
    "fedprox-",
    "fedstale-",
    "fedvarp-",
    "msync-",
    "plan-",
    "kernel-",
)
MUST_PASS = [file for file in FILES if file.stem.startswith(PREFIXES)]


def test_the_vectors_are_there() -> None:
    assert len(FILES) >= 80
    for prefix in PREFIXES:
        assert any(file.stem.startswith(prefix) for file in MUST_PASS), prefix
    assert all(json.loads(file.read_text())["id"] == file.stem for file in FILES)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_vector_passes_or_is_unsupported(file: Path) -> None:
    row = check_file(file)
    allowed = {"pass"} if file in MUST_PASS else {"pass", "unsupported"}
    assert row.status in allowed, row.where
    assert row.id == file.stem
    if row.status == "pass":
        assert row.max_error is not None
        assert 0 <= row.max_error <= 1
        assert row.precision == ("int64" if file.stem.startswith("plan-") else "float64+float32")
    else:
        assert row.where


def test_check_folder_runs_all_files_in_name_order() -> None:
    rows = check_folder()
    first = next(rows)
    assert first.id == FILES[0].stem
    assert json.loads(first.as_json())["status"] == first.status


# ---- the checker can fail
# ------------------------------------------------------------------------------------------------------


@pytest.fixture
def check(tmp_path: Path) -> Callable[[str, Callable[[Any], Any]], Row]:
    """Check a shipped vector after a change to it."""

    def run(name: str, change: Callable[[Any], Any]) -> Row:
        vector = json.loads((SHIPPED / f"{name}.json").read_text())
        changed = copy.deepcopy(vector)
        change(changed)
        assert changed != vector
        file = tmp_path / f"{name}.json"
        file.write_text(json.dumps(changed))
        return check_file(file)

    return run


def put(value: Any, *path: Any) -> Callable[[Any], None]:
    """Replace the value at the path; a callable gets the old one."""

    def change(vector: Any) -> None:
        *way, last = path
        for step in way:
            vector = vector[step]
        vector[last] = value(vector[last]) if callable(value) else value

    return change


def drop(*path: Any) -> Callable[[Any], None]:
    def change(vector: Any) -> None:
        *way, last = path
        for step in way:
            vector = vector[step]
        del vector[last]

    return change


def larger(x: Any) -> Any:
    """More than any float64 tolerance, less than the float32 ones."""
    return x + 1e-7 * max(1.0, abs(x))


def another(x: Any) -> Any:
    return x + 0.25


FAILING: list[tuple[str, Callable[[Any], Any], str]] = [
    ("fedavg-hand", put(larger, "expected", "x", -1, 0), "x["),
    ("fedavg-p-full-softmax", put(larger, "expected", "x", 1, 2), "x[1]"),
    ("fedbuff-stream", put(another, "problem", "clients", 0, "c", 0), "times the tolerance"),
    ("fedasync-hand", put(lambda x: x[:-1], "expected", "x", -1), "expected shape"),
    ("scaffold-hand", put(larger, "expected", "state", "c", 0), "c: error"),
    ("fedac-hand", put(larger, "expected", "state", "C_i", 1, 0), "C_i[1]"),
    ("fedadam-amsgrad-hand", put(larger, "expected", "state", "vhat", 0), "vhat: error"),
    ("fedagrac-default", put(larger, "expected", "state", "nu_i", 2, 0), "nu_i[2]"),
    ("fedagrac-tie", put("first", "algorithm", "params", "variant"), "x["),
    ("fedagrac-schedule", put(lambda rows: rows[:1], "algorithm", "params", "lambda"), "x["),
    ("feddyn-hand", put(larger, "expected", "state", "h", 0), "h: error"),
    ("fedlin-hand", put(another, "algorithm", "params", "eta_bar"), "x["),
    ("fednova-full", put("max", "algorithm", "params", "tau_eff"), "x["),
    ("fedprox-partial", put(another, "algorithm", "params", "mu"), "x["),
    ("fedavg-hand", put(None, "expected", "x", -1), "expected null, got a value"),
    ("defedavg-iid-hand", put(another, "algorithm", "params", "eta_g"), "x["),
    ("ace-hand", put("warm", "algorithm", "params", "start"), "x["),
    ("ace-seen-hand", put("warm", "algorithm", "params", "start"), "x["),
    ("ace-quad", put(larger, "expected", "state", "h_i", 3, 0), "h_i[3]"),
    ("aced-hand", put(2, "algorithm", "params", "tau"), "x["),
    ("aced-hand", put(lambda base: base + 1, "expected", "state", "base_i", 1), "base_i"),
    ("area-hand", put(larger, "expected", "state", "y_i", 0, 0), "y_i[0]"),
    ("fedawe-hand", put(lambda last: last - 1, "expected", "state", "last_i", 0), "last_i"),
    ("fedstale-hand", put(1.0, "algorithm", "params", "beta"), "x["),
    ("fedstale-interval-hand", put(None, "algorithm", "params", "cutoff"), "x["),
    ("fedstale-known", put("cohort", "algorithm", "params", "participation"), "x["),
    ("fedvarp-quad", put(larger, "expected", "state", "y_i", 0, 0), "y_i[0]"),
    ("msync-hand", put(another, "algorithm", "params", "eta_g"), "x["),
    ("ringleader-hand", put(larger, "expected", "state", "mean_i", 1, 1), "mean_i[1]"),
    ("ringleader-hand", put(3, "expected", "state", "count_i", 0), "count_i"),
    ("kernel-staleness", put(larger, "expected", "weights", 1, 2), "weights[1]"),
    ("kernel-accumulate-sqrt", put(larger, "expected", "buffer", -1, 0), "buffer"),
    ("kernel-fedac-weights", put(lambda cos: [0.5 if c is None else c for c in cos], "expected", "cos"), "cos: not finite"),
    ("kernel-distill-normal", put(larger, "expected", "grad", 1, 2), "grad[1]"),
    ("kernel-distill-ties", put(lambda label: label + 1, "expected", "label", 0), "label"),
    ("kernel-teacher-mean", put(another, "expected", "count"), "count"),
    ("kernel-adam", put(larger, "expected", "params", 4, 1, 0), "params"),
    ("kernel-clip-exact", put(another, "expected", "factor", 0), "factor"),
    ("kernel-fadas-da", put(another, "expected", "eta", 1), "eta"),
    ("plan-rounds-basic", put(another, "expected", "updates", 0, "time"), "updates[0]: expected"),
    ("plan-stream-hand", put(lambda s: [s[0] + 1, *s[1:]], "expected", "updates", 1, "staleness"), "updates[1]: expected"),
    ("plan-stream-rich", put(lambda jobs: jobs[::-1], "expected", "updates", 0, "jobs"), "updates[0]"),
    ("plan-stream-ties", drop("expected", "updates", -1), "updates: expected"),
    ("plan-broadcast-rich", put(another, "expected", "jobs", 0, "t_start"), "t_start"),
    ("plan-broadcast-hand", put(lambda base: base + 1, "expected", "jobs", -1, "base"), "expected base"),
    ("plan-rounds-replacement", put(lambda steps: steps + 1, "expected", "jobs", 0, "steps"), "steps"),
    ("plan-stream-self", put(lambda jobs: [*jobs, jobs[0] | {"job": 999, "k": 999}], "expected", "jobs"), "k=999: missing"),
    ("plan-mailbox-peek", put(0.5, "expected", "jobs", 0, "t_arrive"), "t_arrive"),
    ("plan-mailbox-hand", drop("expected", "jobs", -1), "not expected"),
    ("plan-mailbox-peek", put("on_demand", "schedule", "policy", "send"), "expected"),
    ("plan-poll-hand", put(another, "schedule", "policy", "period"), "updates[0]: expected"),
    ("plan-poll-hand", put(lambda steps: steps + 1, "expected", "jobs", -1, "steps"), "expected base"),
    ("plan-turns-newest-hand", put("turn", "schedule", "policy", "resend"), "updates["),
    ("plan-turns-rich", put(another, "expected", "jobs", 9, "t_start"), "t_start"),
    ("plan-rounds-basic", put(lambda s: s[:1], "schedule", "policy", "selections"), "was needed"),
]


@pytest.mark.parametrize(("name", "change", "where"), FAILING, ids=[f"{i}-{row[0]}" for i, row in enumerate(FAILING)])
def test_a_changed_value_fails(check: Callable[..., Row], name: str, change: Callable[[Any], Any], where: str) -> None:
    row = check(name, change)
    assert row.status == "fail", row
    assert where in row.where


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_a_vector_expects_is_finite(check: Callable[..., Row], value: float) -> None:
    """Else an error of any size would be a share of it, or be no number."""
    for path, where in ((("expected", "x", 1, 0), "x[1]"), (("tolerance", "float64", "atol"), "x[0]")):
        row = check("fedavg-hand", put(value, *path))
        assert (row.status, row.where) == ("error", f"ValueError: {where}: expected value and tolerance must be finite")


def test_a_run_that_diverges_fails(check: Callable[..., Row]) -> None:
    row = check("fedavg-hand", put(1e300, "algorithm", "params", "eta_l"))
    assert (row.status, row.where) == ("fail", "x: version 1 is not finite")


def test_a_job_that_the_vector_does_not_know_fails(check: Callable[..., Row]) -> None:
    """A job in flight at the end, taken out of the expected list."""
    vector = json.loads((SHIPPED / "plan-stream-hand.json").read_text())
    consumed = {job for update in vector["expected"]["updates"] for job in update["jobs"]}
    flying = [i for i, job in enumerate(vector["expected"]["jobs"]) if job["job"] not in consumed]
    row = check("plan-stream-hand", drop("expected", "jobs", flying[0]))
    assert row.status == "fail"
    assert "not expected" in row.where


def test_the_size_of_an_error_is_reported(check: Callable[..., Row]) -> None:
    vector = json.loads((SHIPPED / "fedavg-hand.json").read_text())
    tolerance = vector["tolerance"]["float64"]
    x = vector["expected"]["x"][-1][0]
    step = 10 * (tolerance["atol"] + tolerance["rtol"] * abs(x))
    row = check("fedavg-hand", put(x + step, "expected", "x", -1, 0))
    assert (row.status, row.precision) == ("fail", "float64")
    assert row.max_error == pytest.approx(10, rel=0.01)
    assert check("fedavg-hand", put(x + step / 100, "expected", "x", -1, 0)).status == "pass"


UNSUPPORTED: list[tuple[str, Callable[[Any], Any], str]] = [
    ("fedavg-hand", put("fedmagic", "algorithm", "name"), "algorithm 'fedmagic'"),
    ("fedavg-hand", put("median", "algorithm", "params", "weights"), "weights must be"),
    ("fedavg-hand", put(1, "algorithm", "params", "new_option"), "unknown option 'new_option'"),
    ("fedasync-poly", put("exp", "algorithm", "params", "staleness", "kind"), "staleness must be"),
    ("fednova-full", put("p_squared", "algorithm", "params", "weights"), "weights must be"),
    ("fedagrac-default", put([[1, 0.5]], "algorithm", "params", "lambda"), "rounds ascending from 0"),
    ("fedavg-hand", put("cubic", "problem", "kind"), "unknown kind 'cubic'"),
    ("scaffold-hand", put([1.0], "expected", "state", "momentum"), "state 'momentum' of scaffold"),
    ("fedavg-hand", put("fedbench.algorithm.v2", "format"), "format 'fedbench.algorithm.v2'"),
    ("kernel-adam", put("lion", "inputs", "optimizer", "name"), "optimizer 'lion'"),
    ("kernel-fadas-da", put("sqrt", "inputs", "shrink"), "shrink must be one of 'code', 'paper_min', got 'sqrt'"),
    ("kernel-staleness", put("attention", "kernel"), "kernel 'attention'"),
    ("kernel-staleness", put("exp", "inputs", "functions", 0, "kind"), "staleness function 'exp'"),
    ("plan-rounds-basic", put("carousel", "schedule", "policy", "kind"), "policy 'carousel'"),
    ("plan-stream-hand", put("elsewhere", "schedule", "policy", "restart"), "restart 'elsewhere'"),
    ("plan-stream-hand", put("at_noon", "schedule", "policy", "dispatch"), "dispatch 'at_noon'"),
    ("plan-broadcast-hand", put("copy", "schedule", "policy", "receive"), "receive 'copy'"),
    ("plan-mailbox-hand", put("later", "schedule", "policy", "send"), "send 'later'"),
]


@pytest.mark.parametrize(("name", "change", "where"), UNSUPPORTED, ids=[row[2] for row in UNSUPPORTED])
def test_what_is_unknown_is_unsupported(check: Callable[..., Row], name: str, change: Callable[[Any], Any], where: str) -> None:
    row = check(name, change)
    assert row.status == "unsupported", row
    assert where in row.where


@pytest.mark.parametrize(
    ("name", "params", "options"),
    [
        ("fedprox", {"eta_g": 0.5, "mu": 2, "prox": "l1_squared"}, {"server_lr": 0.5, "prox": 2, "prox_form": "l1_squared"}),
        ("fednova", {"weights": "p", "tau_eff": 3, "momentum": 0.5}, {"weights": "p_normalised", "tau_eff": 3, "momentum": 0.5}),
        ("fednova", {"weights": "uniform"}, {"weights": "uniform"}),
        ("fedagrac", {"lambda": "increase", "init": "zero"}, {"calibration_rate": "increase", "init_reference": "zero"}),
        ("fedagrac", {"lambda": [[0, 0.1], [3, 1]]}, {"calibration_rate": ((0, 0.1), (3, 1.0))}),
        ("fedlin", {"eta_bar": 0.5}, {"local_lr": 0.5}),
        ("feddyn", {"eta_l": 0.5, "a": 0.1}, {"local_lr": 0.5, "regularization": 0.1}),
        ("fedadam", {"v0": "eps2", "eps": 0}, {"init_moment": "eps2", "eps": 0}),
    ],
)
def test_names_and_values_of_the_format(name: str, params: dict[str, Any], options: dict[str, Any]) -> None:
    made = make_algorithm(name, params).options()
    assert {option: made[option] for option in options} == options


def test_unknown_keys_are_ignored(check: Callable[..., Row]) -> None:
    assert check("fedavg-hand", put("hello", "comment")).status == "pass"
    assert check("plan-rounds-basic", put("hello", "schedule", "comment")).status == "pass"
    for kernel in ("adam", "dylu", "fadas-plain"):
        assert check(f"kernel-{kernel}", put("hello", "inputs", "comment")).status == "pass"


def test_tensors_may_have_any_shape(check: Callable[..., Row]) -> None:
    """The norm is that of all tensors, and what is expected has their shapes."""

    def standing(tensors: list[list[float]]) -> list[list[list[float]]]:
        return [[[number] for number in tensor] for tensor in tensors]

    def change(vector: Any) -> None:
        inputs, expected = vector["inputs"], vector["expected"]
        inputs["params"], inputs["grads"] = standing(inputs["params"]), [standing(step) for step in inputs["grads"]]
        expected["params"] = [standing(step) for step in expected["params"]]

    assert check("kernel-clip-exact", change).status == "pass"
    assert check("kernel-clip-exact", lambda v: (change(v), v["expected"]["params"][0].reverse())).status == "fail"


def test_numbers_may_be_whole_and_defaults_may_be_left_out(check: Callable[..., Row]) -> None:
    """JSON does not tell 4.0 from 4; who has a turn is sent the model unless the vector says
    otherwise."""

    def whole(vector: Any) -> None:
        vector["inputs"], vector["expected"] = {"step_seconds": [4, 1, 2], "steps": 16}, {"steps": [4, 16, 8]}

    assert check("kernel-dylu", whole).status == "pass"
    assert check("plan-turns-hand", drop("schedule", "policy", "resend")).status == "pass"
    assert check("plan-turns-newest-hand", drop("schedule", "policy", "resend")).status == "fail"
    assert check("plan-turns-hand", put(None, "schedule", "policy", "resend")).status == "pass"
    assert check("plan-stream-hand", put(None, "schedule", "policy", "queue")).status == "pass"
    assert check("kernel-fadas-plain", drop("inputs", "tau_c")).status == "pass"
    assert check("kernel-clip-exact", drop("inputs", "clip")).status == "fail"  # its second step is clipped


@pytest.mark.parametrize("text", ["{", "", "[1, 2]", "7", "\x00"])
def test_broken_files_are_errors(tmp_path: Path, text: str) -> None:
    file = tmp_path / "broken.json"
    file.write_text(text)
    row = check_file(file)
    assert (row.id, row.status) == ("broken", "error")
    assert row.where


def test_missing_files_and_keys_are_errors(check: Callable[..., Row], tmp_path: Path) -> None:
    assert check_file(tmp_path / "none.json").status == "error"
    for path in (("x0",), ("plan", "jobs", 0, "steps"), ("tolerance",)):
        row = check("fedavg-hand", drop(*path))
        assert row.status == "error", path
        assert row.where == f"{'.'.join(map(str, path))}: Field required"
    row = check("fedavg-hand", drop("problem", "clients", 1, "c"))
    assert (row.status, row.where) == ("error", "ValueError: problem: expected c, found none")
    assert check("fedavg-hand", put([7, 7], "plan", "updates", 0, "jobs")).status == "error"
    assert check("plan-rounds-basic", drop("schedule", "compute")).status == "error"
    for option in ("buffer", "restart", "dispatch", "initial", "replacements"):
        row = check("plan-stream-hand", drop("schedule", "policy", option))
        assert (row.status, row.where) == ("error", f"ValueError: policy stream: expected {option}, found none")
    row = check("plan-stream-hand", drop("schedule", "steps"))
    assert (row.status, row.where) == ("error", "ValueError: schedule: expected steps, found none")


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no \*.json vectors"):
        check_folder(tmp_path)
    (tmp_path / "a.json").write_text("{}")
    assert [row.status for row in check_folder(tmp_path)] == ["unsupported"]
