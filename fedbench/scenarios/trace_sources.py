"""Finds the groups of keys of a scenario that say where traces of links are from."""

from __future__ import annotations

from collections.abc import Callable, Mapping


def trace_sources(content: Mapping[str, object]) -> list[dict[str, object]]:
    """Returns the groups of keys that say where traces are from: that of the part `trace`, and that
    of its `upload` if there is one. The content need not be validated."""
    network = content.get("network")
    trace = network.get("trace") if isinstance(network, Mapping) else None
    if not isinstance(trace, dict):
        return []
    return [trace, *([trace["upload"]] if isinstance(trace.get("upload"), dict) else [])]


def with_sources(
    content: Mapping[str, object], changed: Callable[[Mapping[str, object], str], Mapping[str, object]]
) -> Mapping[str, object]:
    """Returns the content of a scenario in which the groups that say where traces are from are
    `changed`, given the group and its key."""
    network, sources = content.get("network"), trace_sources(content)
    if not isinstance(network, Mapping) or not sources:
        return content
    trace = dict(changed(sources[0], "network.trace"))
    if len(sources) > 1:
        trace["upload"] = changed(sources[1], "network.trace.upload")
    return {**content, "network": {**network, "trace": trace}}
