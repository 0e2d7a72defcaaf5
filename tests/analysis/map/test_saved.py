"""A map in a file: the same answers again, and one line for every file that is no map."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fedbench.analysis.map import saved
from fedbench.analysis.map.parts import MapPart
from fedbench.errors import UsageError
from tests.analysis.map.made_up_map import NUMBERS, made_up

Arrays = dict[str, np.ndarray]
PLACES = st.fixed_dictionaries(
    {"skew": st.floats(0, 1), "spread": st.floats(0, 2), "at_work": st.floats(1, 200), "steps": st.floats(1, 50)}
)


@pytest.fixture(scope="module", name="file")
def _file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("map") / "made-up.npz"
    saved.write(file, made_up())
    return file


@given(PLACES)
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_read_gives_the_same_bits(file: Path, place: dict[str, float]) -> None:
    before, after = made_up(), saved.read(file)
    assert after.about.model_dump_json() == before.about.model_dump_json()
    for axis, costs in before.costs.items():
        again = after.costs[axis]
        assert again.at(place, NUMBERS).tobytes() == costs.at(place, NUMBERS).tobytes()
        assert again.distances(place, NUMBERS).tobytes() == costs.distances(place, NUMBERS).tobytes()
        assert again.regret.tobytes() == costs.regret.tobytes()


def test_written_twice_it_has_the_same_bytes(file: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.npz"
    again.write_text("what was there before")
    saved.write(again, saved.read(file))
    assert again.read_bytes() == file.read_bytes()
    assert list(tmp_path.iterdir()) == [again]


def test_a_map_as_large_as_that_of_the_suite_has_a_few_megabytes(tmp_path: Path) -> None:
    """42 algorithms, 43 columns and 60 points on three axes, with 400 draws."""
    around = np.random.default_rng(0).standard_normal((400, 42, 43)).astype(np.float16)
    packed = io.BytesIO()
    np.savez_compressed(packed, around=around)
    assert 3 * len(packed.getvalue()) < 5e6


@given(st.data())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_broken_file_is_refused_in_one_line(file: Path, tmp_path: Path, data: st.DataObject) -> None:
    """A flipped bit is found, or it is in a part of the archive that says nothing."""
    content = bytearray(file.read_bytes())
    if data.draw(st.booleans()):
        del content[data.draw(st.integers(0, len(content) - 1)) :]
    else:
        content[data.draw(st.integers(0, len(content) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    broken = tmp_path / "broken.npz"
    broken.write_bytes(content)
    problem, found = "", None
    try:
        found = saved.read(broken)
    except UsageError as error:
        problem = str(error)
    if found is None:
        assert re.fullmatch(rf"map {re.escape(str(broken))}: .*", problem)
        return
    assert found.about.model_dump_json() == saved.read(file).about.model_dump_json()
    for axis, costs in saved.read(file).costs.items():
        assert all(getattr(found.costs[axis], name).tobytes() == getattr(costs, name).tobytes() for name in saved.ARRAYS)


def _about(**changed: Any) -> Callable[[Arrays], None]:
    def change(arrays: Arrays) -> None:
        content = json.loads(arrays["about"].tobytes()) | changed
        arrays["about"] = np.frombuffer(json.dumps(content).encode(), np.uint8)

    return change


def _set(name: str, value: Callable[[np.ndarray], np.ndarray]) -> Callable[[Arrays], None]:
    return lambda arrays: arrays.update({name: value(arrays[name])})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_about(schema=2), "expected schema 1, got 2; a newer one needs a newer fedbench"),
        (_about(schema=None), "expected schema 1, got None"),
        (lambda arrays: arrays.pop("about"), "not valid JSON"),
        (_about(colour="red"), "unknown key colour"),
        (_about(made="today"), "made must be text that matches"),
        (_about(numbers={}), "costs.seconds: numbers for the kinds of skew are missing"),
        (_about(numbers={"skew": {"iid": 1, "dirichlet": 1, "two_class": 2}}), "expected another number for every kind"),
        (_about(first=["speed"]), "first: costs.seconds has no factor 'speed'"),
        (lambda arrays: arrays.pop("bytes.log"), "bytes: log must be float64 (24, 6), got none"),
        (_set("bytes.own", lambda own: own[1:]), "bytes: around must be float16 (99, 6, 13), got float16 (100, 6, 13)"),
        (_set("bytes.around", lambda around: around.astype(np.float32)), "got float32 (100, 6, 13)"),
        (_set("bytes.centre", lambda centre: centre * np.nan), "bytes: centre must be finite"),
        (_set("bytes.log", lambda log: log + np.inf), "bytes: log must be finite"),
        (_set("bytes.design.scale", lambda scale: scale * 0), "bytes: design.scale must be finite and above 0"),
        (_set("seconds.own", lambda own: np.array([{}], object)), "it is broken, or no map: ValueError"),
    ],
)  # fmt: skip
def test_what_does_not_fit_together_is_named(
    file: Path, tmp_path: Path, change: Callable[[Arrays], object], message: str
) -> None:
    with np.load(file) as found:
        arrays = dict(found)
    change(arrays)
    other = tmp_path / "other.npz"
    np.savez(other, **arrays)
    with pytest.raises(UsageError, match=re.escape(message)) as refused:
        saved.read(other)
    assert str(other) in str(refused.value)


def test_other_files_are_refused(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match=r"cannot be read: No such file"):
        saved.read(tmp_path / "missing.npz")
    text = tmp_path / "text.npz"
    text.write_text("no archive")
    with pytest.raises(UsageError, match=r"it is broken, or no map: BadZipFile$"):
        saved.read(text)
    with zipfile.ZipFile(text, "w") as packed:
        packed.writestr("about.npy", b"no array")
    with pytest.raises(UsageError, match=r"it is broken, or no map: ValueError$|not valid JSON"):
        saved.read(text)
    monkeypatch.setattr(saved, "LARGEST_UNPACKED", 1000)
    with pytest.raises(UsageError, match=r"expected at most 1,000 bytes when unpacked, got [\d,]+$"):
        saved.read(file)


def test_a_factor_that_the_points_lack_is_named(file: Path, tmp_path: Path) -> None:
    with np.load(file) as found:
        arrays = dict(found)
    content = json.loads(arrays["about"].tobytes())
    del content["costs"]["bytes"]["points"]["spread"]
    arrays["about"] = np.frombuffer(json.dumps(content).encode(), np.uint8)
    other = tmp_path / "other.npz"
    np.savez(other, **arrays)
    with pytest.raises(UsageError, match=r"bytes: its points do not fit its columns: map: factor spread has no level"):
        saved.read(other)


def test_every_key_of_the_file_is_described() -> None:
    assert set(MapPart.model_fields) - {"schema_version"} <= set(re.findall(r"\w+", MapPart.__doc__ or ""))
