"""In which order what is declared is run."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest

from fedbench.papers import ceilings, experiment, queue
from fedbench.papers.cells import chosen
from fedbench.papers.runs import ARCHIVES
from fedbench.results import archive

ARCHIVED = Path(__file__).parents[2] / ARCHIVES
QUEUE = queue.load()


@pytest.mark.parametrize("run", [one.run for one in QUEUE.queue])
def test_a_command_names_cells_that_are_declared(run: str) -> None:
    """With a stand-in or a variation that is declared for them."""
    if run == f"python -m {ceilings.__name__}":
        return
    program, verb, of, *words = shlex.split(run)
    assert (program, verb) == ("fedbench", "reproduce")
    given = dict(zip(words[::2], words[1::2], strict=True))
    assert given.keys() in ({"--variation"}, {"--cells", "--variation"}, {"--cells", "--on"})
    cells = chosen(of, given["--cells"]) if "--cells" in given else chosen(of)
    if "--variation" in given:
        varied = [one for cell in cells for way in experiment.ways([cell]) for one in experiment.variations(way)]
        assert [one.name for one in varied].count(given["--variation"]) >= (len(cells) if "--cells" in given else 1)
        return
    for cell in cells:
        ways = (
            [cell] if given["--on"] == "paper" else [one for one in experiment.stand_ins(cell) if one.stand_in == given["--on"]]
        )
        assert ways, f"{cell.name} has no stand-in {given['--on']}"


def test_it_is_about_more_than_is_spent() -> None:
    """So that what is left out follows from the order, and not from results."""
    assert len({one.run for one in QUEUE.queue}) == len(QUEUE.queue)
    assert sum(one.price for one in QUEUE.queue) > QUEUE.core_hours


def test_what_is_spent_keeps_the_limit(tmp_path: Path) -> None:
    """By the wall times of all records, less those that were there before."""
    assert 0 < queue.spent(ARCHIVED) <= QUEUE.core_hours
    shutil.copytree(ARCHIVED, tmp_path / "archives")
    (one, *others) = archive.read(tmp_path / "archives" / "004-T11")
    longer = one.provenance.model_copy(update={"wall_seconds": (one.provenance.wall_seconds or 0) + 7200})
    archive.write(tmp_path / "archives" / "004-T11", [one.model_copy(update={"provenance": longer}), *others])
    assert queue.spent(tmp_path / "archives") == pytest.approx(queue.spent(ARCHIVED) + 2)
