"""Chooses the columns that make examples. It is done once, for the training file: the test file
must have the same ones by name, in whatever order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fedbench.errors import UsageError, closest, shown, some


@dataclass(frozen=True)
class Wanted:
    """The columns that are asked for: of labels, of owners if there is one, and of features; if it
    is empty, all others are features. `exact` has the features of the training file if this is the
    test file, which may have no others then. If labels are `real`, they are numbers and no
    classes."""

    label: str
    client: str | None = None
    features: tuple[str, ...] = ()
    exact: tuple[str, ...] = ()
    real: bool = False

    @property
    def keys(self) -> tuple[str, ...]:
        """Label and owner, of which one column may be both: then a client has one class."""
        return (self.label,) if self.client in (None, self.label) else (self.label, self.client)


def features_of(names: Sequence[str], wanted: Wanted, where: str, *, has_owners: bool = True) -> tuple[str, ...]:
    """Returns the features of a file with columns of these names, in the order in which they are
    joined. UsageError, which begins with `where`, if a column is missing, stands in the file twice,
    or is asked for twice.

    Args:
        names: all columns of the file but the index.
        wanted: what is asked for.
        where: the file, for messages.
        has_owners: whether the column of owners is needed.
    """
    for name in wanted.keys if has_owners else (wanted.label,):
        _once(name, names, where)
    twice = [name for name in wanted.features if wanted.features.count(name) > 1 or name in wanted.keys]
    if twice:
        what = (
            "the column of " + ("labels" if twice[0] == wanted.label else "owners")
            if twice[0] in wanted.keys
            else "a column twice"
        )
        raise UsageError(f"task.features: must name every column of features once, got {shown(twice[0], 60)}, {what}")
    others = tuple(name for name in names if name not in wanted.keys)
    if wanted.exact:
        return _same(others if not wanted.features else wanted.features, names, wanted, where)
    features = wanted.features or others
    if not features:
        raise UsageError(f"{where}: has no column of features beside {some(wanted.keys)}")
    for name in features:
        _once(name, names, where)
    return features


def _same(found: Sequence[str], names: Sequence[str], wanted: Wanted, where: str) -> tuple[str, ...]:
    lacking = [name for name in wanted.exact if name not in names]
    extra = [name for name in found if name not in wanted.exact]
    if lacking or extra:
        said = [f"it lacks {some(lacking)}"] * bool(lacking) + [f"it has {some(extra)} beside them"] * bool(extra)
        raise UsageError(
            f"{where}: must have the columns of features of the training file, {some(wanted.exact)}; {' and '.join(said)}; "
            "task.features names those that count"
        )
    for name in wanted.exact:
        _once(name, names, where)
    return wanted.exact


def _once(name: str, names: Sequence[str], where: str) -> None:
    if name not in names:
        near = closest(name, [shown(one, 60) for one in names[:1000]]) or f"; its columns are {some(names, 10)}"
        raise UsageError(f"{where}: has no column '{shown(name, 60)}'{near}")
    if names.count(name) > 1:
        raise UsageError(f"{where}: has {names.count(name)} columns '{shown(name, 60)}'; rename one of them, or leave them out")
