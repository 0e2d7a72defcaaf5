"""In which order what is declared is run."""

from __future__ import annotations

import shlex
from importlib.resources import files

import pytest
import yaml

from fedbench.papers import ceilings, experiment
from fedbench.papers.cells import chosen

QUEUE = yaml.safe_load((files("fedbench.papers") / "queue.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("run", [one["run"] for one in QUEUE["queue"]])
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
    assert len({one["run"] for one in QUEUE["queue"]}) == len(QUEUE["queue"])
    assert sum(one["price"] for one in QUEUE["queue"]) > QUEUE["core_hours"]
