"""Hostile files: what is there, what is not, and what its digest says."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from fedbench.results.archive import CURVES_FILE, RUNS
from fedbench.submissions.folder import TUNED
from fedbench.submissions.manifest import MANIFEST
from tests.submissions.kinds import kind
from tests.submissions.tampering import changed, reseal, written


@kind("a wrong digest", r"runs.parquet: sha256: submission.yaml says 0{64}, the file has [0-9a-f]{64}")
def _wrong_digest(folder: Path) -> None:
    changed(folder, lambda found: found["files"][RUNS].update(sha256="0" * 64))


@kind("a file without a digest", "tuned.yaml: submission.yaml does not name this file")
def _no_digest(folder: Path) -> None:
    changed(folder, lambda found: found["files"].pop(TUNED))


@kind("a digest of a file that leads elsewhere", r"files: \.\./\.\./etc/passwd is not in the folder")
def _digest_elsewhere(folder: Path) -> None:
    changed(folder, lambda found: found["files"].update({"../../etc/passwd": found["files"][RUNS]}))


@kind("a manifest that is a folder", "submission.yaml: expected a plain file, got a folder")
def _manifest_folder(folder: Path) -> None:
    (folder / MANIFEST).unlink()
    (folder / MANIFEST).mkdir()


@kind("a link to a file of the machine", "tuned.yaml: expected a plain file, got a symbolic link")
def _link(folder: Path) -> None:
    (folder / TUNED).unlink()
    (folder / TUNED).symlink_to("/etc/passwd")


@kind("a link that leads to itself", "runs.parquet: expected a plain file, got a symbolic link")
def _loop(folder: Path) -> None:
    (folder / RUNS).unlink()
    (folder / RUNS).symlink_to(RUNS)


@kind("a link in place of the manifest", "submission.yaml: expected a plain file, got a symbolic link")
def _manifest_link(folder: Path) -> None:
    (folder / MANIFEST).unlink()
    (folder / MANIFEST).symlink_to("/dev/zero")


@kind("a pipe", "curves.parquet: expected a plain file, got a pipe")
def _pipe(folder: Path) -> None:
    (folder / CURVES_FILE).unlink()
    os.mkfifo(folder / CURVES_FILE)


@kind("a socket", "notes: expected a plain file, got a socket")
def _socket(folder: Path) -> None:
    here = Path.cwd()
    os.chdir(folder)  # the name of a socket may have some hundred bytes
    try:
        with socket.socket(socket.AF_UNIX) as one:
            one.bind("notes")
    finally:
        os.chdir(here)


@kind("a folder inside", "more: expected a plain file, got a folder")
def _nested(folder: Path) -> None:
    (folder / "more").mkdir()


@kind("a file that belongs to nothing", "model.pkl: no such file belongs to a submission")
def _unknown_file(folder: Path) -> None:
    (folder / "model.pkl").write_bytes(b"\x80\x04\x95")


@kind("a name that is no text", r"x.*: no such file belongs to a submission")
def _odd_name(folder: Path) -> None:
    (folder / os.fsdecode(b"x\xff\n\x1b[31m.py")).write_bytes(b"")


@kind("a thousand files", "expected at most 100 files, got more")
def _many_files(folder: Path) -> None:
    for i in range(1000):
        (folder / f"x{i}.py").touch()


@kind("a file of a terabyte", "runs.parquet: expected at most 67,108,864 bytes, got more")
def _sparse(folder: Path) -> None:
    os.truncate(folder / RUNS, 1 << 40)


@kind("no curves", "curves.parquet: the file is missing")
def _no_curves(folder: Path) -> None:
    (folder / CURVES_FILE).unlink()


@kind("a plugin that is no text", "traced.py: expected text in UTF-8, got the byte 0xff")
def _plugin_bytes(folder: Path) -> None:
    written(folder, "traced.py", b"\xff\xfe")


@kind("a plugin that was changed", "traced.py: sha256: algorithm traced of submission.yaml says")
def _plugin_changed(folder: Path) -> None:
    written(folder, "traced.py", (folder / "traced.py").read_bytes() + b"\n# better\n")


@kind("a plugin that was changed, with its hash in the manifest", "origin.sha256: submission.yaml says")
def _plugin_sealed(folder: Path) -> None:
    _plugin_changed(folder)
    changed(folder, lambda found: found["algorithms"][1].update(sha256=found["files"]["traced.py"]["sha256"]))


@kind("a plugin that nobody names", "extra.py: no algorithm of submission.yaml is in this file")
def _plugin_extra(folder: Path) -> None:
    written(folder, "extra.py", b"x = 1\n")


@kind("a plugin that is not there", "algorithm traced: its file traced.py is not in the folder")
def _plugin_gone(folder: Path) -> None:
    (folder / "traced.py").unlink()
    reseal(folder)
