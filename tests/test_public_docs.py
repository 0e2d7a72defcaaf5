"""Every public name has a docstring in numpy's style, and what its examples show is true.

Public are the names of `fedbench.__all__`, those of the `__all__` of its modules, and the methods,
properties and fields of public classes that do not begin with an underscore.
"""

from __future__ import annotations

import ast
import dataclasses
import doctest
import functools
import inspect
import itertools
import re
import textwrap
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fedbench as fb

docscrape = pytest.importorskip("numpydoc.docscrape")

ROOT = Path(fb.__file__).parent
LONGEST = 25  # words of a first sentence
WITH_EXAMPLES = ("run", "plan", "scenario", "Records.frame", "Algorithm")


def exported() -> Iterator[tuple[str, Any]]:
    """(name, thing) of everything that an `__all__` names."""
    for name in fb.__all__:
        thing = getattr(fb, name)
        if isinstance(thing, types.ModuleType):
            yield from ((f"{name}.{inner}", getattr(thing, inner)) for inner in thing.__all__)
        else:
            yield name, thing


def members(cls: type) -> Iterator[tuple[str, Any]]:
    """(name, thing) of the methods and properties that our own classes define."""
    for parent in cls.__mro__:
        if parent.__module__.startswith(("fedbench", "tests")):
            for name, thing in vars(parent).items():
                if not name.startswith("_") and (inspect.isroutine(thing) or is_property(thing)):
                    yield name, getattr(thing, "__func__", thing)


def is_property(thing: Any) -> bool:
    return isinstance(thing, property | functools.cached_property)


CLASSES = {name: thing for name, thing in exported() if inspect.isclass(thing)}
FUNCTIONS = {name: thing for name, thing in exported() if inspect.isfunction(thing)}
OTHERS = [name for name, _ in exported() if name not in CLASSES and name not in FUNCTIONS]
MEMBERS = {f"{name}.{inner}": thing for name, cls in CLASSES.items() for inner, thing in members(cls)}


def own_doc(thing: Any) -> str:
    """The docstring of a class, or that of a method, which may be the one of the method that it
    overrides."""
    doc = inspect.cleandoc(thing.__doc__ or "") if inspect.isclass(thing) else inspect.getdoc(thing) or ""
    return "" if doc.startswith(f"{getattr(thing, '__name__', '')}(") else doc  # one that dataclasses make


def of_prose(doc: str) -> Iterator[str]:
    """What is wrong with the first sentence, and with the form of the sections."""
    paragraph = doc.partition("\n\n")[0].rstrip()
    first = re.split(r"\.(?=\s|$)", paragraph)[0]
    if not doc:
        yield "has no docstring"
    elif not paragraph.endswith("."):
        yield f"its first paragraph does not end with a period: {first}"
    elif len(first.split()) > LONGEST:
        yield f"its first sentence has {len(first.split())} words, more than {LONGEST}: {first}"
    if re.search(r"^\s*(Args|Returns|Raises|Attributes|Yields):$", doc, re.MULTILINE):
        yield "a section is not in numpy's style, but ends with a colon"


def described(section: list[Any]) -> dict[str, bool]:
    """The names of a section, and whether each has a type and a description."""
    return {name: bool(row.type and row.desc) for row in section for name in row.name.split(", ")}


def differ(what: str, wanted: list[str], section: list[Any]) -> Iterator[str]:
    got = described(section)
    if list(got) != wanted:
        yield f"{what}: expected {', '.join(wanted) or 'none'}, got {', '.join(got) or 'none'}"
    yield from (f"{what}: {name} has no type or no description" for name, is_whole in got.items() if not is_whole)


def parameters(function: Any) -> list[str]:
    marks = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    found = [marks.get(one.kind, "") + one.name for one in inspect.signature(function).parameters.values()]
    return [name for name in found if name not in ("self", "cls")]


