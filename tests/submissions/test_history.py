"""The history only grows: what was changed or taken out is noticed, and half a line never was an
event."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbench.documents.validity import Validity
from fedbench.errors import RecordError, UsageError
from fedbench.submissions import history
from fedbench.submissions.history import append, grown, read, standing

DAY, A, B = "2031-05-17", "a" * 64, "b" * 64


@pytest.fixture(name="file")
def _file(tmp_path: Path) -> Path:
    """Of three events."""
    file = tmp_path / "submissions" / "history.jsonl"
    append(file, "mine", "received", A, date=DAY, report=B)
    append(file, "mine", "checked", A, date=DAY, report=B)
    append(file, "other", "received", B, date=DAY)
    return file


def test_events_come_back_in_order(file: Path) -> None:
    assert [(one.submission, one.event, one.digest) for one in read(file)] == [
        ("mine", "received", A),
        ("mine", "checked", A),
        ("other", "received", B),
    ]
    assert read(file.with_name("none.jsonl")) == []


@given(line=st.integers(0, 1), key=st.sampled_from(["date", "submission", "event", "digest", "report", "reason"]))
def test_an_old_line_that_was_changed_is_noticed(tmp_path_factory: pytest.TempPathFactory, line: int, key: str) -> None:
    file = tmp_path_factory.mktemp("history") / "history.jsonl"
    for event in ("received", "checked", "re-run"):
        append(file, "mine", event, A, date=DAY, report=B, reason="since")  # type: ignore[arg-type]
    lines = file.read_text().splitlines(keepends=True)
    other = {"date": "2031-05-18", "submission": "yours", "event": "re-run", "digest": B, "report": A, "reason": "not"}
    content: dict[str, Any] = {**json.loads(lines[line]), key: other[key]}
    lines[line] = json.dumps(content, sort_keys=True) + "\n"
    file.write_text("".join(lines))
    with pytest.raises(RecordError, match=rf"line {line + 2}: previous: .* a line was changed, or taken out"):
        read(file)
    with pytest.raises(RecordError, match="previous"):
        append(file, "new", "received", A, date=DAY)


@pytest.mark.parametrize("gone", [0, 1])
def test_a_line_that_was_taken_out_is_noticed(file: Path, gone: int) -> None:
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(line for i, line in enumerate(lines) if i != gone))
    with pytest.raises(RecordError, match=rf"line {gone + 1}: previous"):
        read(file)


def test_a_file_with_lines_of_another_system_goes_on(file: Path) -> None:
    """The digest is that of the line as it is there."""
    lines = file.read_bytes().splitlines()
    file.write_bytes(lines[0] + b"\r\n")
    append(file, "mine", "checked", A, date=DAY)
    assert [one.event for one in read(file)] == ["received", "checked"]


def test_lines_taken_from_the_end_are_noticed_beside_an_earlier_version(file: Path) -> None:
    before = file.read_bytes()
    assert grown(before, before + b"more\n")
    assert grown(before + b'{"half', before + b"more\n")
    assert not grown(before, before[:-1])
    assert not grown(before, b"".join(before.splitlines(keepends=True)[:2]))


@given(cut=st.integers(1, 400))
def test_a_line_that_was_cut_short_never_was(tmp_path_factory: pytest.TempPathFactory, cut: int) -> None:
    file = tmp_path_factory.mktemp("history") / "history.jsonl"
    append(file, "mine", "received", A, date=DAY)
    whole = file.read_bytes()
    append(file, "mine", "checked", A, date=DAY)
    file.write_bytes(file.read_bytes()[: min(len(whole) + cut, len(file.read_bytes()) - 1)])
    assert [one.event for one in read(file)] == ["received"]
    append(file, "mine", "checked", A, date=DAY)
    assert [one.event for one in read(file)] == ["received", "checked"]


def test_a_full_disk_leaves_the_history_as_it_was(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, real = file.read_bytes(), history.os.pwrite

    def full(handle: int, line: bytes, at: int) -> int:
        real(handle, line[:10], at)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(history.os, "pwrite", full)
    with pytest.raises(OSError, match="No space left"):
        append(file, "more", "received", A, date=DAY)
    assert file.read_bytes() == before


def test_many_at_once(tmp_path: Path) -> None:
    file = tmp_path / "history.jsonl"
    threads = [threading.Thread(target=append, args=(file, f"s{i}", "received", A), kwargs={"date": DAY}) for i in range(20)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert {one.submission for one in read(file)} == {f"s{i}" for i in range(20)}


REFUSED = [
    (("new", "checked", A), {}, "cannot be checked before it was received"),
    (("mine", "re-run", B), {}, "cannot be re-run before it was received with the digest b"),
    (("new", "retracted", A), {"reason": "x"}, "there is no such submission"),
    (("mine", "retracted", A), {}, "needs a reason"),
    (("mine", "retracted", A), {"reason": "a\nb"}, r"reason: .*U\+000A"),
    (("mine", "retracted", A), {"reason": "x" * 201}, "reason: .*at most 200"),
    (("../x", "received", A), {}, "submission: .*got '../x'"),
    (("mine", "received", "x"), {}, "digest: .*got 'x'"),
    (("mine", "won", A), {}, "event: .*got 'won'"),
]


@pytest.mark.parametrize(("event", "more", "words"), REFUSED)
def test_what_cannot_follow_is_refused(file: Path, event: Any, more: dict[str, str], words: str) -> None:
    before = file.read_bytes()
    with pytest.raises(UsageError, match=words):
        append(file, *event, date=DAY, **more)
    assert file.read_bytes() == before


def test_how_valid_by_the_events(file: Path) -> None:
    assert standing(read(file), "mine", A) == (Validity.CHECKED, "")
    assert standing(read(file), "mine", B) == (Validity.SELF_REPORTED, ""), "it was changed since"
    assert standing(read(file), "nobody", A) == (Validity.SELF_REPORTED, "")
    append(file, "mine", "re-run", A, date=DAY)
    append(file, "mine", "checked", A, date=DAY)
    assert standing(read(file), "mine", A) == (Validity.RE_RUN, "")
    append(file, "mine", "retracted", A, date=DAY, reason="a mistake")
    assert standing(read(file), "mine", B) == (Validity.RETRACTED, "a mistake")
    with pytest.raises(UsageError, match="it was retracted, and stays so"):
        append(file, "mine", "received", B, date=DAY)


DAMAGED = [
    (b"[1]\n", "line 4: .*"),
    (b"\xff\n", "line 4: expected text in UTF-8"),
    (b'{"a": 1, "a": 2}\n', "line 4: key 'a' is given twice"),
    (b"[" * 100_000 + b"\n", "line 4: expected at most 40 levels"),
    (b"\n", "line 4: not valid JSON"),
]


@pytest.mark.parametrize(("more", "words"), DAMAGED)
def test_a_line_that_is_no_event(file: Path, more: bytes, words: str) -> None:
    file.write_bytes(file.read_bytes() + more)
    with pytest.raises(RecordError, match=words):
        read(file)


def test_a_history_that_is_a_link(file: Path) -> None:
    link = file.with_name("link.jsonl")
    link.symlink_to(file)
    with pytest.raises(OSError, match="symbolic"):
        append(link, "new", "received", A, date=DAY)
