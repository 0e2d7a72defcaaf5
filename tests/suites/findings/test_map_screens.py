"""The screens of a map: of its model where it predicts, of the points alone where it does not."""

from __future__ import annotations

from typing import Any

import pytest

from fedbench.suites.findings import map_points
from fedbench.suites.findings.page import page
from fedbench.suites.findings.results import Results
from fedbench.suites.mapped import asking, fitting
from fedbench.suites.mapped.statements import Judged, Map
from tests.suites.findings.made_up import results as without_design
from tests.suites.findings.test_page import ROWS, cells, section
from tests.suites.mapped import made_up, small

HEAD = "## Which algorithm for which heterogeneity? (small)"


@pytest.fixture(scope="module", name="both")
def _both(tmp_path_factory: pytest.TempPathFactory) -> tuple[Results, Map]:
    results = made_up.results(small.suite(tmp_path_factory.mktemp("small")))
    return results, asking.said(results, fitting.both(results, replicates=2, draws=50))


def written(results: Results, said: Map, *others: Results) -> str:
    return page([*others, results], "fedbench suite report small", {"small": said})


def failing(said: Map, *axes: str, **changed: Any) -> Map:
    """The same with other verdicts on some axes."""
    judged = [
        Judged.model_validate({**one.model_dump(), "error": 0.5, **changed}) if one.axis in axes else one for one in said.judged
    ]
    return said.model_copy(update={"judged": tuple(judged)})


def test_the_page_begins_with_the_map(both: tuple[Results, Map]) -> None:
    text = written(*both, without_design(ROWS, {}))
    heads = [line for line in text.splitlines() if line.startswith("##")]
    assert heads[:6] == [
        HEAD, "### What to take", "### If you know nothing", "### What waiting costs", "### How sure the map is",
        "### Where each may be the best",
    ]  # fmt: skip
    assert heads[6] == "## Which algorithm costs least? (made-up)", "a suite without a design has its own first screen"
    assert "does not predict" not in section(text, HEAD)


def test_what_to_take(both: tuple[Results, Map]) -> None:
    text = section(written(*both), "### What to take")
    assert "The middle is skew two_class, spread 8; each line changes one of these." in text
    (head, *_) = [line for line in text.splitlines() if line.startswith("| heterogeneity")]
    assert (
        head
        == "| heterogeneity | seconds, 3 at work | seconds, all at work | fewest gradients, 3 at work | fewest bytes, 3 at work |"
    )
    middle = cells(text, "the middle")
    assert middle[1].startswith("**fedbuff** 7.")
    assert middle[1].endswith(" s]")
    assert middle[2].startswith("**asysg** 2.")
    assert middle[3].startswith("**feddyn** 1,")
    assert middle[4].endswith(" MB]")
    assert [line.split(" | ")[0] for line in text.splitlines()[-4:]] == ["| the middle", "| skew iid", "| spread 1", "| spread 4"]


def test_a_number_at_work_that_no_point_has_is_named(both: tuple[Results, Map]) -> None:
    results, said = both
    told = said.model_copy(update={"no_points": {"3": (2.0, 8.0), "7": (2.0, 8.0)}})
    text = section(written(results, told), "### What to take")
    assert "No point of the design has 3 at work. What is said there lies between 2 and 8." in text
    assert "has 7 at work" not in text


def test_the_section_of_its_records_compares_no_rows_over_points(both: tuple[Results, Map]) -> None:
    """Every point has its own levels. What stands alone is still told, and what nobody fills has no
    column."""
    text = section(written(*both), "## small")
    assert "Regret in seconds" not in text
    assert "falls behind it below" in text
    (head,) = [line for line in text.splitlines() if line.startswith("| algorithm")]
    assert head == "| algorithm | did not finish |"
    assert "`default / tuned`" not in text


def test_many_that_may_be_best_are_counted(both: tuple[Results, Map]) -> None:
    results, said = both
    names = {f"a{k}": (1.0 + k / 10, 1.0, 1.5) for k in range(7)}
    advice = (said.advice[0].model_copy(update={"tries": names}), *said.advice[1:])
    text = section(written(results, said.model_copy(update={"advice": advice})), "### What to take")
    first = cells(text, "the middle")[1]
    assert first.startswith("**a0** 7.")
    assert "; a1 1.10 [1.00, 1.50]; a2 1.20 [1.00, 1.50]; a3 1.30 [1.00, 1.50]; 3 more" in first


def test_what_to_take_if_one_knows_nothing(both: tuple[Results, Map]) -> None:
    text = section(written(*both), "### If you know nothing")
    assert "the geometric mean over 12 points of the design" in text
    assert "Not everywhere: asysg." in text
    assert "the geometric mean over 5 points of the design with 20 at work" in text
    first, again = (cells(text, "fedbuff", number) for number in (0, 1))
    assert first[1].startswith("1.1")
    assert first[2].startswith("1.3")
    assert first[3].startswith("design-")
    assert len(first) == 6
    assert again[1].startswith("1.3")
    assert cells(text, "asysg")[1].startswith("1.00")


def test_what_waiting_costs(both: tuple[Results, Map]) -> None:
    text = section(written(*both), "### What waiting costs")
    assert "lines are the spread of speeds (fastest over slowest)" in text
    assert cells(text, "spread")[1:] == ["3 at work", "8 at work", "20 at work"]
    slowest = cells(text, "8")
    assert slowest[1].startswith("1.3")
    assert slowest[3].startswith("2.")
    assert cells(text, "1")[2].startswith("0.8")


