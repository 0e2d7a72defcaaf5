"""What a header of the core declares, as Markdown: its first comment, and each declaration with the comment above it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from escaping import escaped

DOCUMENTED = re.compile(r"((?:^[ ]*///.*\n)+)((?:^(?![ ]*///).+\n?)+)", re.MULTILINE)


def page(file: Path) -> Iterator[str]:
    text = file.read_text()
    first = re.match(r"(?://.*\n)+", text)
    yield f"## {file.name}\n"
    yield f"```text\n{_words(first[0]) if first else ''}\n```\n"
    for comment, below in DOCUMENTED.findall(text):
        yield f"```cpp\n{_declaration(below)}\n```\n\n{escaped(_words(comment))}\n"


def _words(comment: str) -> str:
    return "\n".join(re.sub(r"^ *//+ ?", "", line) for line in comment.rstrip().splitlines())


def _declaration(text: str) -> str:
    """The lines up to the body of a function, or to the end of what is declared."""
    kept: list[str] = []
    for line in text.splitlines():
        kept.append(line)
        if re.search(r"[;{]\s*(?://.*)?$", line):
            break
    last = re.sub(r"\s*//.*$", "", kept[-1])
    return "\n".join([*kept[:-1], re.sub(r"\s*\{\s*$", "", last)]).strip("\n")
