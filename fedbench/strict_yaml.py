"""YAML in which a key is given once. Plain YAML keeps the last of several and says nothing."""

from __future__ import annotations

from typing import Any

import yaml


class RepeatedKeyError(yaml.YAMLError):
    """A mapping has a key twice; the message names the key and its lines."""


class _Loader(yaml.SafeLoader):
    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        first: dict[tuple[str, str], yaml.ScalarNode] = {}
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                continue
            earlier = first.setdefault((key.tag, key.value), key)
            if earlier is not key:
                lines = [one.start_mark.line + 1 for one in (earlier, key)]
                where = f"line {lines[0]}" if lines[0] == lines[1] else f"lines {lines[0]} and {lines[1]}"
                raise RepeatedKeyError(f"key {key.value!r} is given twice, in {where}")
        return super().construct_mapping(node, deep)


def load(text: str) -> Any:
    """What a YAML text holds: mappings, lists and scalars only. RepeatedKeyError, or another yaml.YAMLError if it cannot be read."""
    return yaml.load(text, Loader=_Loader)