def raised(function: Any) -> set[str]:
    """The errors that stand behind `raise` in a function's own body."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    calls = [node.exc for node in ast.walk(tree) if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call)]
    return {call.func.id for call in calls if isinstance(call.func, ast.Name) and call.func.id.endswith("Error")}


def of_function(function: Any) -> list[str]:
    """What is missing in the docstring of a function or a method."""
    text = own_doc(function)
    doc = docscrape.NumpyDocString(text)
    problems = [*of_prose(text), *differ("Parameters", parameters(function), doc["Parameters"])]
    gives = inspect.signature(function).return_annotation not in ("None", None)
    result = doc["Returns"] or doc["Yields"]
    if gives != bool(result):
        problems.append(f"Returns: expected {'one' if gives else 'none'}")
    problems += [f"Returns: {row.type or row.name} has no description" for row in result if not row.desc]
    missing = raised(function) - {row.type for row in doc["Raises"]}
    return problems + [f"Raises: {name} is not named" for name in sorted(missing)]


def of_class(cls: type) -> list[str]:
    """What is missing in the docstring of a class, whose fields are its Attributes, and the
    arguments of whose own `__init__` are its Parameters."""
    text = own_doc(cls)
    doc = docscrape.NumpyDocString(text)
    annotated = [name for name in inspect.get_annotations(cls) if not name.startswith("_")]
    assigned: list[str] = []
    has_init = "__init__" in vars(cls) and not dataclasses.is_dataclass(cls) and not getattr(cls, "_is_protocol", False)
    if has_init:
        tree = ast.parse(textwrap.dedent(inspect.getsource(cls.__init__)))
        targets = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)]
        assigned = [target.attr for target in targets if not target.attr.startswith("_")]
    wanted = parameters(cls.__init__) if has_init or doc["Parameters"] else []
    problems = [*of_prose(text), *differ("Parameters", wanted, doc["Parameters"])]
    known = {name.lstrip("*") for name in described(doc["Parameters"] + doc["Attributes"])}
    problems += [f"Attributes: {name} is not there" for name in [*annotated, *assigned] if name not in known]
    return problems + [
        f"Attributes: {name} has no type or description" for name, ok in described(doc["Attributes"]).items() if not ok
    ]


def documented_constants() -> set[str]:
    """The names at the top of a module of the package that have a text below their value."""
    found = set()
    for file in [*ROOT.glob("*.py"), *(ROOT / "types").glob("*.py"), *(ROOT / "kernels").glob("*.py")]:
        body = ast.parse(file.read_text()).body
        for one, below in itertools.pairwise(body):
            is_text = isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant) and isinstance(below.value.value, str)
            if is_text and isinstance(one, ast.Assign):
                found |= {target.id for target in one.targets if isinstance(target, ast.Name)}
    return found


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_a_public_function_is_documented(name: str) -> None:
    assert of_function(FUNCTIONS[name]) == []


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_a_public_class_is_documented(name: str) -> None:
    assert of_class(CLASSES[name]) == []


@pytest.mark.parametrize("name", sorted(MEMBERS))
def test_a_public_member_is_documented(name: str) -> None:
    thing = MEMBERS[name]
    if is_property(thing):
        assert list(of_prose(own_doc(thing))) == []
    else:
        assert of_function(thing) == []


def test_other_public_names_have_a_text_below_their_value() -> None:
    assert OTHERS
    assert [name for name in OTHERS if name.rpartition(".")[2] not in documented_constants()] == []


EVERYTHING = {**FUNCTIONS, **CLASSES, **MEMBERS}
EXAMPLES = {name: own_doc(thing) for name, thing in EVERYTHING.items() if ">>>" in own_doc(thing)}


@pytest.mark.extra("frame")
@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_an_example_shows_what_happens(name: str) -> None:
    example = doctest.DocTestParser().get_doctest(EXAMPLES[name], {}, name, None, 0)
    assert doctest.DocTestRunner(verbose=False).run(example).failed == 0


def test_what_a_user_calls_first_has_an_example() -> None:
    assert [name for name in WITH_EXAMPLES if name not in EXAMPLES] == []


class Incomplete:
    """Has a parameter, an attribute and methods without their sections."""

    size: int

    def __init__(self, rate: float) -> None:
        self.rate = rate

    def half(self, of: float) -> float:
        """Returns the half of a number, and refuses one that is negative, which is a very long
        sentence with many more words than a reader takes in at once.

        Args:
            of: the number.
        """
        if of < 0:
            raise fb.errors.UsageError("negative")
        if of > 1:
            raise ValueError("too large")
        return of / 2

    def silent(self) -> None: ...


def test_what_is_missing_is_found() -> None:
    assert of_class(Incomplete) == [
        "Parameters: expected rate, got none",
        "Attributes: size is not there",
        "Attributes: rate is not there",
    ]
    found = "\n".join(of_function(Incomplete.half))
    for problem in (
        "29 words",
        "ends with a colon",
        "Parameters: expected of, got none",
        "Returns: expected one",
        "Raises: ValueError",
    ):
        assert problem in found
    assert of_function(Incomplete.silent) == ["has no docstring"]
