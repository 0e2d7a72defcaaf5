import pytest

from fedbench.analysis.summary import summarize
from fedbench.errors import RecordError


def only(records):
    (scenario,) = summarize(records)
    return scenario


def test_groups_by_hash_and_selector(record):
    groups = summarize([record("b", 1), record("a"), record("b", 0), record("a", scenario_hash="beef")])
    assert [(one.scenario_hash, [row.selector for row in one.rows]) for one in groups] == [
        ("beef", ["a"]),
        ("c0ffee", ["a", "b"]),
    ]
    assert groups[1].rows[1].seeds == (0, 1)


def test_measures_by_hand(record):
    row = only([record(seed=0, curve=[0.1, 0.8]), record(seed=2, curve=[0.1, 0.9])]).rows[0]
    assert row.measures["test_accuracy"].mean == pytest.approx(0.85)
    assert row.measures["updates"].mean == 41.0
    assert row.measures["bytes_up"].mean == 1001.0
    assert row.measures["busy_fraction"].missing == 2
    assert row.staleness_max == 2
    assert row.times[0].median == 5.0


def test_a_diverged_seed_is_counted_and_missed_until_the_end_of_the_budget(record):
    runs = [record(seed=0), record(seed=1), record(seed=2, curve=[0.1, 0.5, 0.1], state="diverged", test_accuracy=None)]
    row = only(runs).rows[0]
    assert row.outcomes == {"diverged": 1, "finished": 2}
    assert (row.measures["test_accuracy"].n, row.measures["test_accuracy"].missing) == (2, 1)
    assert (row.times[0].hits, row.times[0].total) == (2, 3)
    assert row.times[0].attempts[2].censored_at == 20.0  # not 10 s, where it broke off
    assert row.times[0].restricted_mean.mean == pytest.approx((10 + 10 + 20) / 3)
    assert len(row.curve.seconds) == 3


def test_who_is_compared(record):
    diverged = [record("diverged", 0), record("diverged", 1, state="diverged")]
    misses = [record("misses", seed, [0.1, 0.2, 0.3]) for seed in (0, 1)]
    best = [record("best", seed, [0.1, 0.85, 0.95]) for seed in (0, 1)]
    behind = [record("behind", seed, [0.1, 0.2, 0.3, 0.85]) for seed in (0, 1)]
    rows = {row.selector: row for row in only([*diverged, *misses, *best, *behind]).rows}
    assert {name: row.accuracy_standing for name, row in rows.items()} == {
        "best": "best",
        "behind": "behind",
        "misses": "behind",
        "diverged": "unknown",
    }
    assert {name: row.time_standings for name, row in rows.items()} == {
        "best": ("best",),
        "behind": ("behind",),
        "misses": ("unknown",),
        "diverged": ("behind",),
    }


def test_a_reference_is_shown_and_not_ranked(record):
    """It is better than all others, who are compared among themselves."""
    pooled = [record("centralised", seed, [0.1, 0.95, 0.99]) for seed in (0, 1)]
    for run in pooled:
        run.meta["spec"]["algorithm"]["reference"] = True
    rival = [record("rival", seed, [0.1, 0.9, 0.9]) for seed in (0, 1)]
    slow = [record("slow", seed, [0.1, 0.2, 0.85]) for seed in (0, 1)]
    rows = {row.selector: row for row in only([*pooled, *rival, *slow]).rows}
    assert {name: (row.accuracy_standing, row.time_standings) for name, row in rows.items()} == {
        "centralised": ("reference", ("reference",)),
        "rival": ("best", ("best",)),
        "slow": ("behind", ("behind",)),
    }


def test_the_same_run_twice_counts_once(record):
    assert only([record(), record()]).rows[0].seeds == (0,)


def test_two_records_of_one_seed_are_refused(record):
    other = record()
    other.meta["digests"] = {"model": "different"}
    with pytest.raises(RecordError, match="seed 0: two different records"):
        summarize([record(), other])


def test_changed_defaults_are_not_mixed(record):
    other = record(seed=1)
    other.meta["spec"]["algorithm"]["options"] = {"local_lr": 0.2}
    with pytest.raises(RecordError, match="differ in their options"):
        summarize([record(), other])


def test_a_target_without_a_result_is_an_error(record):
    broken = record()
    broken.meta["time_to_target"] = []
    with pytest.raises(RecordError, match=r"no entry for test_accuracy = 0\.8"):
        summarize([broken])


LOSSES = {"jobs": 40, "jobs_left": 3, "jobs_dropped_out": 2, "jobs_late": 0, "steps_done": 100, "steps_wasted": 30}


def losing(record, seed=0, **ledger):
    run = record(seed=seed)
    run.meta["ledger"] |= LOSSES | ledger
    return run


def test_losses_by_hand(record):
    """A share is of each run, so the mean over seeds is of shares: (5 / 40 + 15 / 60) / 2."""
    row = only([losing(record), losing(record, 1, jobs=60, jobs_late=10, steps_done=200)]).rows[0]
    assert row.measures["jobs_left"].mean == 3
    assert row.measures["jobs_late"].mean == 5
    assert row.measures["lost_share"].mean == pytest.approx((5 / 40 + 15 / 60) / 2)
    assert row.measures["wasted_share"].mean == pytest.approx((30 / 100 + 30 / 200) / 2)


def test_a_share_of_nothing_or_of_what_is_not_told_is_missing(record):
    none = losing(record, 1, jobs=0, steps_done=0)
    row = only([record(), none, losing(record, 2)]).rows[0]
    assert (row.measures["lost_share"].n, row.measures["lost_share"].missing) == (1, 2)
    assert (row.measures["wasted_share"].n, row.measures["wasted_share"].missing) == (1, 2)


@pytest.mark.parametrize(
    ("part", "ledger", "loses"),
    [
        ({}, {}, False),
        (
            {"availability": {"kind": "always"}, "dropout": 0.0, "rounds": {"deadline_seconds": None, "over_selection": 0}},
            {},
            False,
        ),
        ({"availability": {"kind": "periodic", "when_offline": "paused"}}, {}, False),
        ({"availability": {"kind": "periodic", "when_offline": "lost"}}, {}, True),
        ({"dropout": 0.1}, {}, True),
        ({"rounds": {"deadline_seconds": 3.0, "over_selection": 0}}, {}, True),
        ({"rounds": {"deadline_seconds": None, "over_selection": 2}}, {}, True),
        ({}, {"jobs_late": 1}, True),  # by an algorithm's own deadline
    ],
)
def test_where_jobs_can_be_lost(record, part, ledger, loses):
    run = losing(record, jobs_left=0, jobs_dropped_out=0, **ledger)
    run.meta["spec"]["scenario"] |= part
    assert only([run]).loses_jobs == loses
