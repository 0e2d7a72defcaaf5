"""What is wrong with a scenario is said in one form: the key by its path, what it takes, the value,
the nearest, the file or the settings."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import pytest
import yaml
from pydantic import ValidationError

from fedbench.errors import UsageError
from fedbench.scenarios.keys import TAGS, annotation_at, fields, members_by_tag, visible
from fedbench.scenarios.load import LIBRARY, load
from fedbench.scenarios.problems import in_words, problem
from fedbench.scenarios.schema import Scenario

DEMO: dict[str, Any] = yaml.safe_load((LIBRARY / "digits-demo.yaml").read_text())
WRONG: list[Any] = ["fixd", "7 or so", 1.5, -1e300, 1e300, math.nan, True, None, [1, 2], [[["x"]]], {"a": 1}, {1: 2}, {}]
FORM = re.compile(r"unknown key [\w.]+(; .+)?|[\w.]+ must be .+, (got .+|but is missing)|[\w.]+: .+", re.DOTALL)
WORDS_OF_PYDANTIC = re.compile(r"[Ii]nput|Field required|Value error|[Uu]nable|validat(?!ion\b)|\bvalid |Keys should")


def keys(path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every key of the schema, with the tags of the chosen members on its path."""
    for name in fields(annotation_at(Scenario, path)):
        yield (*path, name)
        tags = members_by_tag(annotation_at(Scenario, (*path, name)))
        for behind in [(tag,) for tag in tags] or [()]:
            if fields(annotation_at(Scenario, (*path, name, *behind))):
                yield from keys((*path, name, *behind))


def group(path: tuple[str, ...], value: Any, at: tuple[str, ...] = ()) -> dict[str, Any]:
    """A group of keys that has the value at a path, and nothing but the tags that lead there."""
    name, rest = path[0], path[1:]
    members, here = members_by_tag(annotation_at(Scenario, at)), (*at, name)
    if name in members:
        (tag,) = {one for one in TAGS if one in fields(members[name])}
        return {tag: name} | group(rest, value, here)
    inside = group(rest, value, here) if rest else value
    return {name: [inside] if rest and get_origin(annotation_at(Scenario, here)) is tuple else inside}


@pytest.mark.parametrize("path", list(keys()), ids=".".join)
def test_whatever_is_wrong_is_said_in_one_form(path: tuple[str, ...]) -> None:
    """No message is in the words of pydantic, whose names of types say nothing about a file."""
    refused = 0
    for value in WRONG:
        try:
            Scenario.model_validate(DEMO | group(path, value))
        except ValidationError as error:
            refused += 1
            for said in map(problem, error.errors()):
                assert FORM.fullmatch(said), said
                assert not WORDS_OF_PYDANTIC.search(said), said
    assert refused


def literals() -> Iterator[tuple[tuple[str, ...], tuple[Any, ...]]]:
    """Every key that takes one of some values, with these: of a tag, those of the whole union."""
    for path in keys():
        takes = annotation_at(Scenario, path)
        if get_origin(takes) is Literal:
            members = members_by_tag(annotation_at(Scenario, path[:-2]))
            yield path, tuple(members) if path[-1] in TAGS and path[-2] in members else get_args(takes)


@pytest.mark.parametrize(("path", "allowed"), list(literals()), ids=lambda value: ".".join(map(str, value)))
def test_one_of_some_values_is_named_with_all_of_them_and_the_nearest(path: tuple[str, ...], allowed: tuple[Any, ...]) -> None:
    wrong = f"{allowed[-1]}x"
    with pytest.raises(ValidationError) as caught:
        Scenario.model_validate(DEMO | group(path, wrong))
    said = [re.sub(r"\.0\.", ".", problem(item)) for item in caught.value.errors()]
    wanted = f"one of {', '.join(map(repr, allowed))}" if len(allowed) > 1 else repr(allowed[0])
    assert f"{'.'.join(visible(Scenario, path))} must be {wanted}, got {wrong!r}; did you mean '{allowed[-1]}'?" in said


