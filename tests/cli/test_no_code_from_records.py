"""A record never names a file that is run: every one of these files would leave a trace."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import fedbench as fb
from fedbench.cli.main import app
from fedbench.engine.spec import RunSpec
from fedbench.errors import FedbenchError
from fedbench.results.record import CURVES, of_json
from fedbench.results.store import Store, _sealed

SMALL = ["clients=6", "budget.seconds=1", "local.steps=1", "task.model=softmax"]
EVIL = """\
from pathlib import Path
Path(__file__).with_name("trace").touch()
import fedbench as fb
from fedbench import registry
class X(registry.find("algorithm", "fedavg")):
    name = "evil"
"""
SHA = hashlib.sha256(EVIL.encode()).hexdigest()


def origin(file: str, sha256: str = SHA, kind: str = "file") -> dict[str, str]:
    return {"kind": kind, "file": file, "sha256": sha256, "class": "X"}


VARIANTS = {
    "a file in this folder": ("evil", origin("evil.py")),
    "a file in this folder with a false hash": ("evil", origin("evil.py", "0" * 64)),
    "a file by its whole path": ("evil", origin("{folder}/evil.py")),
    "a name that is a path": ("{folder}/evil.py:X", None),
    "a name that is a file in this folder": ("evil.py:X", origin("evil.py", kind="entry point")),
    "a name that is a path, as an object": ("./evil.py:X", origin("evil.py", kind="object")),
    "a file above, by its class": ("evil", {**origin("../evil.py"), "class": "X"}),
}


@pytest.fixture(name="folder")
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "evil.py").write_text(EVIL)
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def forged(name: str, where: dict[str, str] | None, folder: Path) -> tuple[Path, dict[str, Any]]:
    """A sealed record of this algorithm: its folder and sections."""
    (record,) = fb.run("digits-demo", "fedavg[cohort_size=2]", overrides=SMALL)
    sections: dict[str, Any] = json.loads(json.dumps(record.as_dict()))
    algorithm = sections["spec"]["algorithm"]
    algorithm["name"] = name.format(folder=folder)
    if where is not None:
        algorithm["origin"] = {key: value.format(folder=folder) for key, value in where.items()}
    written = Store(folder / "runs").write(record)
    (written / "record.json").write_bytes(_sealed(sections, (written / "curves.parquet").read_bytes()))
    return written, sections


def specified(sections: dict[str, Any], algorithm: str | None = None) -> RunSpec:
    """What these sections of a record say was run."""
    return RunSpec.of(of_json(sections, dict.fromkeys(CURVES, np.zeros(1)), "record").spec, algorithm)


@pytest.mark.parametrize("variant", VARIANTS)
def test_nothing_is_run(variant: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record, sections = forged(*VARIANTS[variant], folder)
    if "above" in variant:
        monkeypatch.chdir(folder / "below")
    with pytest.raises(FedbenchError, match="record: "):
        specified(sections)
    for verb in (["verify", str(record)], ["verify", str(record), "--json"], ["trace", str(record)]):
        result = CliRunner().invoke(app, verb)
        assert result.exit_code != 0
        assert isinstance(result.exception, FedbenchError | SystemExit), result.exception
    assert not (folder / "trace").exists()


def test_a_named_file_is_hashed_before_it_is_run(folder: Path) -> None:
    """Named by the user, and with the bytes of the record, it is run."""
    _, sections = forged("evil", origin("evil.py", "0" * 64), folder)
    with pytest.raises(FedbenchError, match="was not run"):
        specified(sections, "evil.py:X")
    assert not (folder / "trace").exists()
    sections["spec"]["algorithm"]["origin"]["sha256"] = SHA
    assert specified(sections, "evil.py:X").algorithm.name == "evil"
    assert (folder / "trace").exists()
