"""Makes a submission's folder from the records of a store. The folder appears whole and without
faults, or not at all."""

from __future__ import annotations

import contextlib
import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fedbench import origins, plain_files, rules
from fedbench.errors import FedbenchError, UsageError
from fedbench.options import hints, takes_whole_numbers
from fedbench.protocols import Algorithm
from fedbench.refusals import refused_in
from fedbench.results import archive, held
from fedbench.results.store import Store, write_atomically
from fedbench.submissions.check import Report, check
from fedbench.submissions.folder import LARGEST, LARGEST_PLUGIN, TRIALS, TUNED
from fedbench.submissions.manifest import MANIFEST, SLUG, Manifest, as_yaml
from fedbench.suites import tuned
from fedbench.suites.space import declared
from fedbench.suites.suite import Suite


@dataclass(frozen=True)
class Words:
    """What people say of their submission. The limits of the texts are those of the manifest."""

    name: str
    title: str
    authors: Sequence[str]
    contact: str
    date: str
    about: str = ""
    tuning_trials: int = 0


def make(
    parent: Path, words: Words, suite: Suite, selectors: Sequence[str], store: Store, options: Path | None, trials: Path | None
) -> Report:
    """Makes the folder `words.name` in `parent`, and returns the report of its check.

    Args:
        parent: where the folder appears; it is made if it is not there.
        words: what people say of the submission.
        suite: a suite of the library.
        selectors: algorithms of the suite, and others as `file.py:Class` or by the names of their
            entry points.
        store: has the records. Runs without a record are left out.
        options: the file of chosen options, for tuned rows.
        trials: the file of all trials from which the options were chosen.

    Raises:
        UsageError: if the folder is there already, the store has no record, or a file or word
            cannot be taken.
        FedbenchError: if the check finds faults. Then no folder is left.
    """
    if not re.fullmatch(SLUG, words.name):
        raise UsageError(f"submission {words.name!r:.80}: expected a name of at most 64 small letters, digits and hyphens")
    final = parent / words.name
    _refuse_existing(final)
    frozen = None if options is None else tuned.read(options, suite)
    chosen = {one for by_selector in frozen.points.values() for one in by_selector} if frozen is not None else set()
    _named_as_tuned(selectors, chosen, options)
    rows = list(tuned.rows(suite, frozen, suite.points, selectors))
    specs = {spec.run_id: spec for _, _, of_row in rows for spec in of_row}
    records = [one for spec in specs.values() if (one := store.find(spec.scenario.name, spec.algorithm.name, spec.run_id))]
    if not records:
        raise UsageError(f"store {store.root}: it has none of the {len(specs):,} runs of these algorithms in suite {suite.name}")
    parent.mkdir(parents=True, exist_ok=True)
    with _alone(parent, words.name) as temporary:
        _refuse_existing(final)  # it may have been made meanwhile
        folder = temporary / words.name
        archive.write(folder, records)
        given = {TUNED: options, TRIALS: trials} if options is not None else {}
        for name, file in given.items():
            if file is not None:
                write_atomically(folder / name, plain_files.content(file, LARGEST[name], "file"))
        algorithms = {selector: suite.algorithm(selector) for selector in selectors}
        entrants = {
            one.name: _entrant(selector, one, folder, is_tuned=selector in chosen) for selector, one in algorithms.items()
        }
        _write_manifest(folder, words, suite, list(entrants.values()))
        report = check(folder)
        if report.faults:
            raise FedbenchError("nothing was made, since its check finds:", *(one.line for one in report.faults))
        folder.rename(final)
    return report


def _refuse_existing(final: Path) -> None:
    if final.exists() or final.is_symlink():
        raise UsageError(f"submission {final}: it is there already; move it away, or choose another name")


@contextlib.contextmanager
def _alone(parent: Path, name: str) -> Iterator[Path]:
    """Yields an empty folder in which no other process makes a submission of this name. What killed
    processes left is removed. UsageError if another process makes it now."""
    held.remove_left_folders(parent)
    with contextlib.ExitStack() as stack:
        try:
            folder = stack.enter_context(held.new_folder(parent / f".writing-{name}"))
        except BlockingIOError:
            raise UsageError(
                f"submission {parent / name}: another process is making it; wait for it, or choose another name"
            ) from None
        yield folder


def _entrant(selector: str, algorithm: Algorithm, folder: Path, *, is_tuned: bool) -> dict[str, object]:
    """Returns the entry of an algorithm in the manifest. If the algorithm is in a file, the file is
    copied into the folder, and if it was tuned, the entry has its space."""
    origin = origins.origin(type(algorithm))
    own = {"name": algorithm.name}
    match origin.get("kind"):
        case None:
            return {"origin": "built in", **own}
        case "file":
            place = Path(str(origins.IN_FILE.match(selector.partition("[")[0])["file"]))  # type: ignore[index]
            write_atomically(folder / origin["file"], plain_files.content(place, LARGEST_PLUGIN, "file"))
            space = {"space": _space(algorithm)} if is_tuned else {}
            return {"origin": "file", **own, **{key: origin[key] for key in ("file", "class", "sha256")}, **space}
        case "entry point" if {"package", "sha256"} <= origin.keys():
            return {"origin": "distribution", **own, **{key: origin[key] for key in ("package", "version", "class", "sha256")}}
    raise UsageError(f"algorithm {selector}: expected a built-in one, file.py:Class, or an entry point of a package")


def _space(algorithm: Algorithm) -> dict[str, object]:
    """Returns what an algorithm of the user's own declares of the options that are tuned."""
    entry, kinds = declared(type(algorithm)), hints(type(algorithm))
    if entry is None:
        raise UsageError(
            f"algorithm {algorithm.name}: it has tuned options, and declares none, such as option(0.1, search=Log(0.001, 1))"
        )
    return {
        key: {**one.model_dump(), "whole": takes_whole_numbers(kinds[key]), "default": algorithm.options()[key]}
        for key, one in entry.options.items()
    }


def _named_as_tuned(selectors: Sequence[str], chosen: set[str], options: Path | None) -> None:
    """Raises UsageError if the file of tuned options has an algorithm by another path."""
    for selector in selectors:
        own = [one for one in chosen if origins.is_in_file(one) and Path(one).name == Path(selector).name]
        if own and selector not in chosen:
            raise UsageError(f"tuned options {options}: they have {own[0]}; name it so, got {selector}")


def _write_manifest(folder: Path, words: Words, suite: Suite, entrants: list[dict[str, object]]) -> None:
    files = {
        one.name: {"bytes": one.stat().st_size, "sha256": hashlib.sha256(one.read_bytes()).hexdigest()}
        for one in sorted(folder.iterdir())
    }
    content: dict[str, Any] = {
        "schema": 1,
        **asdict(words),
        "authors": list(words.authors),
        "suite": {"name": suite.name, "hash": suite.design_hash()},
        "rules": rules.VERSION,
        "algorithms": entrants,
        "files": files,
    }
    with refused_in(f"submission {words.name:.80}"):
        text = as_yaml(Manifest.model_validate(content))
    write_atomically(folder / MANIFEST, text.encode())