def test_there_are_literals_of_every_sort() -> None:
    found = {".".join(visible(Scenario, path)) for path, _ in literals()}
    assert {"schema", "network.message", "local.steps.mode", "compute.time.distribution"} <= found


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("network.message=fixd", "network.message must be one of 'fixed', 'payload', got 'fixd'; did you mean 'fixed'?"),
        ("targets=[{value: 0.8, metric: accuracy}]", "targets: expected a metric of test_accuracy, test_loss, got 'accuracy'; did you"),
        ("public={source: held_out}", "digits-demo: public: source: held_out needs a size, got none ("),
        ("task.augmentation=crop_flp", "task.augmentation must be one of 'none', 'crop_flip', got 'crop_flp'; did you mean"),
        ("validation={share: 1}", "validation.share must be < 1, got 1 ("),
        ("schema=2", "schema must be 1, got 2 ("),
        ("clients=many", "clients must be an integer, got 'many' ("),
        ("clients=true", "clients must be an integer, got True ("),
        ("clients=2.5", "clients must be an integer, got 2.5 ("),
        ("clients=3e9", "clients must be <= 1000000, got 3000000000.0 ("),
        ("task.name=[a]", "task.name must be text, got ['a'] ("),
        ("task={model: mlp}", "task.name must be text, but is missing ("),
        ("name=Digits Demo", "name must be text that matches ^[a-z0-9][a-z0-9_-]{0,99}$, got 'Digits Demo' ("),
        ("local.steps=some", "local.steps must be an integer or a list or a group of keys, got 'some' ("),
        ("local.steps=[1]", "digits-demo: local.steps: expected one number for each of 20 clients, got 1 ("),
        ("local.steps=[1, x]", "local.steps.1 must be an integer, got 'x' ("),
        ("local.steps={kind: unifrm, low: 2, high: 4}", "local.steps.kind must be one of 'normal', 'extreme', 'uniform', 'linear', got"),
        ("local.steps={kind: uniform, low: 2, high: 4, mode: random}", "local.steps.mode must be 'fixed', got 'random' ("),
        ("local.steps={kind: uniform, low: 4, high: 4}", "local.steps: high must be > low, which is the least that is drawn, got low 4"),
        ("local.steps={kind: extreme, low: 4, high: 3}", "local.steps: high must be >= low, got low 4, high 3 ("),
        ("local.steps={mean: 9, mode: random, minimum: 2}", "local.steps: minimum must be 1 with mode: random"),
        ("partition={kind: dirichlet, alpha: 1, stop_at_mean: 3}", "partition.stop_at_mean must be true or false, got 3 ("),
        (
            "partition.kind=[iid]",
            "partition.kind must be one of 'iid', 'two_class', 'dirichlet', 'shards', 'overlapping', 'natural', got ['iid']; did you "
            "mean 'iid'? (",
        ),
        ("network.trace={given: [[[-1, 5, 0]]]}", "network.trace.given.0.0.0 must be > 0, got -1 ("),
        ("network.trace={given: [[]]}", "network.trace.given.0 must be a list of at least 1, got [] ("),
        ("targets=0.8", "targets must be a list, got 0.8 ("),
        ("budget=null", "budget must be a group of keys, got None ("),
        ("evaluation.every_seconds=.inf", "evaluation.every_seconds must be <= 1000000000, got inf ("),
        ("local={}", "local: exactly one of steps and epochs is needed, got neither ("),
        ("network.message_megabytes=3", "payload without, got payload and message_megabytes 3 ("),
    ],
)  # fmt: skip
def test_by_hand(override: str, message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)) as caught:
        load("digits-demo", ["network={}", override])
    assert str(caught.value).endswith(f" (digits-demo, with {f'network={{}}, {override}':.80})")


def test_pairs_of_numbers() -> None:
    part = "compute={{kind: delay_classes, long_seconds: {}}}"
    for given, message in (
        ("5", "compute.long_seconds must be [a number, a number], got 5"),
        ("[5, 6, 7]", "compute.long_seconds must be [a number, a number], got [5, 6, 7]"),
        ("[5]", "compute.long_seconds.1 must be a number, but is missing"),
        ("[5, x]", "compute.long_seconds.1 must be a number, got 'x'"),
        ("[5, -1]", "compute.long_seconds.1 must be >= 0, got -1"),
    ):
        with pytest.raises(UsageError, match=re.escape(f"{message} (")):
            load("digits-demo", [part.format(given)])


def test_a_long_value_is_cut_and_the_file_named(tmp_path: Path) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text(yaml.safe_dump(DEMO | {"clients": list(range(100))}))
    with pytest.raises(UsageError, match=r"clients must be an integer, got \[0, 1, .{60,70}\.\.\. \(.*mine\.yaml\)$"):
        load(mine)


def test_in_words() -> None:
    assert [in_words(one) for one in (bool, int, float, str, Scenario)] == [
        "true or false", "an integer", "a number", "text", "a group of keys",
    ]  # fmt: skip
    assert in_words(Literal["a", "b"]) == "one of 'a', 'b'"
    assert in_words(int | None) == "an integer"
