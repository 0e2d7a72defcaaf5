"""Looks up what a key of a file takes, by the key's path in pydantic's models. An example of a path
in a scenario is (compute, per_step, slowdown, high)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, get_args, get_origin

from pydantic import BaseModel

from fedbench.scenarios.data_parts import TEST_BRANCHES
from fedbench.scenarios.local_parts import STEPS_BRANCHES

TAGS = ("kind", "distribution", "method")  # keys that choose a member of a union of parts
BRANCHES = STEPS_BRANCHES | TEST_BRANCHES  # members that no key chooses


def annotation_at(root: type[BaseModel], path: Sequence[str]) -> object:
    """Returns what a key takes: a part, a union of parts, or the annotation of a value. `root` is
    the model of the file."""
    model: object = root
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
    """Returns the path as the file has it, without the tags that pydantic adds for the chosen
    member of a union."""
    groups = [annotation_at(root, path[:place]) for place in range(len(path))]
    return [
        part
        for part, group in zip(path, groups, strict=True)
        if part not in BRANCHES and (part in fields(group) or part not in members_by_tag(group))
    ]


def fields(model: object) -> dict[str, object]:
    """Returns the keys of a part, or of all members of a union, with their annotations."""
    return {(field.alias or name): field.annotation for m in _members(model) for name, field in m.model_fields.items()}


def members_by_tag(model: object) -> dict[str, type[BaseModel]]:
    """Returns the members of a union of parts by the tag that chooses them."""
    tags: dict[str, type[BaseModel]] = {}
    for member in _members(model):
        for tag in TAGS:
            if tag in member.model_fields and member is not model:
                tags[get_args(member.model_fields[tag].annotation)[0]] = member
    return tags


def _members(model: object) -> list[type[BaseModel]]:
    """Returns the part itself, or the parts of a union."""
    if isinstance(model, type) and issubclass(model, BaseModel):
        return [model]
    inside = (get_args(model)[0],) if get_origin(model) is Annotated else get_args(model)
    return [member for one in inside for member in _members(one)]
