"""`fedbench new algorithm`, algorithms in files, and what a record says of where its algorithm
is."""

from __future__ import annotations

import json
import pickle
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

import fedbench as fb
from fedbench import origins, registry
from fedbench.cli.new import _say_what_next, check_name
from fedbench.engine.spec import RunSpec
from fedbench.engine.verify import verify
from fedbench.errors import RecordError, UsageError
from fedbench.scenarios.load import load

from .commands import fedbench

SMALL = ["--set", "clients=6", "--set", "budget.seconds=1", "--set", "local.steps=1", "--set", "task.model=softmax"]


@pytest.fixture(scope="module", name="folder")
def _folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("new")
    made = fedbench("new", "algorithm", "my_rule", "--directory", str(folder))
    assert made.returncode == 0, made.stderr
    assert "my_rule.py:MyRule" in made.stdout
    return folder


def test_what_new_writes_passes_as_it_stands(folder: Path) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_my_rule.py"]
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    assert "3 passed" in result.stdout, result.stdout
    pytest.importorskip("ruff")
    assert (
        subprocess.run([sys.executable, "-m", "ruff", "check", "--isolated", "my_rule.py"], cwd=folder, check=False).returncode
        == 0
    )


def test_new_shows_an_entry_point(capsys: pytest.CaptureFixture[str]) -> None:
    """What it prints for pyproject.toml is TOML with the group that the registry reads."""
    _say_what_next("my_rule", "MyRule", Path("folder"))
    printed = capsys.readouterr().out.partition("of your package:\n")[2]
    assert tomllib.loads(printed)["project"]["entry-points"] == {origins.ALGORITHMS: {"my_rule": "your_package.my_rule:MyRule"}}
    assert origins.ALGORITHMS == "fedbench.algorithms"


def test_a_link_names_the_file_of_a_record(folder: Path, tmp_path: Path) -> None:
    """Whatever the name of the file behind it."""
    shutil.copy(folder / "my_rule.py", tmp_path / "3f2a9c")
    (tmp_path / "mine.py").symlink_to("3f2a9c")
    (record,) = fb.run("digits-demo", f"{tmp_path / 'mine.py'}:MyRule", overrides=SMALL[1::2])
    origin = record.spec.algorithm.origin
    assert origin is not None
    assert origin.file == "mine.py"


