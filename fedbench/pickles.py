"""Reads pickles as data: nothing is imported and nothing is called but what the caller allows."""

from __future__ import annotations

import io
import pickle
from collections.abc import Collection, Mapping
from typing import Any

from fedbench.errors import FedbenchError


class _Restricted(pickle.Unpickler):
    def __init__(self, content: bytes, allowed: Mapping[str, Any], modules: Collection[str]) -> None:
        super().__init__(io.BytesIO(content), encoding="latin1")
        self.allowed, self.modules = allowed, modules

    def find_class(self, module_name: str, global_name: str, /) -> Any:
        if module_name not in self.modules or global_name not in self.allowed:
            known = ", ".join(self.allowed) or "no classes and no functions"
            raise pickle.UnpicklingError(f"it asks for {module_name}.{global_name}, allowed: {known}")
        return self.allowed[global_name]


def load(
    content: bytes,
    where: str,
    error: type[FedbenchError],
    allowed: Mapping[str, Any] | None = None,
    modules: Collection[str] = (),
) -> Any:
    """Returns the numbers, texts, lists, tuples and dicts that a pickle holds. Text of Python 2 is
    read as latin1.

    Args:
        content: the bytes of the file.
        where: what the file is, for messages.
        error: the kind of error that is raised if the pickle holds or asks for anything else. That
            is then not run.
        allowed: further classes and functions, by the names that a pickle has for them.
        modules: the modules under which a pickle may ask for these names.
    """
    try:
        return _Restricted(content, allowed or {}, modules).load()
    except Exception as problem:  # a damaged pickle can fail in any way; allowed names have no effects of their own
        raise error(f"{where} ({type(problem).__name__}: {problem})") from problem
