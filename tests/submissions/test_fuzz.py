"""Whatever stands in a submission, its check ends with faults and raises nothing."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fedbench.submissions.check import check
from fedbench.submissions.folder import TUNED
from fedbench.submissions.manifest import MANIFEST, parse
from tests.changes import put
from tests.submissions.conftest import NAME, Made
from tests.submissions.tampering import cell, written

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([0, -1, 2**31, 2**63, 2**64, 10**50])
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from([0.0, -0.0, 1e308, 5e-324])
    | st.text(max_size=20)
    | st.sampled_from(["", "nan", "..", "<script>", "\u202e", "\0", "__class__", "fedavg[", "1" * 500])
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3), max_leaves=5
)
FEW = settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])


def places(tree: Any, path: str = "") -> Iterator[str]:
    """All paths to values of a tree whose keys have no dots."""
    for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree):
        if "." not in str(key):
            yield f"{path}{key}"
            if isinstance(value, dict | list):
                yield from places(value, f"{path}{key}.")


@pytest.fixture(name="fresh")
def _fresh(made: Made, tmp_path: Path) -> Path:
    """Where copies are made."""
    return tmp_path / NAME


def again(made: Made, fresh: Path) -> Path:
    shutil.rmtree(fresh, ignore_errors=True)
    return Path(shutil.copytree(made.folder, fresh))


@pytest.mark.parametrize("column", ["specification", "provenance", "rest"])
@FEW
@given(data=st.data())
def test_any_value_anywhere_in_a_record(made: Made, fresh: Path, column: str, data: st.DataObject) -> None:
    def change(text: str) -> str:
        tree = json.loads(text)
        put(tree, data.draw(st.sampled_from(list(places(tree)))), data.draw(VALUES))
        return json.dumps(tree)

    folder = again(made, fresh)
    cell(folder, column, change)
    assert all(one.line for one in check(folder, apart=False).faults)


@FEW
@given(data=st.data())
def test_any_value_anywhere_in_the_manifest(made: Made, fresh: Path, data: st.DataObject) -> None:
    folder = again(made, fresh)
    tree = yaml.safe_load((folder / MANIFEST).read_text())
    put(tree, data.draw(st.sampled_from(list(places(tree)))), data.draw(VALUES))
    (folder / MANIFEST).write_text(json.dumps(tree))  # JSON is YAML
    report = check(folder, apart=False)
    assert report.faults or parse((folder / MANIFEST).read_bytes())


@FEW
@given(data=st.data())
def test_any_value_anywhere_in_the_tuned_options(made: Made, fresh: Path, data: st.DataObject) -> None:
    folder = again(made, fresh)
    tree = yaml.safe_load((folder / TUNED).read_text())
    put(tree, data.draw(st.sampled_from(list(places(tree)))), data.draw(VALUES))
    written(folder, TUNED, json.dumps(tree).encode())
    check(folder, apart=False)


@FEW
@given(where=st.floats(0, 1, exclude_max=True), what=st.binary(min_size=1, max_size=4))
def test_any_bytes_anywhere_in_the_manifest(made: Made, fresh: Path, where: float, what: bytes) -> None:
    folder = again(made, fresh)
    content = bytearray((folder / MANIFEST).read_bytes())
    at = int(where * len(content))
    content[at : at + len(what)] = what
    (folder / MANIFEST).write_bytes(bytes(content))
    check(folder, apart=False)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["runs.parquet", "curves.parquet", "trials.parquet"])
@FEW
@given(where=st.floats(0, 1, exclude_max=True), what=st.binary(min_size=1, max_size=8))
def test_any_bytes_anywhere_in_a_table(made: Made, fresh: Path, name: str, where: float, what: bytes) -> None:
    folder = again(made, fresh)
    content = bytearray((folder / name).read_bytes())
    at = int(where * len(content))
    content[at : at + len(what)] = what
    written(folder, name, bytes(content))
    check(folder)
