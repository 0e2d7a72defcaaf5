"""The schema of a file, looked up by the path of a key: of a scenario, (compute, per_step,
slowdown, high)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, get_args, get_origin

from pydantic import BaseModel

from fedbench.scenarios.local_parts import BRANCHES

TAGS = ("kind", "distribution")  # keys that choose a member of a union of parts


def annotation_at(root: type[BaseModel], path: Sequence[str]) -> Any:
    """What a key of the file's model takes: a part, a union of parts, or the annotation of a
    value."""
    model: Any = root
    for place, name in enumerate(path, 1):
        tags = members_by_tag(model)
        if name in BRANCHES and place < len(path):
            model = BRANCHES[name]
        elif name in tags:
            model = tags[name]
        elif get_origin(model) is tuple and name.isdigit():
            items = get_args(model)
            model = items[0] if Ellipsis in items else items[min(int(name), len(items) - 1)]
        else:
            model = fields(model).get(name, model)
    return model


def visible(root: type[BaseModel], path: Sequence[str]) -> list[str]:
    """The path as the file has it: without the tags that pydantic puts in for the chosen member of
    a union."""
    model: Any = root
    shown: list[str] = []
    for part in path:
        if part in BRANCHES:
            continue
        keys = fields(model)
        if keys and part not in keys and part in members_by_tag(model):
            model = members_by_tag(model)[part]
            continue
        shown.append(part)
        model = keys.get(part, model) if keys else model
    return shown


def fields(model: Any) -> dict[str, Any]:
    """Keys of a part (or of the members of a union), with the annotation behind each."""
    return {(field.alias or name): field.annotation for m in _members(model) for name, field in m.model_fields.items()}


def members_by_tag(model: Any) -> dict[str, Any]:
    """Members of a union of parts, by the tag that chooses them."""
    tags: dict[str, Any] = {}
    for member in _members(model):
        for tag in TAGS:
            if tag in member.model_fields and member is not model:
                tags[get_args(member.model_fields[tag].annotation)[0]] = member
    return tags


def _members(model: Any) -> list[type[BaseModel]]:
    """The part itself, or the parts of a union."""
    if isinstance(model, type) and issubclass(model, BaseModel):
        return [model]
    inside = (get_args(model)[0],) if get_origin(model) is Annotated else get_args(model)
    return [member for one in inside for member in _members(one)]
