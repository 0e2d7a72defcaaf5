"""Whether two suites order their rows alike."""

from __future__ import annotations

from fedbench.suites.findings.orders import by_version_1, in_group, overall, shared, shared_in_group
from tests.suites.findings.made_up import results, suite

ONE = {"calm": {"fedavg": 4, "fedprox": 8, "fedbuff": 12, "asysg": 2, "centralised": 1}}
OTHER = {"calm": {"fedavg": 12, "fedprox": 8, "fedbuff": 4, "asysg": 2, "fedasync": 3}}
TEN = "10 clients at work"


def test_orders_that_agree_and_orders_that_do_not() -> None:
    one, other = results(ONE, {}), results(OTHER, {}, suite("second", points=("calm",)))
    assert shared(one, other, "calm") == ["fedavg", "fedprox", "fedbuff", "asysg"]
    assert shared_in_group(one, other, TEN, "calm") == ["fedavg", "fedprox", "fedbuff"]
    assert in_group(one, other, TEN, "calm") == (-1, -1, -1)
    assert in_group(one, one, TEN, "calm") == (1, 1, 1)
    assert overall(one, other, "calm") == (0, 0, 0), "asysg is before all others in both: three pairs of six agree"
    assert by_version_1(one, other, "calm") == (0, 0, 0)
    assert shared_in_group(one, other, TEN, "rough") == []


def test_two_rows_have_no_order_to_agree_on() -> None:
    few = results({"calm": {"fedavg": 4, "fedprox": 8}}, {})
    assert in_group(few, few, TEN, "calm") is None
    assert overall(few, few, "calm") is None
    assert by_version_1(few, few, "calm") is None


def test_by_version_1_a_miss_counts_with_the_budget() -> None:
    """Wherever its last evaluation was: `fedbuff`, which is last seen at 10 s, comes after all."""
    tuned = {"calm": {"fedavg": 12, "fedbuff": None, "fedprox": 14}}
    one, other = results(tuned, {}), results(tuned, {})
    for seats in (one.seats, other.seats):
        rows = seats["calm"]
        (row,) = (name for name in rows if name.startswith("fedbuff"))
        rows[row] = [
            run.model_copy(update={"curves": {name: column[:3] for name, column in run.curves.items()}}) for run in rows[row]
        ]
    assert by_version_1(one, other, "calm") == (1, 1, 1)
    (row,) = (name for name in one.seats["calm"] if name.startswith("fedbuff"))
    one.seats["calm"][row] = results(tuned, {}).seats["calm"][row]
    assert by_version_1(one, other, "calm") == (1, 1, 1), "as if both were watched to the end"
