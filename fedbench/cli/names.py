"""The names that rows have in a table: those of a file, else the titles that algorithms of one's
own give themselves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from fedbench import plain_files
from fedbench.cli.output import show
from fedbench.errors import UsageError
from fedbench.suites.compared import Compared

LONGEST = 100  # letters of a name


def names_of(found: Compared, file: Path | None) -> dict[str, str]:
    """Returns by label the names of rows that are not called by their label.

    `file` has names by selector. Selectors that are no rows here are shown, since one file may be
    for several tables. Raises UsageError for what is no name, and if two rows have the same.
    """
    names = {**found.titles, **({} if file is None else _in_file(found, file))}
    counts = Counter(names.get(label, label) for label in found.known)
    if twice := [name for name, count in counts.items() if count > 1]:
        rows = sorted(label for label in found.known if names.get(label, label) == twice[0])
        raise UsageError(f"table: {' and '.join(rows)} have the same name {twice[0]!r}; give them others with --names")
    return names


def _in_file(found: Compared, file: Path) -> Mapping[str, str]:
    names: dict[str, str] = {}
    absent: list[str] = []
    for row, name in plain_files.mapping(file, "names").items():
        if not isinstance(name, str) or not name.strip() or not name.isprintable() or len(name) > LONGEST:
            raise UsageError(f"names {file}: {row}: expected a name of at most {LONGEST} printable letters, got {name!r:.80}")
        try:
            label = found.label(str(row))
        except UsageError:
            absent.append(str(row))
            continue
        if label in names:
            raise UsageError(f"names {file}: row {label} has two names, {names[label]!r} and {name!r}")
        names[label] = name
    if absent:
        show(f"names {file}: no such row here: {', '.join(absent)}")
    return names
