"""What is declared and has no record, and what it costs."""

from __future__ import annotations

from pathlib import Path

import pytest

from fedbench.papers import ceilings, experiment
from fedbench.papers.cells import cells, chosen
from fedbench.papers.declared import declared, left_out, spans
from fedbench.papers.price import price, price_varied
from fedbench.papers.runs import ARCHIVES, in_archives
from tests.papers.test_verdicts import gives, nothing

ROOT = Path(__file__).parents[2]


def test_without_records_every_declared_run_is_needed() -> None:
    found = {one.name: one for one in declared(chosen("001:T1", "3,7"), nothing)}
    first = found["001:T1"]
    assert (first.cells, first.runs) == ((3, 7), 6)
    assert first.core_hours == pytest.approx(3 * sum(price(one).core_seconds for one in chosen("001:T1", "3,7")) / 3600)
    assert first.command == "fedbench reproduce 001:T1 --cells 3,7 --on paper"
    varied = found["001:T1, variation one-fast-400"]
    assert (varied.cells, varied.runs, varied.command) == ((3, 7), 2, "fedbench reproduce 001:T1 --variation one-fast-400")


def test_what_has_a_record_is_not_needed() -> None:
    one, find = chosen("000:T1", "10"), gives({("000:T1", 10): (150,)})
    (seeds, varied) = declared(one, find)
    assert (seeds.runs, varied.name) == (2, "000:T1, variation held")  # of three seeds that were declared later
    assert "--cells 10 --on paper" in seeds.command


def test_what_waits_for_a_ceiling_is_declared_behind_it() -> None:
    *first_of_all, second = declared(chosen("000:T1", "17"), nothing)
    if not ceilings.load().measured:
        (first,) = first_of_all
        assert (first.name, first.runs, first.command) == ("ceilings of cifar10-jpeg", 6, ceilings.COMMAND)
    assert (second.name, second.runs) == ("000:T1 on cifar10-jpeg", 1)


def test_data_that_not_everybody_has_are_not_declared() -> None:
    found = list(declared(chosen("004:T3"), nothing))
    assert found == []


def test_what_is_left_out_has_a_price_and_a_reason() -> None:
    found = list(left_out(cells()))
    assert found
    for one in found:
        assert one.runs == len(one.cells)
        assert one.core_hours > 0
        assert one.shows
    known = {(one.name, number) for one in declared(cells(), nothing) for number in one.cells if "variation" not in one.name}
    assert not known & {(one.name, number) for one in found for number in one.cells}


def test_a_variation_that_was_declared_before_its_runs_says_what_it_would_show() -> None:
    """And has the price of its own plan: with 30 at work FedBuff trains fewer steps."""
    find = in_archives(ROOT / ARCHIVES, cells())
    for one in declared(cells(), find):
        name = one.name.partition(", variation ")[2]
        if name and name != "period":  # which is older
            variations = experiment.experiments(one.name[:3]).tables[one.name[4:].partition(",")[0]].variations
            assert next(each for each in variations if each.name == name).shows, name
    cell = chosen("000:T1", "41")[0]
    (at_work,) = (one for one in experiment.variations(cell) if one.name == "at-work-30")
    assert price_varied(cell, at_work).steps < price(cell).steps / 3


def test_numbers_of_cells_as_on_the_command_line() -> None:
    assert spans((1, 2, 3, 7, 9, 10)) == "1-3,7,9-10"
    assert spans(()) == ""