def test_how_sure_it_is(both: tuple[Results, Map]) -> None:
    text = section(written(*both), "### How sure the map is")
    assert "- Seeds: at a point of the design a row has 3. 0 % of the runs miss a target" in text
    assert "compared with none of the others: fedecho." in text
    assert "independent tunings" not in text
    found = cells(text, "virtual time")
    assert found[4:] == ["1", "4 of 4", "predicts"]
    never = dict.fromkeys(("fedlin", "quafl"), "it never arrives")
    lucky = both[1].model_copy(update={"luck": 0.213, "left_out": {**never, "fedavg": "it is late"}})
    again = section(written(both[0], lucky), "### How sure the map is")
    assert "winners whose times differ by 0.21" in again
    assert "(the median of " in text
    assert "the cheapest algorithm depends on the rule of holding a target." in text
    assert "- Left out, it never arrives: fedlin, quafl.\n- Left out, it is late: fedavg." in again


def test_where_each_may_be_the_best(both: tuple[Results, Map]) -> None:
    text = section(written(*both), "### Where each may be the best")
    assert cells(text, "skew iid, at_work 20")[1].startswith("asysg 100 %")
    assert cells(text, "at_work 3")[2] == "feddyn 100 %", "who is never close is not named"


def test_without_prediction_there_are_points_and_nothing_in_between(both: tuple[Results, Map]) -> None:
    results, said = both
    text = section(written(results, failing(said, "seconds", "gradient_evaluations", "bytes")), HEAD)
    assert "**The map does not predict points that it has not seen." in text
    for heading in ("### What to take", "### Where each may be the best"):
        assert heading not in text
    points = section(text, "### What was measured")
    assert cells(points, "design-01")[1] == "skew iid, spread 1, at_work 3"
    assert cells(points, "design-01")[2].startswith("**fedbuff** 5.")
    assert len([line for line in points.splitlines() if line.startswith(("| design-", "| held-out-"))]) == 16
    nothing = section(text, "### If you know nothing")
    assert "over those of the 12 points of the design at which it holds a target" in nothing
    assert cells(nothing, "fedbuff")[1].startswith("1.3")
    assert cells(nothing, "fedbuff")[3] == "12"
    assert cells(nothing, "asysg")[3] == "5"
    assert cells(nothing, "fedbuff")[4] == "0"
    assert int(cells(nothing, "fedbuff")[5]) == sum("fedbuff" in one for one in map_points.best(results).values()) > 0
    levels, there = section(text, "### What costs little where"), results.suite.points
    of_asysg = [one.name for one in there if one.kind == "design" and one.levels["at_work"] == 20]
    assert cells(levels, "at_work 20")[1] == f"{len(of_asysg)}" == "5"
    assert cells(levels, "at_work 20")[2].split("; ")[0] == "asysg 1.00, at worst 1.00"
    assert "asysg" not in cells(levels, "at_work 3")[2], "it cannot run there"
    found = {(one.factor, one.level): one.rows for one in map_points.by_level(results)}["at_work", 20]
    regrets = sorted(map_points.always(results)[1][0].regrets[point].value for point in of_asysg)
    assert tuple(one.value for one in found[map_points.always(results)[1][0].row]) == (regrets[2], regrets[4])
    waiting = section(text, "### What waiting costs")
    assert cells(waiting, "8")[2].startswith("1.6"), "of one point"
    assert cells(waiting, "8")[3].endswith("(2 points)")
    assert cells(waiting, "4")[1].startswith("1.2")


def test_an_axis_that_does_not_predict_has_no_column(both: tuple[Results, Map]) -> None:
    results, said = both
    text = section(written(results, failing(said, "bytes")), HEAD)
    assert "**The map does not predict traffic at points that it has not seen: there it is a table of points.**" in text
    assert "fewest bytes" not in section(text, "### What to take")
    points = section(text, "### What was measured")
    assert "| point | levels | fewest bytes |" in points
    assert "bytes / fewest" not in section(text, "### If you know nothing")


def test_where_prediction_fails_is_named(both: tuple[Results, Map]) -> None:
    results, said = both
    missed = failing(said, "seconds", missed=["held-out-02"], undecided={"held-out-01": "nobody arrives"})
    text = section(written(results, missed), "### How sure the map is")
    levels = results.suite.point("held-out-02").levels
    where = ", ".join(f"{name} {level if isinstance(level, str) else f'{level:g}'}" for name, level in levels.items())
    assert f"Virtual time: none of those named is within 10 % of the best at held-out-02 ({where})." in text
    assert "Virtual time: not judged, and counted as no hit: held-out-01: nobody arrives." in text
    assert cells(text, "virtual time")[5:] == ["3 of 5", "**does not predict**"]
    alike = failing(said, "seconds", "bytes", undecided=dict.fromkeys(("held-out-01", "held-out-03"), "nobody arrives"))
    text = section(written(results, alike), "### How sure the map is")
    assert "Virtual time, traffic: not judged, and counted as no hit: held-out-01, held-out-03: nobody arrives." in text


def test_without_points_held_out_nobody_knows(both: tuple[Results, Map]) -> None:
    results, said = both
    text = section(written(results, said.model_copy(update={"judged": ()})), HEAD)
    assert "**No point held out can be judged, so nobody knows whether the map predicts. It is a table of points.**" in text
    assert "### What was measured" in text
    assert "Prediction of the points held out" not in text


def test_a_design_without_a_spread_has_no_price_of_waiting(both: tuple[Results, Map]) -> None:
    results, said = both
    text = section(written(results, said.model_copy(update={"prices": ()})), "### What waiting costs")
    assert "The design has no spread or no at_work, or all algorithms are of one kind." in text
