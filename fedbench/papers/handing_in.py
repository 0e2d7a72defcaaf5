"""Makes the folder with which somebody hands in records of a paper's cells: an archive for each
table, and a file that says who made them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from fedbench.errors import UsageError
from fedbench.papers import experiment
from fedbench.papers.cells import Cell, tables
from fedbench.papers.declared import spans
from fedbench.papers.reading import complete
from fedbench.papers.runs import archive_of, in_store
from fedbench.results import archive
from fedbench.results.record import Record
from fedbench.results.store import Store, write_atomically

FILE = "handed-in.json"
HANDED_IN = Path("results/handed-in")
NAME = r"[a-z0-9][a-z0-9-]{0,63}"


def hand_in(folder: Path, cells: Sequence[Cell], store: Store, words: Mapping[str, object]) -> dict[str, str]:
    """Writes the folder, and returns by the addresses of tables which cells are in it.

    Only cells all of whose seeds have a number are taken, on the paper's own data and on every
    stand-in. `words` says who hands in what.

    Raises:
        UsageError: the folder is there already or its name is no name, no cell is complete, or a
            record was made from code with local changes.
    """
    if not re.fullmatch(NAME, folder.name):
        raise UsageError(f"--name {folder.name!r:.80}: expected small letters, digits and hyphens")
    if folder.exists():
        raise UsageError(f"{folder}: is there already; choose another --name")
    taken: dict[str, str] = {}
    records: dict[str, list[Record]] = {}
    for of, ways in tables(experiment.ways(cells)).items():
        whole = {way: found for way in ways if (found := complete(way, in_store(store)))}
        if whole:
            taken[of] = spans(sorted({way.number for way in whole}))
            records[of] = list({record.run_id: record for found in whole.values() for record in found}.values())
    if not taken:
        raise UsageError(f"store {store.root}: no cell has a record of every seed; `fedbench reproduce` makes them")
    archive.check_clean(record for of in records.values() for record in of)
    for of, several in records.items():
        archive.write(archive_of(folder, of), several)
    content = {"schema": 1, **words, "cells": taken}
    write_atomically(folder / FILE, (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode())
    return taken
