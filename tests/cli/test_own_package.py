"""A package with an algorithm of its own, made as `fedbench new` says, installed, and found
everywhere by its name."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from .commands import fedbench

SMALL = ["--set", "clients=6", "--set", "budget.seconds=1", "--set", "local.steps=1", "--set", "task.model=softmax"]
PROJECT = """\
[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"

[project]
name = "nice-rules"
version = "1.2"

[tool.setuptools]
packages = ["nice_rules"]
"""


@pytest.fixture(scope="module", name="site")
def _site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the package is installed. Its entry point is what `fedbench new` printed,
    with the package's name put in."""
    pytest.importorskip("setuptools")
    root = tmp_path_factory.mktemp("package")
    made = fedbench("new", "algorithm", "my_rule", "--directory", "nice_rules", cwd=root)
    printed = made.stdout.partition("of your package:\n")[2].replace("your_package", "nice_rules")
    assert "[project.entry-points." in printed
    (root / "pyproject.toml").write_text(PROJECT + printed)
    (root / "nice_rules" / "__init__.py").touch()
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--quiet", "--disable-pip-version-check"]
    command = [sys.executable, "-m", "pip", "install", *options, "--target", str(root / "site"), str(root)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert result.returncode == 0, result.stderr
    return root / "site"


@pytest.mark.slow
def test_an_installed_package_is_found_by_its_name(site: Path, tmp_path: Path) -> None:
    listed = fedbench("list", "algorithms", PYTHONPATH=str(site))
    assert "my_rule" in listed.stdout, listed.stderr
    run = fedbench("run", "digits-demo", "-a", "my-rule[damping=0.5]", *SMALL, "--json", cwd=tmp_path, PYTHONPATH=str(site))
    assert run.returncode == 0, run.stderr
    record = json.loads(run.stdout)
    found = hashlib.sha256((site / "nice_rules" / "my_rule.py").read_bytes()).hexdigest()
    assert record["spec"]["algorithm"]["origin"] == {
        "kind": "entry point", "class": "MyRule", "package": "nice-rules", "version": "1.2", "sha256": found,
    }  # fmt: skip
    verified = fedbench("verify", record["record"], "--json", cwd=tmp_path, PYTHONPATH=str(site))
    assert verified.stdout, verified.stderr
    assert json.loads(verified.stdout)["verdict"] == "identical"
    source = site / "nice_rules" / "my_rule.py"
    before = source.read_text()
    try:
        source.write_text(f"{before}\n# better\n")
        again = fedbench(
            "run", "digits-demo", "-a", "my-rule[damping=0.5]", *SMALL, "--resume", "--json", cwd=tmp_path, PYTHONPATH=str(site)
        )
        assert json.loads(again.stdout)["run_id"] != record["run_id"], "another code is another run"
        changed = fedbench("verify", record["record"], cwd=tmp_path, PYTHONPATH=str(site))
    finally:
        source.write_text(before)
    assert changed.returncode == 2
    assert "it was changed after the run, and was not run" in changed.stderr
    gone = fedbench("verify", record["record"], cwd=tmp_path)
    assert "is an entry point of nice-rules 1.2, which is not installed here" in gone.stderr


def test_a_package_that_cannot_be_imported_is_named(tmp_path: Path) -> None:
    """With its file and line; what is built in works as before."""
    (tmp_path / "bad_rules.py").write_text("import numpy as np\n\nnp.zeros(3) + np.zeros(4)\n")
    facts = tmp_path / "bad_rules-1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: bad-rules\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text("[fedbench.algorithms]\nworst = bad_rules:Worst\n")
    place = f"{tmp_path / 'bad_rules.py'}, line 3, in <module>"
    said = f"algorithm worst: its entry point bad_rules:Worst cannot be imported: {place}: ValueError"
    listed = fedbench("list", "algorithms", "--json", PYTHONPATH=str(tmp_path))
    about = {row["name"]: row["about"] for row in map(json.loads, listed.stdout.splitlines())}
    assert about["worst"].startswith(said)
    assert about["fedavg"].startswith("Federated averaging")
    shown = fedbench("info", "worst", PYTHONPATH=str(tmp_path))
    assert shown.returncode == 2
    assert said in shown.stderr
    assert "Traceback" not in shown.stderr
