"""Reads YAML as people understand it.

Every key may occur once, there are no aliases and no tags, numbers are decimal, and depth and size
are bounded. Plain YAML keeps the last of several equal keys, lets ten lines stand for a billion
values by aliases, and reads 1:30 as 90 and 010 as 8.
"""

from __future__ import annotations

import contextlib
import re
from typing import Any

import yaml
from yaml.composer import Composer

DEEPEST = 30
MOST_DIGITS = 60
LARGEST = 1 << 19  # characters, which are read in a few seconds


class RefusedYamlError(yaml.YAMLError):
    """The text is YAML, but breaks a rule of this module; the message is for the user."""


class _Strict:
    """What a loader of PyYAML refuses in addition."""

    depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        event: yaml.NodeEvent = self.peek_event()  # type: ignore[attr-defined]
        line = getattr(event.start_mark, "line", 0) + 1
        if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
            raise RefusedYamlError(f"anchors and aliases are not read, got {event.anchor!r:.60} in line {line}")
        tag = getattr(event, "tag", None)
        if tag not in (None, "!"):
            raise RefusedYamlError(f"tags are not read, got {tag!r:.60} in line {line}")
        if self.depth >= DEEPEST:
            raise RefusedYamlError(f"expected at most {DEEPEST} levels, got more in line {line}")
        self.depth += 1
        node: yaml.Node | None = super().compose_node(parent, index)  # type: ignore[misc]
        self.depth -= 1
        return node

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[object, object]:
        first: dict[tuple[str, str], yaml.ScalarNode] = {}
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                continue
            earlier = first.setdefault((key.tag, key.value), key)
            if earlier is not key:
                lines = [one.start_mark.line + 1 for one in (earlier, key)]
                where = f"line {lines[0]}" if lines[0] == lines[1] else f"lines {lines[0]} and {lines[1]}"
                raise RefusedYamlError(f"key {key.value!r:.60} is given twice, in {where}")
        return super().construct_mapping(node, deep)  # type: ignore[misc,no-any-return]


NUMBERS = {
    "tag:yaml.org,2002:int": re.compile(rf"[-+]?(0|[1-9][0-9_]{{0,{MOST_DIGITS - 1}}})\Z"),
    "tag:yaml.org,2002:float": re.compile(
        rf"[-+]?([0-9][0-9_]{{0,{MOST_DIGITS}}}\.[0-9_]{{0,{MOST_DIGITS}}}([eE][-+]?[0-9]{{1,4}})?"
        rf"|\.[0-9][0-9_]{{0,{MOST_DIGITS}}}([eE][-+]?[0-9]{{1,4}})?"
        rf"|[0-9][0-9_]{{0,{MOST_DIGITS}}}[eE][-+]?[0-9]{{1,4}}|\.(inf|Inf|INF))\Z|\.(nan|NaN|NAN)\Z"
    ),
}
_OTHER_TAGS = ("tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:merge", "tag:yaml.org,2002:value")
_RESOLVERS = {
    first: [(tag, pattern) for tag, pattern in found if tag not in NUMBERS and tag not in _OTHER_TAGS]
    for first, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
for _first in "-+.0123456789":
    _RESOLVERS[_first] = [*_RESOLVERS.get(_first, []), *NUMBERS.items()]


class _Loader(_Strict, yaml.SafeLoader):
    yaml_implicit_resolvers = _RESOLVERS


if yaml.__with_libyaml__:

    class _FastLoader(_Strict, Composer, yaml.CSafeLoader):
        """Takes the events of the library in C, which is about ten times as fast."""

        yaml_implicit_resolvers = _RESOLVERS

        def __init__(self, stream: str) -> None:
            yaml.CSafeLoader.__init__(self, stream)
            Composer.__init__(self)


def load(text: str, most: int = LARGEST) -> Any:
    """Returns the mappings, lists and scalars that a YAML text of at most `most` characters holds.
    A number such as 1:30, 010 or 0x10 stays text, as does a date.

    Raises:
        RefusedYamlError: the text breaks a rule of this module, such as a repeated key. The message
            needs no more words around it.
        yaml.YAMLError: the text is not YAML.
    """
    if len(text) > most:
        raise RefusedYamlError(f"expected at most {most:,} characters, got {len(text):,}")
    if yaml.__with_libyaml__:
        with contextlib.suppress(yaml.YAMLError, UnicodeError):
            return yaml.load(text, Loader=_FastLoader)
    return yaml.load(text, Loader=_Loader)  # which says better what is wrong
