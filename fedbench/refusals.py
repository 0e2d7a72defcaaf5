"""Says on one line what a pydantic model refuses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pydantic import ValidationError

from fedbench.errors import FedbenchError, UsageError


def first_problem(refused: ValidationError, *told: str) -> str:
    """Returns the first field that a model refuses, what is wrong, and the value. The messages of
    errors of the types `told` name the value themselves."""
    first = refused.errors(include_url=False, include_context=False)[0]
    got = "" if first["type"] in ("missing", *told) else f", got {first['input']!r:.60}"
    field = ".".join(map(str, first["loc"])) or refused.title
    return f"{field:.200}: {first['msg']:.200}{got}"


@contextmanager
def refused_in(where: str, error: type[FedbenchError] = UsageError) -> Iterator[None]:
    """Raises `error`, of one line that begins with `where`, for the first field that a model
    refuses. Can decorate a function that makes models."""
    try:
        yield
    except ValidationError as refused:
        raise error(f"{where}: {first_problem(refused)}") from None
