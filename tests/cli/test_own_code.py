"""`fedbench new metric` and `fedbench new optimizer`: what they write works as it stands."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from fedbench.cli.new import metric, optimizer
from fedbench.errors import UsageError

from .commands import fedbench


@pytest.mark.slow
@pytest.mark.extra("torch")
@pytest.mark.parametrize("kind", ["metric", "optimizer"])
def test_what_new_writes_passes_as_it_stands(kind: str, tmp_path: Path) -> None:
    made = fedbench("new", kind, "my_own", "--directory", str(tmp_path))
    assert made.returncode == 0, made.stderr
    assert f"fedbench test {tmp_path}/my_own.py:MyOwn" in made.stdout
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_my_own.py"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert "2 passed" in result.stdout, result.stdout
    tested = fedbench("test", f"{tmp_path}/my_own.py:MyOwn")
    assert tested.stdout.endswith(f"{kind} {tmp_path}/my_own.py:MyOwn: the contract is kept\n"), tested.stdout
    assert tested.stdout.count("pass ") == 7
    pytest.importorskip("ruff")
    checked = subprocess.run([sys.executable, "-m", "ruff", "check", "--isolated", "."], cwd=tmp_path, check=False)
    assert checked.returncode == 0
    again = fedbench("new", kind, "my_own", "--directory", str(tmp_path))
    assert again.returncode == 2
    assert again.stderr.count("\n") == 1
    assert f"new {kind}: {tmp_path}/my_own.py is there already" in again.stderr


@pytest.mark.parametrize(
    ("write", "name", "message"),
    [
        (metric, "client_loss", "new metric: expected a name that no other curve or column has, got 'client_loss'"),
        (metric, "seed", "new metric: expected a name that no other curve or column has, got 'seed'"),
        (metric, "F1", "new metric: the name must be small letters, digits and underscores, such as my_metric, got 'F1'"),
        (metric, "lambda", "new metric: 'lambda' is a word of Python"),
        (optimizer, "numpy", "new optimizer: 'numpy' is an installed module"),
        (optimizer, "1st", "new optimizer: the name must be small letters, digits and underscores, such as my_optimizer, got '1st'"),
    ],
)  # fmt: skip
def test_bad_names(write: object, name: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as error:
        write(name, tmp_path)  # type: ignore[operator]
    assert str(error.value).startswith(message)
    assert not list(tmp_path.iterdir())
