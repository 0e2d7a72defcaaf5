"""Finds the row of the suite to which each record of a submission belongs, and says what is wrong
with records that belong to none."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from fedbench import registry
from fedbench.results.archive import RUNS
from fedbench.results.record import SERVER_CURVE, Record
from fedbench.results.sections import Digests
from fedbench.submissions import own_tuning
from fedbench.submissions.faults import Finding
from fedbench.submissions.manifest import MANIFEST, BuiltIn, Distributed, InFile, Manifest
from fedbench.suites import tuned
from fedbench.suites.suite import Suite
from fedbench.suites.tuned import Tuned

Key = tuple[str, str]
"""The name of a point, and that of a row as in `tuned.rows`. An algorithm that is not built in has
a row of its name, and one with `tuned.TUNED` behind it if its options were tuned."""


@dataclass(frozen=True)
class Row:
    """The runs of an algorithm with its options at a point, in order of seed."""

    point: str
    name: str
    runs: tuple[Record, ...]


def named(record: Record) -> str:
    """Returns the words that name a record in a finding."""
    return f"run {record.run_id} ({record.selector:.80} seed {record.seed} on {record.scenario:.60})"


def record_faults(records: Iterable[Record]) -> Iterator[Finding]:
    """Yields what is wrong with single records: their commit, the data on which they were measured,
    their digests, texts and sections."""
    for record in records:
        made, digests, evaluated = record.provenance, sorted(record.digests.as_dict()), record.final.evaluated_on
        expected = sorted(name for name in Digests.model_fields if name != "server" or SERVER_CURVE in record.curves)
        odd = next((text for text in _texts(record.as_dict()) if not text.replace("\n", "").isprintable()), None)
        faults = (
            (made.dirty is not False, f"provenance.dirty: expected a commit without local changes, got {made.dirty!r}"),
            (not made.commit, f"provenance.commit: expected the commit that made it, got {made.commit!r}"),
            (evaluated != "test", f"final.evaluated_on: expected 'test', got {evaluated!r:.40}"),
            (digests != expected, f"digests: expected {', '.join(expected)}, got {digests!s:.120}"),
            (odd is not None, f"expected printable texts, got {odd!a:.80}"),
        )
        yield from (Finding(RUNS, f"{named(record)}: {text}") for wrong, text in faults if wrong)


def _texts(tree: object) -> Iterator[str]:
    """Yields all texts of a tree of JSON values, keys among them. Its depth was bounded when it was
    read."""
    if isinstance(tree, str):
        yield tree
    elif isinstance(tree, dict):
        for key, value in tree.items():
            yield key
            yield from _texts(value)
    elif isinstance(tree, list):
        for value in tree:
            yield from _texts(value)


def rows(records: Sequence[Record], suite: Suite, manifest: Manifest, frozen: Tuned | None) -> tuple[list[Row], list[Finding]]:
    """Returns the rows that the records make, and the faults: records that belong to no row, seeds
    that are there twice, and seeds that are missing.

    Args:
        records: all records of the submission.
        suite: its suite.
        manifest: its manifest.
        frozen: its tuned options, None if it has none.
    """
    faults: list[Finding] = []
    single: dict[str, Record] = {}
    for record in records:
        if record.run_id in single:
            faults.append(Finding(RUNS, f"{named(record)}: it is there twice"))
        single[record.run_id] = record
    expected = _expected(suite, manifest, frozen)
    found: dict[Key, dict[int, Record]] = {}
    for record in single.values():
        keys, why = _keys(record, suite, manifest, expected, frozen)
        if not keys:
            faults.append(Finding(RUNS, f"{named(record)}: {why}"))
        for key in keys:
            if record.seed in found.setdefault(key, {}):
                faults.append(Finding(RUNS, f"{named(record)}: {key[1]} at {key[0]} has this seed twice"))
            found[key][record.seed] = record
    faults += [one for (point, name), runs in found.items() for one in _row_faults(point, name, runs, suite)]
    made = [Row(point, name, tuple(runs[seed] for seed in sorted(runs))) for (point, name), runs in sorted(found.items())]
    return made, faults + _empty(made, manifest)


def _expected(suite: Suite, manifest: Manifest, frozen: Tuned | None) -> Mapping[str, list[Key]]:
    """Returns the rows of the built-in algorithms by run id. A run has two rows if the tuned
    options are the default ones."""
    names = {one.name for one in manifest.algorithms if isinstance(one, BuiltIn)}
    selectors = [selector for selector in suite.selectors() if registry.parse_selector(selector)[0] in names]
    found: dict[str, list[Key]] = {}
    for point, row, specs in tuned.rows(suite, frozen, suite.points, selectors):
        for spec in specs:
            found.setdefault(spec.run_id, []).append((point, row))
    return found


def _keys(
    record: Record, suite: Suite, manifest: Manifest, expected: Mapping[str, list[Key]], frozen: Tuned | None
) -> tuple[list[Key], str]:
    """Returns the rows of a record, and why it has none if there are none."""
    spec, algorithm = record.spec, record.spec.algorithm
    points = [point.name for point in suite.points if suite.scenario_at(point).content_hash() == spec.scenario_hash]
    entrant = next((one for one in manifest.algorithms if one.name == algorithm.name), None)
    if not points:
        return [], f"scenario {spec.scenario_hash} is no point of suite {suite.name}"
    seeds = suite.seeds.numbers
    if record.seed not in seeds:
        return [], f"expected a seed of suite {suite.name}, {seeds[0]} to {seeds[-1]}, got {record.seed}"
    if entrant is None:
        return [], f"algorithm {algorithm.name} is not among the algorithms of {MANIFEST}"
    if not isinstance(entrant, BuiltIn):
        if why := _other_origin(algorithm.where, entrant) or _other_system(algorithm.options, suite):
            return [], why
        if not isinstance(entrant, InFile) or entrant.space is None:
            return [(point, entrant.name) for point in points], ""
        found = [key for point in points for key in _of_tuned(algorithm.options, entrant, point, manifest, frozen)]
        return found, f"its options are neither the default ones of {MANIFEST} nor tuned ones"
    return expected.get(record.run_id, []), f"its options are neither the default ones of suite {suite.name} nor tuned ones"


def _of_tuned(
    options: Mapping[str, object], entrant: InFile, point: str, manifest: Manifest, frozen: Tuned | None
) -> Iterator[Key]:
    """Yields the rows at a point of a run of an algorithm in a file whose options were tuned: that
    with the default options, that with the chosen ones, or both if they are the same."""
    defaults = {key: one.default for key, one in (entrant.space or {}).items()}
    own = {key: options.get(key) for key in defaults}
    if own == defaults:
        yield point, entrant.name
    selector = own_tuning.selectors(manifest.plugins, frozen).get(entrant.name)
    choice = None if frozen is None or selector is None else frozen.points.get(point, {}).get(selector)
    if choice is not None and own == {**defaults, **choice.options}:
        yield point, f"{entrant.name}{tuned.TUNED}"


def _other_origin(origin: Mapping[str, str], entrant: InFile | Distributed) -> str:
    """Returns the first difference between the origin in a record and in the manifest; nothing if
    they agree."""
    kind = "file" if isinstance(entrant, InFile) else "entry point"
    wanted = {"kind": kind} | entrant.model_dump(by_alias=True, exclude={"origin", "name", "space"})
    for key, value in wanted.items():
        if origin.get(key) != value:
            return f"origin.{key}: {MANIFEST} says {value!r}, the record {origin.get(key)!r:.80}"
    return ""


def _other_system(options: Mapping[str, object], suite: Suite) -> str:
    """Returns the first option of the system that has another value than the suite sets; nothing if
    there is none."""
    for key, value in suite.options.items():
        if key in options and options[key] != value:
            return f"option {key}: suite {suite.name} sets {value!r} for everybody, got {options[key]!r:.40}"
    return ""


def _row_faults(point: str, name: str, runs: Mapping[int, Record], suite: Suite) -> Iterator[Finding]:
    wanted = suite.seeds_at(point)
    missing = [seed for seed in wanted if seed not in runs]
    if missing:
        shown = ", ".join(map(str, missing[:10]))
        yield Finding(RUNS, f"{name} at {point}: expected all {len(wanted)} seeds of the suite, missing {shown}")
    sets = _option_sets(runs.values())
    if sets > 1:
        yield Finding(RUNS, f"{name} at {point}: expected one set of options for all seeds, got {sets}")


def _option_sets(runs: Iterable[Record], without: Collection[str] = ()) -> int:
    """Returns how many different sets of options the runs have, without some options."""
    several = ({key: one for key, one in run.spec.algorithm.options.items() if key not in without} for run in runs)
    return len({json.dumps(one, sort_keys=True) for one in several})


def _empty(made: Sequence[Row], manifest: Manifest) -> list[Finding]:
    there = {run.spec.algorithm.name for row in made for run in row.runs}
    absent = [one.name for one in manifest.algorithms if one.name not in there]
    return [Finding(MANIFEST, f"algorithm {name}: {RUNS} has no record of it that belongs to the suite") for name in absent]


def option_faults(made: Sequence[Row], manifest: Manifest) -> Iterator[Finding]:
    """Yields the algorithms that are not built in and have other options from point to point,
    beside those that are tuned. Such options would be tuned, without trials that anybody can
    check."""
    for one in manifest.algorithms:
        own = {one.name, f"{one.name}{tuned.TUNED}"}
        space = (one.space if isinstance(one, InFile) else None) or {}
        sets = _option_sets((run for row in made if row.name in own for run in row.runs), without=space)
        if sets > 1 and not isinstance(one, BuiltIn):
            yield Finding(RUNS, f"algorithm {one.name}: expected the same options at all points, got {sets} sets")
