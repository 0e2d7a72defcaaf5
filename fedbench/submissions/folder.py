"""Reads the files of a submission's folder. They must be plain files with the expected names. They
are read once and within limits, and nothing else may lie beside them."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path

from fedbench import plain_files
from fedbench.errors import FedbenchError
from fedbench.results.archive import CURVES_FILE, RUNS
from fedbench.submissions.faults import Finding, fault, refuse
from fedbench.submissions.manifest import MANIFEST, PLUGIN, Manifest

TUNED, TRIALS = "tuned.yaml", "trials.parquet"
NEEDED = (MANIFEST, RUNS, CURVES_FILE)
LARGEST = {MANIFEST: 64 << 10, RUNS: 64 << 20, CURVES_FILE: 64 << 20, TUNED: 1 << 20, TRIALS: 16 << 20}
LARGEST_PLUGIN = 256 << 10
MOST_ENTRIES = 100
KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}

Files = Mapping[str, bytes]
"""The contents of a submission's files by their names."""


def is_submission(folder: Path) -> bool:
    """Returns whether the folder has anything of the manifest's name, even a broken link."""
    return os.path.lexists(folder / MANIFEST)


def read(folder: Path) -> Files:
    """Returns the contents of all files. Raises FaultsError for what is missing, too large, no
    plain file, or should not be there."""
    found: dict[str, bytes] = {}
    faults = []
    for name, mode in _entries(folder):
        most = LARGEST_PLUGIN if re.fullmatch(PLUGIN, name) else LARGEST.get(name)
        if not stat.S_ISREG(mode):
            faults.append(Finding(_shown(name), f"expected a plain file, got {KINDS.get(stat.S_IFMT(mode), 'something else')}"))
        elif most is None:
            faults.append(Finding(_shown(name), f"no such file belongs to a submission; expected {', '.join(LARGEST)}, NAME.py"))
        else:
            try:
                found[name] = plain_files.content(folder / name, most, "file", FedbenchError)
            except FedbenchError as error:
                faults.append(Finding(name, str(error).removeprefix(f"file {folder / name}: ")))
    there = {one.file for one in faults} | found.keys()
    faults += [Finding(name, "the file is missing") for name in NEEDED if name not in there]
    refuse(faults)
    return found


def _entries(folder: Path) -> list[tuple[str, int]]:
    """Returns the names and modes of what lies in the folder. Links are not followed."""
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry, _ in zip(entries, range(MOST_ENTRIES + 1), strict=False)]
        if len(names) > MOST_ENTRIES:
            raise fault(".", f"expected at most {MOST_ENTRIES} files, got more")
        return [(name, os.lstat(folder / name).st_mode) for name in sorted(names)]
    except OSError as error:
        raise fault(".", f"the folder cannot be read: {error.strerror}") from None


def _shown(name: str) -> str:
    return name if name.isprintable() and len(name) <= 100 else f"{name!r:.100}"


def check_digests(files: Files, manifest: Manifest) -> list[Finding]:
    """Returns the differences between the files and what the manifest says of them."""
    given = {name: content for name, content in files.items() if name != MANIFEST}
    faults = [Finding(MANIFEST, f"files: {_shown(name)} is not in the folder") for name in manifest.files if name not in given]
    for name, content in given.items():
        said = manifest.files.get(name)
        if said is None:
            faults.append(Finding(name, f"{MANIFEST} does not name this file among its files"))
            continue
        for what, expected, got in (
            ("bytes", said.bytes, len(content)),
            ("sha256", said.sha256, hashlib.sha256(content).hexdigest()),
        ):
            if expected != got:
                faults.append(Finding(name, f"{what}: {MANIFEST} says {expected}, the file has {got}"))
    return faults + _check_plugins(given, manifest)


def _check_plugins(given: Files, manifest: Manifest) -> list[Finding]:
    faults = []
    named = {one.file: one for one in manifest.plugins.values()}
    for name in sorted(name for name in given if name.endswith(".py") and name not in named):
        faults.append(Finding(name, f"no algorithm of {MANIFEST} is in this file"))
    for name, one in named.items():
        if name not in given:
            faults.append(Finding(MANIFEST, f"algorithm {one.name}: its file {name} is not in the folder"))
            continue
        found = hashlib.sha256(given[name]).hexdigest()
        if found != one.sha256:
            faults.append(Finding(name, f"sha256: algorithm {one.name} of {MANIFEST} says {one.sha256}, the file has {found}"))
        try:
            plain_files.decoded(given[name], name)
        except FedbenchError as error:
            faults.append(Finding(name, str(error).removeprefix(f"{name}: ")))
    return faults
