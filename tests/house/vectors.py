"""Which expressions of an algorithm's file are model vectors, by where they come from and not by
their names.

Vectors are parameters that are annotated so, what a message, a job's work and an update's batch
carry, what the state holds of them, and what is computed from vectors, other than numbers such as a
norm. Tables of vectors add in a fixed order themselves.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Literal

Kind = Literal["vector", "table", ""]

ANNOTATIONS = {"Vector", "Logits", "ClientTable"}
PLAIN_OF_BATCH = {"clients", "steps", "base", "staleness", "n", "p", "first", "version"}
PLAIN_OF_VECTOR = {"dtype", "size", "shape", "nbytes", "ndim"}
TABLES = {"ClientTable", "TeacherMean"}
ROWS_OF_TABLE = {"dense", "stored", "mean", "rows"}
NUMBERS = {
    "float",
    "int",
    "bool",
    "float | None",
    "int | None",
    "Weights",
    "Integers",
}  # what a function of the file may return instead
LENT = {"gradients", "base_x", "public_logits"}  # by the engine
TO_NUMBERS = {
    "norm",
    "dot",
    "direction_angle",
    "direction_cosine",
    "movement",
    "len",
    "float",
    "int",
    "bool",
    "isfinite",
    "count_nonzero",
    "all",
    "any",
}
REDUCTIONS = {"dot", "sum", "mean", "matmul", "einsum", "vdot", "inner", "tensordot", "norm", "average", "cumsum", "prod"}
KERNELS = {"k", "kernels"}


class Vectors:
    """What the names of one function are; `state` has the kinds of what the state's names were
    given in this file."""

    def __init__(
        self, function: ast.FunctionDef | ast.Module, state: dict[str, Kind], numbers: frozenset[str] = frozenset()
    ) -> None:
        self.state, self.names, self.to_numbers = state, dict[str, Kind](), TO_NUMBERS | numbers
        self.nodes = list(ast.walk(function))
        if isinstance(function, ast.FunctionDef):
            for argument in (*function.args.args, *function.args.kwonlyargs):
                if argument.annotation is not None and ast.unparse(argument.annotation) in ANNOTATIONS:
                    self.names[argument.arg] = "table" if "Table" in ast.unparse(argument.annotation) else "vector"
        while self._learn():
            pass

    def _learn(self) -> bool:
        """Returns whether a name turned out to be more than was known."""
        before = dict(self.names)
        for node in self.nodes:
            match node:
                case ast.Assign(targets=[target], value=value):
                    self._bind(target, value)
                case ast.NamedExpr(target=target, value=value) | ast.AugAssign(target=target, value=value):
                    self._bind(target, value)
                case ast.For(target=target, iter=several) | ast.comprehension(target=target, iter=several):
                    self._bind_items(target, several)
        return self.names != before

    def _bind(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            for one, part in zip(target.elts, value.elts, strict=True):
                self._bind(one, part)
        elif isinstance(target, ast.Tuple):
            for one in target.elts:
                self._bind(one, value)
        elif isinstance(target, ast.Name) and (kind := self.kind(value)):
            self.names[target.id] = kind

    def _bind_items(self, target: ast.expr, several: ast.expr) -> None:
        called = isinstance(several, ast.Call) and isinstance(several.func, ast.Name) and several.func.id
        if isinstance(several, ast.Call) and called in ("zip", "enumerate") and isinstance(target, ast.Tuple):
            parts = several.args if called == "zip" else [ast.Constant(0), *several.args]
            for one, part in zip(target.elts, parts, strict=False):
                self._bind_items(one, part)
        else:
            self._bind(target, several)

    def kind(self, node: ast.AST) -> Kind:
        """Returns what an expression is."""
        match node:
            case ast.Name(id=name):
                return self.names.get(name, "")
            case ast.Attribute():
                return self._kind_of_attribute(node.value, node.attr)
            case ast.Call():
                return self._kind_of_call(node)
            case ast.Compare() | ast.Constant() | ast.Lambda() | ast.JoinedStr():
                return ""
        return "vector" if any(map(self.kind, self._parts(node))) else ""

    def _parts(self, node: ast.AST) -> Iterable[ast.AST]:
        """Returns the parts of an expression that make it what it is."""
        match node:
            case ast.ListComp(elt=one) | ast.GeneratorExp(elt=one) | ast.SetComp(elt=one) | ast.Subscript(value=one):
                return [one]
            case ast.IfExp(body=one, orelse=other):
                return [one, other]
        return ast.iter_child_nodes(node)

    def _kind_of_attribute(self, owner: ast.expr, name: str) -> Kind:
        match owner:
            case ast.Name(id="state"):
                return self.state.get(name, "vector")
            case ast.Name(id="batch"):
                return "" if name in PLAIN_OF_BATCH else "vector"
            case ast.Name(id="message" | "work"):
                return "vector"
        return "" if name in PLAIN_OF_VECTOR else self.kind(owner)

    def _kind_of_call(self, node: ast.Call) -> Kind:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in TABLES:
            return "table"
        if name in LENT:
            return "vector"
        if name in self.to_numbers:
            return ""
        if isinstance(node.func, ast.Attribute) and self.kind(node.func.value) == "table":
            return "vector" if name in ROWS_OF_TABLE else ""
        given = [*node.args, *(keyword.value for keyword in node.keywords)]
        own = isinstance(node.func, ast.Attribute) and self.kind(node.func.value) == "vector"
        return "vector" if own or any(self.kind(one) for one in given) else ""

    def reductions(self) -> Iterator[tuple[int, str]]:
        """(line, what) of every sum over a vector's elements that no kernel makes."""
        for node in self.nodes:
            match node:
                case ast.BinOp(left=a, op=ast.MatMult(), right=b) if self.kind(a) or self.kind(b):
                    yield node.lineno, "@"
                case ast.AugAssign(target=a, op=ast.MatMult(), value=b) if self.kind(a) or self.kind(b):
                    yield node.lineno, "@="
                case ast.Call(func=ast.Attribute(value=owner, attr=name)) if name in REDUCTIONS:
                    of = ast.unparse(owner)
                    operands = [owner] if of not in ("np", "numpy", "np.linalg") else node.args
                    if of not in KERNELS and any(self.kind(one) == "vector" for one in operands):
                        yield node.lineno, ast.unparse(node.func)


def state_kinds(tree: ast.Module) -> dict[str, Kind]:
    """Returns what the names of `State(..)` were given, everywhere in a file."""
    found: dict[str, Kind] = {}
    for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
        known = Vectors(function, found)
        for node in known.nodes:
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "State":
                found |= {one.arg: known.kind(one.value) for one in node.keywords if one.arg is not None}
    return found


def reductions(source: str) -> Iterator[tuple[int, str]]:
    """(line, what) of every reduction over a model vector in a file."""
    tree = ast.parse(source)
    state = state_kinds(tree)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    numbers = frozenset(one.name for one in functions if one.returns is not None and ast.unparse(one.returns) in NUMBERS)
    scopes: list[ast.FunctionDef | ast.Module] = [*functions] or [tree]
    for function in scopes:
        for line, what in Vectors(function, state, numbers).reductions():
            yield line, f"{what} on a model vector; use fedbench.kernels"
