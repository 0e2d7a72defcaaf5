"""The settings that tell scenarios of one name apart."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from fedbench.results.sections import Spec

MOST_LETTERS = 60  # of a setting in a heading
SILENT = {"about", "schema"}  # keys of a scenario that change no result


def differences(specs: Sequence[Spec]) -> list[list[str]]:
    """Returns for each specification the settings `key.path=value` that tell it from the others of
    its scenario name.

    specs: the sections `spec` of records. Of several specifications, every key is told whose value
    is not the same in all of them. Of a single one, the settings are told by which it departs from
    the library's scenario of its name; the record has them. There are none if the library has no
    such scenario.
    """
    if len(specs) == 1:
        return [list(specs[0].overrides or ())]
    leaves = [dict(_leaves(spec.scenario.resolved())) for spec in specs]
    keys = dict.fromkeys(key for one in leaves for key in one)
    telling = [key for key in keys if len({json.dumps(one.get(key)) for one in leaves}) > 1]
    return [[f"{key}={json.dumps(one[key])}" for key in telling if key in one] for one in leaves]


def shortened(setting: str) -> str:
    """Returns a setting as a heading shows it: without quotes, whole numbers without a point, and
    cut after MOST_LETTERS."""
    plain = re.sub(r"(?<=\d)\.0$", "", setting.replace('"', ""))
    return plain if len(plain) <= MOST_LETTERS else f"{plain[: MOST_LETTERS - 2]}.."


def _leaves(content: Mapping[str, object], path: str = "") -> Iterator[tuple[str, object]]:
    for key, value in content.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{path}{key}.")
        elif f"{path}{key}" not in SILENT:
            yield f"{path}{key}", value
