"""Reads data sets in the process of a test, which is faster than in one of their own."""

from __future__ import annotations

import io
import json
from dataclasses import asdict
from pathlib import Path

from fedbench.tasks.own.choice import Wanted
from fedbench.tasks.own.reading import Answer, Read, read_back, write


def read(path: Path, part: str, wanted: Wanted) -> Read:
    out = io.BytesIO()
    about = Answer(**json.loads(json.dumps(asdict(write(path, part, wanted, out)))))
    return read_back(about, bytearray(out.getvalue()))
