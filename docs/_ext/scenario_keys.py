"""The keys of a scenario as Markdown, from the models that read it."""

from __future__ import annotations

import inspect
import json
import types
import typing
from collections.abc import Iterator
from typing import Any

from annotated_types import Ge, Gt, Le, Lt
from escaping import escaped
from pydantic.fields import FieldInfo

UNITS = {
    "seconds": "virtual s",
    "seconds_per_example": "virtual s an example",
    "megabit_per_second": "Mbit a virtual s",
    "gradients_per_second": "gradients a virtual s",
    "message_megabytes": "10^6 bytes",
    "upload_over_compute": "factor",
    "log_sigma": "1, of a logarithm",
    "log_mean": "log of virtual s",
    "rows": "virtual s",
    "given": "s, Mbit/s, s",
    "share": "share",
    "on_fraction": "share of the period",
    "phase": "share of the period",
    "dropout": "probability a job",
    "clients": "clients",
    "over_selection": "clients",
    "at_work": "jobs",
    "classes_per_client": "classes",
    "rare_classes": "classes",
    "updates": "server updates",
    "jobs": "jobs",
    "points": "evaluations",
    "steps": "local steps",
    "epochs": "passes over the data",
    "batch_size": "examples",
    "examples": "examples",
    "examples_per_client": "examples",
    "public.size": "examples",
    "tokens": "tokens",
    "targets.value": "share, or the metric's",
    "evaluation.ratio": "factor",
    "compute.slowdown.low": "factor",
    "compute.slowdown.high": "factor",
    "every": "versions or local steps",
    "until": "versions or local steps",
    "at": "versions or local steps",
    "factors": "factor",
    "last": "factor",
    "decay": "factor",
    "clip_norm": "1, of a gradient",
    "label_smoothing": "share",
    "local.momentum": "1",
    "alpha": "1",
    "shape": "1",
    "gamma": "1",
    "scale": "1",
    "strength": "1",
} | {f"local.steps.{key}": "local steps" for key in ("mean", "variance", "minimum", "low", "high", "increment")}
"""By the end of a key's name, or by its whole path."""


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
            yield f"| `{key}` | {kinds} | {_unit(path, key)} | {_default(field)} |"
        yield ""


def _heading(path: str, part: Any) -> str:
    kinds = ", ".join(
        one
        for key in ("kind", "distribution")
        if key in part.model_fields
        for one in typing.get_args(part.model_fields[key].annotation)
    )
    return "The scenario" if not path else f"`{path}`" + (f": {kinds}" if kinds else "")


def _text(part: Any) -> str:
    return escaped(inspect.cleandoc(part.__doc__ or ""))


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
    signs = {Ge: ("≥", "ge"), Gt: (">", "gt"), Le: ("≤", "le"), Lt: ("<", "lt")}
    ends = [(sign, getattr(limit, name)) for limit in limits for kind, (sign, name) in signs.items() if isinstance(limit, kind)]
    return " " + ", ".join(f"{sign} {end:,.10g}" if abs(end) < 1e7 else f"{sign} {end:.3g}" for sign, end in ends) if ends else ""


def _unit(path: str, key: str) -> str:
    whole = f"{path}.{key}".lstrip(".")
    fits = [name for name in UNITS if whole == name or whole.endswith((f".{name}", f"_{name}"))]
    return UNITS[max(fits, key=len)] if fits else ""


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