def test_new_overwrites_nothing(folder: Path) -> None:
    before = (folder / "my_rule.py").read_text()
    again = fedbench("new", "algorithm", "my_rule", "--directory", str(folder))
    assert (again.returncode, "is there already" in again.stderr) == (2, True)
    assert (folder / "my_rule.py").read_text() == before


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("1st", "must be small letters, digits and underscores, such as my_algorithm, got '1st'"),
        ("my-rule", "got 'my-rule'"),
        ("MyRule", "got 'MyRule'"),
        ("lambda", "'lambda' is a word of Python"),
        ("match", "'match' is a word of Python"),
        ("fedbuff", "'fedbuff' is taken by 'fedbuff'"),
        ("fed_avg", "'fed_avg' is taken by 'fedavg'"),
        ("numpy", "'numpy' is an installed module"),
    ],
)
def test_bad_names(name: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        check_name("algorithm", name)


def test_a_file_works_wherever_a_name_does(folder: Path) -> None:
    """In processes of their own too; from another folder only when told where the file is, and only
    the same file."""
    run = fedbench(
        "run", "digits-demo", "-a", "./my_rule.py:MyRule[damping=0.5]", *SMALL, "--seeds", "2", "-j", "2", "--json", cwd=folder
    )
    assert run.returncode == 0, run.stderr
    record = json.loads(run.stdout.splitlines()[0])
    origin = record["spec"]["algorithm"]["origin"]
    assert (origin["kind"], origin["file"], origin["class"], len(origin["sha256"])) == ("file", "my_rule.py", "MyRule", 64)
    assert str(folder) not in json.dumps(record["spec"])
    assert record["spec"]["selector"] == "my_rule[damping=0.5]"
    assert fedbench("verify", record["record"], "-a", "my_rule.py:MyRule", cwd=folder).returncode == 0
    for arguments, message in (
        ([], "no file is run because a record names it; say where it is with --algorithm path/to/my_rule.py:MyRule"),
        (["-a", "changed.py:MyRule"], "it was changed after the run, or is another one, and was not run"),
    ):
        shutil.copy(folder / "my_rule.py", folder.parent / "changed.py")
        (folder.parent / "changed.py").write_text((folder / "my_rule.py").read_text() + "\n")
        failed = fedbench("verify", str(folder / record["record"]), *arguments, cwd=folder.parent)
        assert failed.returncode == 2
        assert message in failed.stderr
    found = fedbench("trace", str(folder / record["record"]), "-a", str(folder / "my_rule.py:MyRule"), cwd=folder.parent)
    assert found.returncode == 0, found.stderr
    assert "damping" in fedbench("info", str(folder / "my_rule.py:MyRule")).stdout


def test_nothing_is_proposed_above_an_error(tmp_path: Path) -> None:
    (tmp_path / "slips.py").write_text(SLIPS)
    failed = fedbench("run", "digits-demo", "-a", "./slips.py", *SMALL, "--seeds", "2", cwd=tmp_path)
    assert failed.returncode == 1
    assert "next:" not in failed.stderr
    assert "slips seed 0, slips seed 1: " in failed.stderr.replace("[cohort_size=2]", "")


def test_info_shows_what_is_tried(folder: Path, tmp_path: Path) -> None:
    code = (folder / "my_rule.py").read_text().replace("Positive, Tools", "Log, Positive, Tools, option")
    (tmp_path / "tuned.py").write_text(code.replace("Positive = 1.0", "Positive = option(1.0, search=Log(0.1, 3))"))
    shown = fedbench("info", "./tuned.py", cwd=tmp_path).stdout
    (head,) = (line for line in shown.splitlines() if line.startswith("name"))
    assert head.split()[:4] == ["name", "default", "allowed", "tuned"]
    assert "0.1 to 3 (log)" in shown
    facts = json.loads(fedbench("info", "./tuned.py", "--json", cwd=tmp_path).stdout)
    assert {one["name"]: one["search"] for one in facts["options"] if "search" in one} == {"server_lr": "0.1 to 3 (log)"}
    assert "tuned" not in fedbench("info", "fedbuff").stdout


def test_a_title_is_in_the_record_and_in_tables(tmp_path: Path, folder: Path) -> None:
    """Without the code, which a table does not run; the one of another process says the same."""
    code = (folder / "my_rule.py").read_text()
    (tmp_path / "titled.py").write_text(code.replace('    source = "', '    title = "Damped & _buffered_"\n    source = "', 1))
    own = ("-a", "./titled.py:MyRule", "-a", "./titled.py:MyRule[damping=0.5]")
    run = fedbench("run", "digits-demo", *own, "-a", "fedbuff", *SMALL, "--json", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    first, second, third = map(json.loads, run.stdout.splitlines())
    assert first["spec"]["algorithm"]["title"] == "Damped & _buffered_"
    assert "title" not in third["spec"]["algorithm"]
    assert second["spec"]["selector"] == "my_rule[damping=0.5]", "titles name no run"
    verified = fedbench("verify", first["record"], "-a", "titled.py:MyRule", cwd=tmp_path)
    assert verified.returncode == 0, verified.stderr + verified.stdout
    (tmp_path / "titled.py").unlink()
    table = fedbench("table", "--metric", "test_accuracy", cwd=tmp_path).stdout
    assert r"| Damped \& \_buffered\_ |" in table
    assert r"| Damped \& \_buffered\_ \[damping=0.5\] |" in table
    assert "| fedbuff |" in table
    (tmp_path / "names.yaml").write_text("my_rule: Mine")
    assert "| Mine |" in fedbench("table", "--metric", "test_accuracy", "--names", "names.yaml", cwd=tmp_path).stdout


@pytest.mark.parametrize("title", ["3", "' '", r"'a\nb'", "'a' * 101", "None", "' a'"])
def test_what_is_no_title(tmp_path: Path, title: str) -> None:
    (tmp_path / "f.py").write_text(f"import fedbench\nclass Mine(fedbench.Algorithm):\n    name = 'mine'\n    title = {title}\n")
    with pytest.raises(UsageError, match="mine: the class attribute `title` must be at most 100 printable letters, got"):
        registry.algorithm(f"{tmp_path}/f.py:Mine")


def test_two_contents_are_two_runs(tmp_path: Path, folder: Path) -> None:
    specs = []
    for name, more in (("a.py", ""), ("b.py", ""), ("c.py", "\nlater = 1\n")):
        (tmp_path / name).write_text((folder / "my_rule.py").read_text() + more)
        specs.append(RunSpec(load("digits-demo"), registry.algorithm(f"{tmp_path / name}:MyRule"), 0))
    assert specs[0].run_id == specs[1].run_id != specs[2].run_id
    assert pickle.loads(pickle.dumps(specs[0])) == specs[0]


SLIPS = """
from dataclasses import dataclass
from fedbench.algorithms.fedavg import FedAvg

@dataclass(frozen=True)
class Slips(FedAvg):
    name = "slips"
    cohort_size: int = 2

    def step(self, state, batch, tools):
        state.x += batch.nothing
"""
TWO = "import fedbench\nclass A(fedbench.Algorithm): name = 'a'\nclass B(A): name = 'b'\nclass _C(A): name = 'c'"


def test_a_file_with_one_algorithm_names_it(folder: Path) -> None:
    """What it imports and what begins with an underscore does not count."""
    whole = registry.algorithm(f"{folder}/my_rule.py:MyRule[damping=0.25]")
    assert registry.algorithm(f"{folder}/my_rule.py[damping=0.25]") == whole
    assert registry.parse_selector("./a.py[x=1]") == ("./a.py", {"x": 1})


@pytest.mark.parametrize(
    ("text", "selector", "message"),
    [
        (None, "gone.py:X", "gone.py: cannot be read"),
        ("x = 1 +", "f.py:X", "cannot be imported: SyntaxError"),
        ("1 / 0", "f.py:X", "cannot be imported: .*f.py, line 1, in <module>: ZeroDivisionError"),
        ("class Mine: pass", "f.py:Min", "f.py has no class 'Min'; did you mean 'Mine'?"),
        ("class Mine: pass", "f.py:Mine", "expected a class that extends fedbench.Algorithm"),
        ("import fedbench\nclass Mine(fedbench.Algorithm): pass", "f.py:Mine", "the class attribute `name` must be"),
        ("class Mine: pass", "f.py", "expected one algorithm in the file, or .*f.py:Class; it has no class that extends"),
        (TWO, "f.py", "expected one algorithm in the file, or .*f.py:A; it has 2: A, B"),
        ("import fedbench\nclass Mine(fedbench.Algorithm): name = 'fedbuff'", "f.py:Mine", "is that of a built-in algorithm"),
    ],
)
def test_what_a_file_may_not_be(tmp_path: Path, text: str | None, selector: str, message: str) -> None:
    if text is not None:
        (tmp_path / "f.py").write_text(text)
    with pytest.raises(UsageError, match=message.replace("?", r"\?")):
        registry.algorithm(f"{tmp_path}/{selector}")


@pytest.mark.parametrize(
    ("body", "got"),
    [
        ("class Other(Algorithm): name = 'other'", "got Other with 'other'"),
        ("class One(Algorithm): name = 'mine'\nclass Two(One): pass", "got One with 'mine', Two with 'mine'"),
        ("name = 'mine'", "got no algorithm"),
    ],
)
def test_a_built_in_file_whose_class_has_another_name(body: str, got: str) -> None:
    module = ModuleType("fedbench.algorithms.mine")
    module.__dict__["Algorithm"] = fb.Algorithm
    exec(body, module.__dict__)
    with pytest.raises(UsageError, match=f"algorithm mine: fedbench.algorithms.mine: expected one class whose .* 'mine', {got}"):
        registry._algorithm_in(module)


@dataclass(frozen=True, kw_only=True)
class Inline(registry.find("algorithm", "fedavg")):  # type: ignore[misc]
    """Given as an object."""

    name = "inline"


def test_an_object_says_that_it_cannot_be_found() -> None:
    (record,) = fb.run("digits-demo", Inline(cohort_size=2), overrides=[s for s in SMALL if s != "--set"])
    assert record.spec.algorithm.where == {"kind": "object", "class": "Inline"}
    with pytest.raises(RecordError, match="'inline' was given in Python as an object of class Inline; the record does not say"):
        verify(record)


def test_a_missing_entry_point_names_its_package() -> None:
    where = {"kind": "entry point", "class": "X", "package": "nice-rules", "version": "1.2"}
    with pytest.raises(RecordError, match=r"is an entry point of nice-rules 1[.]2, which is not installed here"):
        origins.recorded("nicest", where, None)


def test_built_in_records_say_nothing_more() -> None:
    assert "origin" not in RunSpec(load("digits-demo"), registry.algorithm("fedavg"), 0).recorded.algorithm.as_dict()
