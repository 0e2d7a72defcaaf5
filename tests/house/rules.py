"""Lint rules that no linter has. Usage: python -m tests.house.rules

1. An algorithm reduces model vectors through fedbench.kernels only. `@`, np.dot, np.sum, .sum(),
   .mean() and their kin add in an order that depends on the BLAS or on numpy's build; kernels have
   a fixed one. `vectors.py` knows what a vector is.
2. Only fedbench.kernels imports the extensions.
3. Papers are cited by author and year (fedbench/literature.toml), never by a number of ours such as
    [000].
4. What computes a record has no products of the BLAS (`@`, np.dot and their kin), whose last bits
   differ between processors. `heterogeneity.py` measures a scenario, which is in no record.
5. Algorithms and kernels compute no function of floats whose last bit differs between processors:
   `**` with another exponent than a whole number, np.exp and their kin. kernels.power is portable.
6. Text files are UTF-8, whatever the locale is: reading and writing them say so.
7. Only fedbench/written.py writes the signs of numbers, of a bound, an interval or the set of the
   best. Docstrings and comments may show them.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from .vectors import reductions

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "fedbench"
RECORDED = {"engine", "tasks", "scenarios", "results", "types", "tables.py", "protocols.py", "shards.py", "own_metrics.py"}
MEASURES = PACKAGE / "engine" / "heterogeneity.py"
PRODUCTS = frozenset({
    "dot", "vdot", "inner", "outer", "matmul", "tensordot", "einsum", "linalg", "convolve", "correlate", "cov", "corrcoef",
})  # fmt: skip
FUNCTIONS = frozenset({
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "power", "float_power", "cbrt", "sin", "cos", "tan", "arccos", "arcsin",
    "arctan", "arctan2", "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh",
})  # fmt: skip
NUMBERED = re.compile(r"\[00\d\]")
SIGNS = re.compile("[≥≤∞±●]|&(ge|le|infin|plusmn);")
COMMENTS = re.compile(r"/\*.*?\*/|(?<![:\w])//[^\n]*|\{#.*?#\}", re.DOTALL)
TEXTS = {".py", ".pyi", ".yaml", ".toml", ".md", ".txt", ".html", ".cpp", ".hpp", ".cu", ".cuh"}


def extension_imports(source: str) -> Iterator[tuple[int, str]]:
    """(line, what) of every import of fedbench._core or _cuda."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        if any("fedbench._core" in name or "fedbench._cuda" in name for name in names):
            yield node.lineno, "imports an extension; go through fedbench.kernels"


def library_products(source: str) -> Iterator[tuple[int, str]]:
    """(line, what) of every product that numpy leaves to a library."""
    for line, found in _of_numpy(source, ast.MatMult, PRODUCTS):
        yield line, f"{found} has other bits on other processors; fedbench.kernels.accumulate has dot and row_dots"


def library_functions(source: str) -> Iterator[tuple[int, str]]:
    """(line, what) of every function of floats that numpy or the C library computes."""
    for line, found in _of_numpy(source, ast.Pow, FUNCTIONS):
        yield line, f"{found} has another last bit on other processors; fedbench.kernels has power"


def _of_numpy(source: str, operator: type[ast.operator], names: frozenset[str]) -> Iterator[tuple[int, str]]:
    """(line, what) of every use of an operator, whole powers excepted, and of one of numpy's
    names."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, operator):
            right = node.right if isinstance(node, ast.BinOp) else node.value
            if not (isinstance(right, ast.Constant) and isinstance(right.value, int)):
                yield node.lineno, "**" if operator is ast.Pow else "@"
        elif (
            isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "np" and node.attr in names
        ):
            yield node.lineno, f"np.{node.attr}"


def texts_by_locale(source: str) -> Iterator[tuple[int, str]]:
    """(line, what) of every file that is read or written as text in the encoding of the locale."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        name = node.func.attr
        modes = [one.value for one in node.args if isinstance(one, ast.Constant) and isinstance(one.value, str)]
        is_text = name in ("read_text", "write_text") or (name == "open" and modes in (["r"], ["w"], ["a"], ["x"]))
        if is_text and not any(one.arg == "encoding" for one in node.keywords):
            yield node.lineno, f"{name} without encoding"


def numbered_citations(text: str) -> Iterator[tuple[int, str]]:
    """(line, what) of every citation by a number."""
    for line, words in enumerate(text.splitlines(), 1):
        for found in NUMBERED.findall(words):
            yield line, f"{found} means nothing to a reader; cite author and year, with an entry in fedbench/literature.toml"


def signs(source: str, *, is_python: bool = True) -> Iterator[tuple[int, str]]:
    """(line, what) of every sign of a number."""
    if is_python:
        nodes = list(ast.walk(ast.parse(source)))
        told = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}  # docstrings
        lines = [(one.lineno, one.value) for one in nodes if isinstance(one, ast.Constant) and id(one) not in told]
    else:
        blank = COMMENTS.sub(lambda found: "\n" * found[0].count("\n"), source)
        lines = list(enumerate(blank.splitlines(), 1))
    for line, text in lines:
        if isinstance(text, str) and (found := SIGNS.search(text)):
            yield line, f"writes {found[0]}; fedbench/written.py does"


def texts() -> Iterator[Path]:
    """Files in which papers are cited: the package, the core, pages and the scenarios."""
    folders = [PACKAGE, ROOT / "csrc", ROOT / "docs", ROOT / "benchmarks"]
    files = [*ROOT.glob("*.md"), *(file for folder in folders for file in folder.rglob("*"))]
    return (file for file in sorted(files) if file.suffix in TEXTS)


def violations() -> Iterator[str]:
    """One line per violation."""
    for file in texts():
        yield from (f"{file.relative_to(ROOT)}:{line}: {what}" for line, what in numbered_citations(file.read_text()))
    for file in sorted(PACKAGE.rglob("*.py")):
        room, source = file.relative_to(PACKAGE).parts[0], file.read_text()
        found = list(reductions(source)) if room == "algorithms" else []
        found += texts_by_locale(source)
        found += library_functions(source) if room in ("algorithms", "kernels") else []
        found += library_products(source) if room in RECORDED and file != MEASURES else []
        found += [] if room == "kernels" else extension_imports(source)
        found += [] if room == "written.py" else signs(source)
        yield from (f"{file.relative_to(PACKAGE.parent)}:{line}: {what}" for line, what in found)
    for file in sorted(file for kind in ("*.js", "*.html") for file in PACKAGE.rglob(kind) if file.name != "parquet.js"):
        shown = signs(file.read_text(), is_python=False)
        yield from (f"{file.relative_to(PACKAGE.parent)}:{line}: {what}" for line, what in shown)


if __name__ == "__main__":
    lines = list(violations())
    print("\n".join(lines) or "house rules kept")
    sys.exit(1 if lines else 0)
