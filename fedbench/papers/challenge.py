"""Writes the page of cells that need data or a GPU which not everybody has: a command each, its
price, what to bring, and how to hand it in."""

from __future__ import annotations

from collections.abc import Sequence

from fedbench import bibliography, written
from fedbench.figures.tables.markdown import escaped
from fedbench.papers import ceilings, experiment, queue
from fedbench.papers.cells import PAPERS, Cell, cells, chosen
from fedbench.papers.declared import declared, left_out, spans
from fedbench.papers.document import differing
from fedbench.papers.handing_in import HANDED_IN
from fedbench.papers.price import price, rate
from fedbench.papers.reading import Find
from fedbench.papers.runs import is_run
from fedbench.papers.verdicts import NEEDS, needs
from fedbench.suites.findings.markdown import table
from fedbench.tasks.available import FOLDERS

FILE = "challenge.md"
LAUNCH_SECONDS, TIMES_A_CORE = 1e-3, 500
"""What is assumed of a GPU: a step takes a millisecond, or a five-hundredth of a core's time if
that is more. Both are estimates, and nothing was run on a GPU."""

TEXT = """
# Bring your data, fill a cell

Made by `fedbench reproduce --write` from the declared experiments.

{count} of the papers' results need data that fedbench may not pass on, and many of them a GPU. Each has one command below. Whoever has the
data types it, gets a verdict by [the rules](README.md), and can hand in the records. What stands in for data gives an order and no verdict.
Nothing has to be chosen: scenario, options, seeds and the end of every run are declared.

## How

1. Install fedbench from a clone, so that records name a commit: `make .venv/.fedbench-installed`.
2. Put the data into the folder that `$FEDBENCH_DATA` names. {data} `fedbench doctor` says whether they are found.
3. Type the command of a cell. It goes on where it was cut short, and ends with the verdict. `-j 2` computes two runs at a time, and
   `--device cuda` computes on a GPU, with the extra `torch`. Cells of a table may be given together, as in `--cells 17,49-52`.
4. Hand it in: `fedbench submit 000:T1 --papers --name mine --title "What it is" --author "Your name" --contact you@example.org` makes the
   folder `{folder}/mine`. Send a pull request that adds it and nothing else.
5. It is checked by `fedbench reproduce 000:T1 --plan --archives {folder}/mine`, and by running some of it again.
6. Then `fedbench reproduce 000:T1 --pack --store {folder}/mine` adds the records to those of the paper, and `make papers` writes
   the verdicts. `{folder}/mine/handed-in.json` says who made them.

## Prices

Hours are those of one core of the reference machine, for one seed up to the printed number. A run that misses its target goes on to twice
that number. Minutes on a GPU are an estimate and no measurement, since none has been run there. A step takes {launch} ms, or 1/{times} of
a core's time if that is more.
"""


def page(find: Find, spent: float) -> str:
    """Returns the page, in Markdown. `find` gives the records that are there: what was declared and
    has none comes last, with the core hours that are spent."""
    wanted: dict[tuple[str, str], list[Cell]] = {}
    for way in experiment.ways(cells()):
        if is_run(way) and needs(way):
            wanted.setdefault((way.of, way.stand_in), []).append(way)
    own = [one for mine in wanted.values() for one in mine if not one.stand_in]
    data = sorted({name for one in own for name in experiment.data_of(one)})
    text = TEXT.format(
        count=len(own),
        data=" ".join(
            f"{NEEDS[name]} is the folder `{FOLDERS[name].folder}`, from <{_address(FOLDERS[name].page)}>." for name in data
        ),
        launch=f"{LAUNCH_SECONDS * 1000:g}",
        times=TIMES_A_CORE,
        folder=HANDED_IN,
    )
    return "\n\n".join([text.strip(), *(_table(mine) for mine in wanted.values()), _ceilings(), _not_run(find, spent)]) + "\n"


def _address(page: str) -> str:
    return page.split(maxsplit=1)[0] if page.startswith("https://") else f"https://{page.split(maxsplit=1)[0]}"


