"""What central training reaches, and the targets on a stand-in that follow from it.

A printed target is a share of what its network reaches when it is trained on all lossless images at
once, which is in print. On a stand-in the target is the same share of what was measured there:

    target on the stand-in = printed target / ceiling in print * ceiling on the stand-in

Like is compared with like: the ceilings in print are with crops and mirroring, so that on the
stand-in is too. The one without is measured beside it, since runs without augmentation cannot get
above it.

A run makes EPOCHS passes over the data, and its rate falls to 0 along half a cosine. Its accuracy
is the mean over its last ten evaluations, one after each pass, so none is chosen.

`python -m fedbench.papers.ceilings` makes what was measured. Finished runs are taken from the
store and the archive, and interrupted ones continue.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from fedbench import plain_files, registry
from fedbench.analysis.curves import last_k_mean
from fedbench.analysis.statistics import estimate
from fedbench.engine.run import RunOptions
from fedbench.engine.spec import RunSpec
from fedbench.errors import FedbenchError, UsageError
from fedbench.results import archive, provenance
from fedbench.results.record import Record
from fedbench.results.store import Store, write_atomically
from fedbench.scenarios import load as scenarios
from fedbench.scenarios.base import Float, Part, PositiveInt
from fedbench.scenarios.problems import validated
from fedbench.scenarios.schema import Scenario
from fedbench.suites import campaign

FILE = Path(__file__).with_name("ceilings.yaml")
FOLDER = "ceilings"
"""The archive below that of the papers."""
COMMAND = "python -m fedbench.papers.ceilings"
EPOCHS, SEEDS = 60, 3
LIKE_PRINT = "crop_flip"
"""The augmentation of the ceilings in print."""
ALGORITHM = "centralised[local_lr=0.02,momentum=0.9]"
SETTINGS: dict[str, Any] = {
    "clients": 1,
    "partition": {"kind": "iid"},
    "local": {"epochs": 1, "batch_size": 50, "schedule": {"kind": "cosine", "until": EPOCHS}},
    "compute": {"kind": "per_job", "time": {"distribution": "constant", "seconds": 1}},
    "budget": {"updates": EPOCHS, "seconds": 2.0 * EPOCHS},
    "evaluation": {"every_seconds": 1},
    "targets": [],
}
"""A pass over the data takes one virtual second."""

Find = Callable[[RunSpec], Record | None]
Accuracy = Annotated[Float, Field(gt=0, le=1)]
Text = Annotated[str, Field(min_length=1, max_length=1000)]


class Lossless(Part):
    """What a network reaches on lossless images, as `source` prints it."""

    model: str
    accuracy: Accuracy
    source: Text


class Central(Part):
    """Central training on a stand-in. `task` is that of a scenario."""

    stand_in: Text
    augmentation: Literal["none", "crop_flip"]
    task: dict[str, Any]


class Measured(Part):
    """The mean accuracy of central training over seeds, with half of its 95 % interval."""

    stand_in: Text
    augmentation: Literal["none", "crop_flip"]
    accuracy: Accuracy
    half_width: Annotated[Float, Field(ge=0)]
    seeds: PositiveInt


class Ceilings(Part):
    """The content of ceilings.yaml."""

    schema_version: Literal[1] = Field(alias="schema")
    lossless: tuple[Lossless, ...]
    runs: tuple[Central, ...]
    measured: tuple[Measured, ...]


@functools.cache
def load() -> Ceilings:
    """Returns what is in print and what was measured. Raises UsageError if the file has not its
    form."""
    return validated(Ceilings, plain_files.mapping(FILE, "ceilings"), FILE.name)


def reached(stand_in: str, augmentation: str = LIKE_PRINT) -> Measured | None:
    """Returns what central training reaches on a stand-in, or None before that was measured."""
    found = (one for one in load().measured if (one.stand_in, one.augmentation) == (stand_in, augmentation))
    return next(found, None)


def target(printed: float, model: str, ceiling: float) -> float:
    """Returns the target on a stand-in, in four digits.

    Args:
        printed: the paper's target, as a share of 1.
        model: the paper's network.
        ceiling: what central training reaches on the stand-in.

    Raises:
        UsageError: the network has no printed ceiling, or one below the target.
    """
    known = {one.model: one.accuracy for one in load().lossless}
    if model not in known:
        raise UsageError(f"{FILE.name}: no ceiling of model {model} in print; known: {', '.join(known)}")
    if printed > known[model]:
        raise UsageError(f"{FILE.name}: the target {printed:g} is above the printed ceiling of {model}, {known[model]:g}")
    return round(printed / known[model] * ceiling, 4)


def scenario(one: Central) -> Scenario:
    """Returns the scenario of central training on a stand-in."""
    name = f"central-{one.stand_in}-{one.augmentation.replace('_', '-')}"
    about = f"Central training on {one.stand_in}, augmentation {one.augmentation}: {EPOCHS} passes over the data."
    content = {"schema": 1, "name": name, "about": about, "task": one.task, **SETTINGS}
    return validated(Scenario, content, name)


def specs(one: Central) -> list[RunSpec]:
    """Returns the runs of all seeds."""
    return [RunSpec(scenarios.load(scenario(one)), registry.algorithm(ALGORITHM), seed) for seed in range(SEEDS)]


def measured(find: Find) -> Iterator[Measured]:
    """Yields the ceilings all of whose runs have a record. Raises FedbenchError for a run that
    diverged."""
    for one in load().runs:
        records = [record for spec in specs(one) if (record := find(spec)) is not None]
        if len(records) < SEEDS:
            continue
        found = estimate(map(last_k_mean, records))
        if found.missing or found.mean is None:
            raise FedbenchError(f"{scenario(one).name}: a seed has no accuracy at its end")
        yield Measured(
            stand_in=one.stand_in,
            augmentation=one.augmentation,
            accuracy=round(found.mean, 4),
            half_width=round(found.half_width or 0.0, 4),
            seeds=SEEDS,
        )


def compute(store: Store, archives: Path, *, processes: int = 1) -> list[Measured]:
    """Computes the runs of which neither the store nor the archive has a record, and writes the
    ceilings into ceilings.yaml. The archive gets all records, also when this is cut short. Raises
    FedbenchError if a run failed, and UsageError for code with local changes, before any run."""
    if provenance.commit()[1]:
        raise UsageError("ceilings would be made from code with local changes; commit or undo them first")
    wanted = [spec for one in load().runs for spec in specs(one)]
    store.prepare()
    find = functools.partial(_stored, store)
    with _kept(archives / FOLDER, store, wanted):
        tally = campaign.compute(wanted, store, processes=processes, options=RunOptions(resume=True), progress=True)
    if tally.failed:
        spec, why = tally.failed[0]
        raise FedbenchError(f"{len(tally.failed)} runs failed; the same command tries them again. The first: {spec.named}: {why}")
    found = list(measured(find))
    rows = "".join(f"\n  - {{{', '.join(f'{key}: {value}' for key, value in one.model_dump().items())}}}" for one in found)
    text = re.sub(
        r"^measured:.*", lambda _: f"measured:{rows}\n", FILE.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL
    )
    write_atomically(FILE, text.encode())
    load.cache_clear()
    return found


@contextlib.contextmanager
def _kept(folder: Path, store: Store, wanted: Sequence[RunSpec]) -> Iterator[None]:
    """Takes over the records of an archive, and gives it all that there are in the end."""
    if archive.is_archive(folder):
        archive.unpack(folder, store)
    try:
        yield
    finally:
        records = [record for spec in wanted if (record := _stored(store, spec)) is not None]
        archive.check_clean(records)
        if records:
            archive.write(folder, records)


def _stored(store: Store, spec: RunSpec) -> Record | None:
    return store.find(spec.scenario.name, spec.algorithm.name, spec.run_id)


def main() -> None:
    """Measures the ceilings and prints them."""
    parser = argparse.ArgumentParser(prog=COMMAND, description="Measure what central training reaches on what stands in.")
    parser.add_argument("--store", type=Path, default=Path("runs/papers"), help="Folder of the records.")
    parser.add_argument("--archives", type=Path, default=Path("results/papers"), help="Folder of the committed records.")
    parser.add_argument("-j", "--processes", type=int, default=1, help="How many runs are computed at a time.")
    given = parser.parse_args()
    for one in compute(Store(given.store), given.archives, processes=given.processes):
        print(
            f"{one.stand_in}, augmentation {one.augmentation}: {one.accuracy:.4f}, 95 % interval {one.half_width:.4f} to either side"
        )


if __name__ == "__main__":
    main()
