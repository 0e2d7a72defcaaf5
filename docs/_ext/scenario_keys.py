"""The keys of a scenario as Markdown, from the models that read it."""

from __future__ import annotations

import inspect
import json
import re
import types
import typing
from collections.abc import Iterator
from typing import Any

from annotated_types import Ge, Gt, Le, Lt, MaxLen, MinLen
from pydantic.fields import FieldInfo

UNITS = {
    "seconds": "virtual seconds",
    "seconds_per_example": "virtual seconds an example",
    "megabit_per_second": "Mbit a virtual second",
    "gradients_per_second": "gradients a virtual second",
    "bytes": "bytes",
    "share": "share from 0 to 1",
    "dropout": "probability a job",
    "clients": "clients",
    "updates": "server updates",
    "jobs": "jobs",
    "points": "evaluations",
    "steps": "local steps",
    "epochs": "passes over the client's examples",
    "batch_size": "examples",
    "tokens": "tokens",
    "examples": "examples",
}


def pages() -> Iterator[str]:
    """A section for the scenario and for every part that it can have, each once, in the order of its keys."""
    from fedbench.scenarios.schema import Scenario

    waiting, seen = [("", Scenario)], set()
    while waiting:
        path, part = waiting.pop(0)
        if part in seen:
            continue
        seen.add(part)
        yield f"## {_heading(path, part)}\n"
        yield f"{_text(part)}\n"
        yield "| key | value | unit | default |\n|---|---|---|---|"
        for name, field in part.model_fields.items():
            key = field.alias or name
            below = list(_parts(field.annotation))
            waiting += [(f"{path}.{key}".lstrip("."), one) for one in below]
            kinds = "one of the parts below" if below else _kind(field.annotation, field.metadata)
            yield f"| `{key}` | {kinds} | {_unit(key)} | {_default(field)} |"
        yield ""


def _heading(path: str, part: Any) -> str:
    kind = next((_default(part.model_fields[key]) for key in ("kind", "distribution") if key in part.model_fields), "")
    literal = next(
        (typing.get_args(part.model_fields[key].annotation) for key in ("kind", "distribution") if key in part.model_fields), ()
    )
    names = ", ".join(map(str, literal)) or kind.strip("`")
    return "The scenario" if not path else f"`{path}`" + (f": {names}" if names else "")


def _text(part: Any) -> str:
    return re.sub(r"([<\[\]{}$])", r"\\\1", inspect.cleandoc(part.__doc__ or ""))


def _parts(kind: Any) -> Iterator[Any]:
    """The models in an annotation."""
    from fedbench.scenarios.base import Part

    if inspect.isclass(kind) and issubclass(kind, Part):
        yield kind
    for one in typing.get_args(kind):
        yield from _parts(one)


def _kind(kind: Any, limits: list[Any]) -> str:
    """The type and the range of a value in words."""
    if typing.get_origin(kind) is typing.Annotated:
        base, *more = typing.get_args(kind)
        return _kind(base, [*more, *limits])
    if typing.get_origin(kind) is typing.Literal:
        return " or ".join(f"`{one}`" for one in typing.get_args(kind))
    if typing.get_origin(kind) in (typing.Union, types.UnionType):
        return " or ".join(dict.fromkeys(_kind(one, limits) for one in typing.get_args(kind)))
    if typing.get_origin(kind) is tuple:
        items = [one for one in typing.get_args(kind) if one is not Ellipsis]
        each = list(dict.fromkeys(_kind(one, []) for one in items))
        return f"list of {each[0]}" if Ellipsis in typing.get_args(kind) else f"[{', '.join(_kind(one, []) for one in items)}]"
    name = {int: "whole number", float: "number", str: "text", bool: "`true` or `false`", type(None): "`null`"}.get(
        kind, "a mapping"
    )
    return name + _range([one for limit in limits for one in _flat(limit)]) if name in ("whole number", "number") else name


def _flat(limit: Any) -> list[Any]:
    return [one for inner in limit.metadata for one in _flat(inner)] if isinstance(limit, FieldInfo) else [limit]


def _range(limits: list[Any]) -> str:
    said = []
    for limit in limits:
        for kind, sign, name in ((Ge, "≥", "ge"), (Gt, ">", "gt"), (Le, "≤", "le"), (Lt, "<", "lt")):
            if isinstance(limit, kind):
                said.append(
                    f"{sign} {getattr(limit, name):,.10g}"
                    if abs(getattr(limit, name)) < 1e7
                    else f"{sign} {getattr(limit, name):.3g}"
                )
        if isinstance(limit, MinLen | MaxLen):
            continue
    return f" {', '.join(said)}" if said else ""


def _unit(key: str) -> str:
    return next(
        (unit for name, unit in sorted(UNITS.items(), key=lambda one: -len(one[0])) if key == name or key.endswith("_" + name)),
        "",
    )


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True)
    if hasattr(value, "model_dump"):
        kept = {key: one for key, one in value.model_dump(mode="json").items() if key in ("kind", "distribution")}
        return f"`{next(iter(kept.values()))}`" if kept else "the part's own"
    if value is None or isinstance(value, bool):
        return f"`{json.dumps(value)}`"
    return f"`{list(value) if isinstance(value, tuple) else value}`"
