"""The house's own rules hold, and can be broken."""

from __future__ import annotations

import ast
import importlib.util
import re
from pathlib import Path

import pytest

from fedbench import registry

from .rules import (
    extension_imports,
    library_functions,
    library_products,
    numbered_citations,
    signs,
    texts,
    texts_by_locale,
    violations,
)
from .vectors import reductions

ROOT = Path(__file__).resolve().parents[2]
ALGORITHM_FILES = sorted(p for p in (ROOT / "fedbench/algorithms").glob("*.py") if p.stem != "__init__")


def test_the_rules_hold() -> None:
    assert list(violations()) == []


STEP = """
def init(self, x0: Vector, tools: Tools) -> State:
    return State(x=x0, m=np.zeros_like(x0), h_i=ClientTable(3, np.zeros_like(x0)), polls=np.zeros(3, np.int64))

def share(x: Vector) -> float:
    return k.norm(x)

def step(self, state: State, batch: Batch, tools: Tools) -> None:
    weights = 2 * (state.x - batch.delta[0])
    a = weights
    for steps, y in zip(batch.clients, batch.delta): pass
    {line}
"""


@pytest.mark.parametrize(
    "line",
    [
        "state.x @ y", "np.dot(a, b)", "batch.delta.sum(axis=0)", "np.linalg.norm(state.m)", "a.mean()", "np.sum(y)", "x0.sum()",
        "p = state.h_i[3]; p.sum()", "n = k.weighted_sum(w, batch.delta); n @= n", "r = [y for _ in (1, 2)]; np.average(r)",
        "np.einsum('i,i', q := tools.gradients([1], state.x), q)", "state.h_i.dense().sum()",
    ],
)  # fmt: skip
def test_a_reduction_over_a_vector_is_found_whatever_it_is_called(line: str) -> None:
    text = (
        STEP.format(line=line) if "x0" not in line else STEP.replace("return State", f"{line}; return State").format(line="pass")
    )
    assert list(reductions(text))


@pytest.mark.parametrize(
    "line",
    [
        "batch.n.sum()", "k.norm(a)", "k.dot(a, y)", "(batch.p * batch.steps).sum()", "state.polls.sum()", "state.h_i.mean()",
        "delta = np.array([share(y) for y in batch.delta]); delta.sum()", "len(batch.delta).bit_count()", "(batch.staleness > 3).sum()",
    ],
)  # fmt: skip
def test_sums_of_what_is_no_vector_are_allowed(line: str) -> None:
    assert not list(reductions(STEP.format(line=line)))


def test_an_extension_has_one_door() -> None:
    assert list(extension_imports("from fedbench import _core"))
    assert list(extension_imports("import fedbench._core"))


def test_a_product_of_the_blas_is_found() -> None:
    source = "a = b @ c\na @= c\nd = np.dot(b, c)\ne = np.linalg.norm(b)\nf = k.dot(b, c) * np.sum(b)\n"
    assert sorted(line for line, _ in library_products(source)) == [1, 2, 3, 4]


def test_a_function_of_numpys_is_found() -> None:
    source = "a = b**2\nc = b**-a\nd = np.exp(b)\ne = 0.5**b\nf = k.power(b, 0.5) * np.sqrt(b) * 2**3\n"
    assert sorted(line for line, _ in library_functions(source)) == [2, 3, 4]


def test_a_text_in_the_encoding_of_the_locale_is_found() -> None:
    source = "a = p.read_text()\np.write_text(a)\nq = p.open('w')\np.write_text(a, encoding='utf-8')\nq = p.open('wb')\n"
    assert sorted(line for line, _ in texts_by_locale(source)) == [1, 2, 3]


def test_a_citation_by_number_is_found() -> None:
    number = "[0" + "04]"
    assert [line for line, _ in numbered_citations(f"first\nSource: {number} Alg. 1\nWang et al. 2025")] == [2]
    assert not list(numbered_citations("x[0] = a[004:] and rows[1][0]"))
    found = {file.relative_to(ROOT).parts[0] for file in texts()}
    assert {"fedbench", "csrc", "README.md"} <= found


def test_signs_of_numbers_have_one_writer() -> None:
    assert [line for line, _ in signs('"""≥"""\nx = f"{y} ± 1"  # ≥\nz = ["≤"]')] == [2, 3]
    page = '/* ≥\n∞ */ const a = "https://b"; // ±\nconst b = "●";\n<b>{# ≤ #}</b>\n<b>&le;</b>'
    assert [line for line, _ in signs(page, is_python=False)] == [3, 5]


@pytest.mark.parametrize("file", ALGORITHM_FILES, ids=lambda p: p.stem)
def test_every_algorithm_cites_its_source_and_has_a_hand_made_test(file: Path) -> None:
    cls = registry.find("algorithm", file.stem)
    assert cls.name == file.stem
    assert cls.source
    assert "Source:" in (cls.__doc__ or "")
    assert (ROOT / f"tests/algorithms/test_{file.stem}.py").exists()
    assert len(file.read_text().splitlines()) <= 150


def length(source: str) -> int:
    """The lines of a file without its numpy-style docstrings, whose sections make them long."""
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    docs = [node.body[0] for node in nodes if "\n----" in (ast.get_docstring(node) or "")]
    return len(source.splitlines()) - sum((doc.end_lineno or 0) - doc.lineno + 1 for doc in docs)


def test_files_stay_readable() -> None:
    long = {p.name: n for p in (ROOT / "fedbench").rglob("*.py") if (n := length(p.read_text())) > 300}
    assert long == {}
    assert length('def f():\n    """One.\n\n    Returns\n    -------\n    int\n    """\n    return 1\n') == 2
    assert length('def f():\n    """One.\n\n    Two.\n    """\n') == 5


def test_the_stub_names_what_the_extension_has() -> None:
    core = importlib.import_module("fedbench._core")
    stub = (ROOT / "fedbench/_core.pyi").read_text()
    named = set(re.findall(r"^(?:(?:def|class) )?([a-zA-Z]\w*)(?=\(|:$| = )", stub, re.MULTILINE))
    assert named == {name for name in dir(core) if not name.startswith("_")}


def test_kernels_need_numpy_only() -> None:
    """A fresh interpreter that imports the kernels has no torch, pydantic or pyarrow."""
    import subprocess
    import sys

    code = "import sys, fedbench.kernels; print(sorted({'torch', 'pydantic', 'pyarrow', 'pandas'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"


def test_the_vectors_are_shipped() -> None:
    assert importlib.util.find_spec("fedbench.proof") is not None
    assert len(list((ROOT / "fedbench/proof/vectors").glob("*.json"))) == 160