def _table(mine: Sequence[Cell]) -> str:
    of, on, paper = mine[0].of, mine[0].stand_in, bibliography.paper(PAPERS[mine[0].paper])
    keys = [key for key in differing(chosen(of)) if key != "metric"]
    rows = [
        (
            str(one.number),
            escaped(", ".join(f"{one.known[key]}" for key in keys if one.known.get(key) is not None)),
            escaped(one.text),
            needs(one).removeprefix("It needs ").removesuffix("."),
            _figure(price(one).core_seconds / 3600),
            _figure(gpu_minutes(one)),
            str(experiment.seeds(one).last),
            f"`fedbench reproduce {of} --cells {one.number} --on {f'{on} --device cuda' if on else experiment.PAPER}`",
        )
        for one in mine
    ]
    head = ("Cell", "Setting", "Printed", "Bring", "Core hours", "GPU, minutes (estimate)", "Seeds", "Command")
    times = sorted(gpu_minutes(one) for one in mine)
    minutes = " to ".join(dict.fromkeys(map(_figure, (times[0], times[-1]))))
    summary = f"{len(mine)} cells; a seed takes {minutes} minutes on a GPU, as estimated"
    title = f"{of} on {on}" if on else of
    about = experiment.standing_in(mine[0]).about if on else experiment.table(mine[0]).about
    return f"## {title}: {paper.short}\n\n{about}\n\n<details><summary>{summary}</summary>\n\n{table(head, rows)}\n\n</details>"


def _ceilings() -> str:
    """Returns the part on what central training reaches, of which targets on a stand-in are
    made."""
    known = ceilings.load()
    printed = [(one.model, f"{one.accuracy:g}", escaped(one.source)) for one in known.lossless]
    measured = [
        (one.stand_in, one.augmentation, written.accuracy(one.accuracy, one.half_width), f"{one.seeds}") for one in known.measured
    ]
    return "\n\n".join(
        [
            "## Ceilings of what stands in",
            "A target on a stand-in is the printed target, divided by what central training reaches on lossless images, times what it "
            "reaches on the stand-in with crops and mirroring. In print is:",
            table(("Network", "Accuracy", "Source"), printed),
            f"`{ceilings.COMMAND}` measures what `cnn_878538` reaches on the stand-in, as the mean of the last ten of {ceilings.EPOCHS} "
            "passes over the data, with its 95 % interval over seeds:",
            table(("Stand-in", "Augmentation", "Accuracy", "Seeds"), measured) if measured else "It is not measured yet.",
        ]
    )


def _not_run(find: Find, spent: float) -> str:
    """Returns the part on what needs no data that others lack, and has no record all the same."""
    wanted, left = list(declared(cells(), find)), list(left_out(cells()))
    rows = [(one.name, spans(one.cells), f"{one.runs}", _figure(one.core_hours), f"`{one.command}`") for one in wanted]
    others = [(one.name, spans(one.cells), _figure(one.core_hours), escaped(one.shows)) for one in left]
    return "\n\n".join(
        [
            "## Declared, and not run",
            f"These runs cost about {_figure(sum(one.core_hours for one in wanted))} core hours. The queue "
            f"[`fedbench/papers/queue.yaml`](../../fedbench/papers/queue.yaml) may take {queue.load().core_hours:g} in all, of which "
            f"{spent:.1f} are spent, so not all of them will be run here. Some are only run if an earlier one comes out as declared, which "
            "the queue says. They need no lossless CIFAR and no STL-10. Those on CIFAR-10 as JPEG need the images that "
            "`fedbench info cifar10_jpeg` describes.",
            table(("Runs of", "Cells", "Runs", "Core hours", "Command"), rows),
            "What was left out when the runs were declared, with the price of one seed of each cell:",
            table(("Runs of", "Cells", "Core hours", "Why"), others),
        ]
    )


def _figure(number: float) -> str:
    """Returns a number in two figures, without an exponent."""
    return f"{number:.0f}" if number >= 10 else f"{number:.2g}"


def gpu_minutes(cell: Cell) -> float:
    """Returns the estimated minutes of a seed on a GPU."""
    found, on_core = price(cell), rate(experiment.spec(cell, 0))
    step = max(LAUNCH_SECONDS, on_core.step / TIMES_A_CORE)
    evaluations = max(0.0, found.core_seconds - found.steps * on_core.step) / TIMES_A_CORE
    return (found.steps * step + evaluations) / 60
