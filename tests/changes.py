"""Content that somebody changed: one value of a tree of mappings and lists."""

from __future__ import annotations

from typing import Any

GONE = object()


def put(tree: Any, path: str, value: Any) -> None:
    """Put the value at a path such as `runs.0.seed`; GONE takes what is there away."""
    *groups, key = (int(part) if part.isdigit() else part for part in path.split("."))
    for group in groups:
        tree = tree[group]
    if value is GONE:
        del tree[key]
    else:
        tree[key] = value
