"""Docstrings and comments are refilled to 100 columns; what is no prose stays as it is."""

from __future__ import annotations

import ast

import pytest

from .prose import refilled

LONG = "word " * 30 + "end"


def columns(text: str) -> int:
    return max(map(len, text.splitlines()))


def test_sections_in_the_style_of_numpy_stay_sections() -> None:
    sections = "    Parameters\n    ----------\n    a, b : int\n        One.\n    *below : int\n        More.\n"
    source = f'def f():\n    """First.\n\n{sections}\n    {LONG}\n    """\n'
    found = refilled("a.py", source)
    assert columns(found) <= 100
    assert sections in found
    long = sections.replace("One.", LONG).replace("a, b : int", f"a, b : {'int or ' * 20}float")
    assert "    ----------\n    a, b : int or" in refilled("a.py", source.replace(sections, long))


@pytest.mark.parametrize("quotes", ['"""', 'r"""'])
def test_a_docstring_is_refilled(quotes: str) -> None:
    text = f"{quotes}{LONG}.\n\n    - {LONG}\n    - short\n\n    Args:\n        a: {LONG}\n            and more.\n    "
    source = f'def f(a: int) -> int:\n    {text}"""\n    return a\n'
    found = refilled("a.py", source)
    assert columns(found) <= 100
    assert "    - short\n" in found
    assert "    Args:\n        a: word" in found
    kept = ast.get_docstring(ast.parse(found).body[0])  # type: ignore[arg-type]
    assert kept is not None
    assert kept.split() == ast.get_docstring(ast.parse(source).body[0]).split()  # type: ignore[arg-type, union-attr]
    assert refilled("a.py", found) == found


def test_quotes_that_stand_alone_stay_alone() -> None:
    source = f'class A:\n    """\n    Args:\n        a: {LONG}\n    """\n'
    found = refilled("a.py", source)
    assert found.startswith('class A:\n    """\n    Args:\n        a: word')
    assert columns(found) <= 100


@pytest.mark.parametrize("suffix", ["#", "//", "///"])
def test_comments_are_refilled(suffix: str) -> None:
    name = "a.py" if suffix == "#" else "a.hpp"
    found = refilled(name, f"    {suffix} {LONG}\n    {suffix} {LONG}\nx = 1;\n")
    assert columns(found) <= 100
    assert found.count(suffix + " ") == 4
    assert found.endswith("x = 1;\n")


@pytest.mark.parametrize(
    "kept",
    [
        f'"""x = 1;  y = 2 and {LONG}"""',  # an equation
        f'"""y <- y - lr * {LONG}"""',
        f'"""\n| a | {LONG} |\n"""',
        f"x = '{LONG}'  # {LONG}",  # code
        f"# type: ignore[{LONG}]",
        f'"""Short.\n\n>>> {LONG}\n"""',
    ],
)
def test_what_is_no_prose_stays(kept: str) -> None:
    assert refilled("a.py", kept + "\n") == kept + "\n"
