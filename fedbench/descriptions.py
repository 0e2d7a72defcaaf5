"""An algorithm in words: what `fedbench info`, the catalogue and the site say of it."""

from __future__ import annotations

import dataclasses
import inspect

import numpy as np

from fedbench.bibliography import described
from fedbench.options import describe, hints, sentence, source
from fedbench.presets import covering
from fedbench.protocols import Algorithm, Buffered, Cohort
from fedbench.types import GradientWork, Info, Rounds, ServerMemory, ServerWork, Traffic

PUBLIC = 1000  # examples, for what is said of algorithms that need some

SHARED = (Buffered, Cohort)
"""The classes whose options, with those of Algorithm, follow one rule in all algorithms."""


def describe_algorithm(cls: type[Algorithm]) -> dict[str, object]:
    """Returns the name, source, equations, costs and options of an algorithm, as values for
    JSON."""
    annotations = hints(cls)
    few = Info(10, np.ones(10), public_shape=(PUBLIC, 10))
    policy = type(cls().dispatch(few))
    options = [
        {
            "name": f.name,
            "default": f.default,
            "source": source_of_default(cls, f),
            "allowed": describe(annotations[f.name]),
            "about": sentence(cls, f.name),
        }
        for f in dataclasses.fields(cls)
    ]
    sources = described(cls.source)
    presets = [
        {"name": one.name, "about": one.about, "options": dict(one.algorithms[cls.name]), "sources": described(one.source)}
        for one in covering(cls.name)
    ]
    return {
        "name": cls.name,
        "full_name": vars(cls).get("full_name", ""),
        "kind": "algorithm",
        "source": "; ".join(str(row["text"]) for row in sources),
        "sources": sources,
        "requires": sorted(cls.requires),
        "dispatch": policy.__name__,
        "traffic": traffic_text(cls().traffic(few)),
        "gradient_work": work_text(cls().gradient_work(few)),
        "server_work": server_text(cls().server_work(few)),
        "server_memory": memory_text(cls().server_memory(few)),
        "clients_remember": cls.clients_remember,
        "scenario_rounds": "applicable" if policy is Rounds else f"not applicable ({policy.__name__})",
        "about": inspect.cleandoc(cls.__doc__ or ""),
        "options": options,
        "presets": presets,
    }


def source_of_default(cls: type[Algorithm], field: dataclasses.Field[object]) -> str:
    """Returns where the default of an option comes from: what its field says, else what follows
    from the rule in `Algorithm`. Empty if neither says."""
    if said := source(cls, field.name):
        return said
    if any(own.name == field.name and own.default == field.default for one in SHARED for own in dataclasses.fields(one)):
        return "all algorithms alike"
    if (field.name, field.default) == ("server_lr", 1.0):
        return "1 adds the progress as it is"
    if isinstance(field.default, bool | str) or field.name == "option":
        return "the source of the equations"
    return ""


def traffic_text(traffic: Traffic) -> str:
    """Returns in words what a job moves."""
    down, up, exchanges = traffic
    return f"{down:g} model-sized down, {up:g} up" + (f", in {exchanges} exchanges" if exchanges > 1 else "")


def work_text(work: GradientWork) -> str:
    """Returns in words what a job computes."""
    per_step, full = work
    return f"{per_step} mini-batch{'es' * (per_step > 1)} a step" + (f", {full} over all examples" if full else "")


def server_text(work: ServerWork) -> str:
    """Returns in words what the server computes with models."""
    parts = []
    for when, passes, gradients in (
        ("an update", work.forward, work.gradients),
        ("before the first job", work.first_forward, work.first_gradients),
    ):
        counted = [f"{n:,} {what}" for n, what in ((passes, "forward passes"), (gradients, "gradients of an example")) if n]
        parts += [f"{' and '.join(counted)} {when}"] if counted else []
    return f"{', '.join(parts)}, with {PUBLIC:,} public examples" if parts else "nothing"


def memory_text(memory: ServerMemory) -> str:
    """Returns in words what the server keeps."""
    own, per_client, per_version, logits = memory
    parts = [
        f"{own} model-sized",
        f"{per_client} a client" if per_client else "",
        f"{per_version} a version in flight" * bool(per_version),
        "the logits of every client on the public examples" * bool(logits),
    ]
    return " + ".join(part for part in parts if part)
