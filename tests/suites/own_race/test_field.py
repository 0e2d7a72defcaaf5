"""Who races, as a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from fedbench.errors import UsageError
from fedbench.suites.own_race import field
from fedbench.suites.own_race.field import Started


def test_it_is_read_as_it_was_written(tmp_path: Path) -> None:
    assert field.read(tmp_path) is None
    one = Started(rows={"fedavg[local_lr=0.5]": "fedavg"}, kept={"fedbuff": "it fell over"}, out={"mine": "not today"})
    field.write(tmp_path, one)
    assert field.read(tmp_path) == one


@pytest.mark.parametrize(("text", "why"), [("[]", "expected a mapping of keys, got list"), ('{"rows": {}, "lines": 1}', "lines")])
def test_a_file_of_another_kind_is_refused(tmp_path: Path, text: str, why: str) -> None:
    (tmp_path / field.FILE).write_text(text)
    with pytest.raises(UsageError, match=why):
        field.read(tmp_path)
