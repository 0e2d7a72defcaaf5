"""Algorithms of strangers, whose files a user has named and so are run: what they do to their own
messages, and what their files may be."""

from __future__ import annotations

from tests.hostile.case import Case, Folder, Hole, Link, Made

IMPORTS = "from __future__ import annotations\nfrom dataclasses import dataclass\nimport fedbench as fb\n"
MINE = IMPORTS + "\n@dataclass(frozen=True, kw_only=True)\nclass A(fb.Algorithm):\n    name = 'mine'\n"


def _imported(name: str, made: Made, words: str, lines: int = 2, code: int = 2) -> Case:
    return Case(f"plug-in: {name}", ("plan", "digits-demo", "-a", "./a.py:A"), words, {"a.py": made}, code, lines)


def _raises(name: str, error: str, words: str) -> Case:
    return _imported(
        name, f"class E({error.partition(':')[0]}):\n    def __str__(self): {error.partition(':')[2]}\nraise E\n", words
    )


CASES = [
    _imported("GeneratorExit at import", "raise GeneratorExit('gone')\n", "cannot be imported: .*GeneratorExit: gone"),
    _imported("an error of its own kind at import", "class E(BaseException): pass\nraise E('x')\n", "cannot be imported: .*E: x"),
    _imported("SystemExit at import", "raise SystemExit(0)\n", "cannot be imported: .*SystemExit: 0"),
    _imported("exit with text at import", "raise SystemExit('a\\nb' * 1000)\n", r"SystemExit: a\\nba\\nb"),
    _raises("an error without a text", "Exception: return None", "cannot be imported: .*its text cannot be made"),
    _raises("an error whose text fails", "Exception: raise ValueError('no')", "its text cannot be made, ValueError"),
    _raises("an error whose text ends the program", "Exception: raise SystemExit(0)", "its text cannot be made, SystemExit"),
    _raises("an error whose text is itself", "Exception: return str(self)", "its text cannot be made, RecursionError"),
    _raises("an error whose text is no text", "Exception: return 3", "its text cannot be made, TypeError"),
    _imported("an error of a megabyte", "raise ValueError('x' * 1_000_000)\n", "ValueError: xxx"),
    _imported("an error of many lines", "raise ValueError('a\\nb\\n' * 1000)\n", r"ValueError: a\\nb"),
    _imported("an error that clears the screen", "raise ValueError('\\x1b[2J\\x1b[H' * 10)\n", r"ValueError: \\x1b\[2J"),
    _imported("an error with half of a pair", "raise ValueError('\\udc80')\n", r"ValueError: \\udc80"),
    _imported("an error of a name of 10,000 characters", "raise type('E' * 10_000, (Exception,), {})('x')\n", "EEEE"),
    _imported(
        "an error in a function of a long name", f"def {'f' * 5000}(): raise ValueError('x')\n{'f' * 5000}()\n", "ValueError|ffff"
    ),
    _imported("an error in a line of 100,000 characters", "x = 1; " * 15_000 + "raise ValueError('x')\n", "ValueError: x"),
    _imported("an error in a line that clears the screen", "raise ValueError('x')  # \x1b[2J\n", "ValueError: x"),
    _imported("no Python", "{" * 10_000, "cannot be imported: SyntaxError|MemoryError|RecursionError", 1),
    _imported("100,000 levels of brackets", "(" * 100_000, "cannot be imported", 1),
    _imported("100,000 minus signs", "x = " + "-" * 100_000 + "1\n", "cannot be imported", 1),
    _imported("a null byte", "x = 1\0\n", "cannot be imported", 1),
    _imported("not UTF-8", b"x = '\xff'\n", "cannot be imported", 1),
    _imported("an unknown encoding", "# coding: nonsense\n", "cannot be imported", 1),
    _imported("an indentation of many lines", "if 1:\n" + "\n" * 10_000, "cannot be imported", 1),
    _imported("2,000,000 lines", lambda: "x = 1\n" * 650_000, "has no class 'A'|expected at most", 1),
    _imported("1,000,000 empty lines", lambda: "\n" * 1_000_000, "has no class 'A'|expected at most", 1),
    _imported("2,000,000 short statements", lambda: "0\n" * 1_000_000, "has no class 'A'|expected at most", 1),
    _imported("45,000 classes", lambda: "class A: 0\n" * 45_000, "expected at most 20,000 lines, got 45,000", 1),
    _imported("250,000 statements in a line", lambda: "0;" * 250_000, "has no class 'A'", 1),
    _imported("a literal of a million items", lambda: "x = [" + "0," * 250_000 + "]\n", "has no class 'A'|expected at most", 1),
    _imported("a number of a million digits", lambda: "x = " + "9" * 500_000 + "\n", "cannot be imported|expected at most", 1),
    _imported(
        "a product that is computed while it is compiled", "x = ((1 << 100_000) * 'a')\n", "cannot be imported|has no class", 2
    ),
    _imported("a device without an end", Link("/dev/zero"), "it is no plain file", 1),
    _imported("standard input", Link("/dev/stdin"), "cannot be read|no plain file", 1),
    _imported("a folder", Folder(), "it is no plain file", 1),
    _imported("a hole of 3 MB", Hole(3 << 20), "cannot be imported|expected at most", 1),
    _imported("no class", "A = 3\n", "expected a class that extends fedbench.Algorithm, got 3", 1),
    _imported(
        "a class whose representation fails",
        "class M(type):\n    def __repr__(c): raise ValueError('no')\nclass A(metaclass=M): pass\n",
        "expected a class that extends",
        1,
    ),
    _imported(
        "an object whose representation is huge",
        "class B:\n    def __repr__(s): return 'a\\n' * 1_000_000\nA = B()\n",
        "expected a class that extends",
        1,
    ),
    _imported("100,000 classes beside", "".join(f"class B{i}: pass\n" for i in range(5000)), "has no class 'A'", 1),
    _imported("a name of many lines", MINE.replace("'mine'", "'a\\nb' * 1000"), "the class attribute `name` must be", 1),
    _imported("a name that is no text", MINE.replace("'mine'", "3"), "the class attribute `name` must be", 1),
    _imported(
        "a name that fails",
        MINE.replace("name = 'mine'", "@property\n    def name(self): raise ValueError"),
        "the class attribute `name` must be",
        1,
    ),
    _imported("no dispatch", MINE, "does not say how it dispatches", 1, 1),
    _imported(
        "a dispatch that ends the program",
        MINE + "    def dispatch(self, info): raise SystemExit(0)\n",
        "must not end the program",
        2,
        1,
    ),
    _imported(
        "a dispatch that closes itself", MINE + "    def dispatch(self, info): raise GeneratorExit\n", "GeneratorExit", 2, 1
    ),
    _imported(
        "a dispatch that fails in many lines",
        MINE + "    def dispatch(self, info): raise ValueError('a\\nb' * 5000)\n",
        r"ValueError: a\\nb",
        2,
        1,
    ),
    _imported(
        "a dispatch whose error fails",
        MINE
        + "    def dispatch(self, info):\n        class E(Exception):\n            def __str__(self): raise OSError\n        raise E\n",
        "its text cannot be made",
        2,
        1,
    ),
    _imported(
        "a dispatch of another kind",
        MINE + "    def dispatch(self, info): return 'a\\nb' * 10_000\n",
        "dispatch must return one of Rounds",
        1,
    ),
]
