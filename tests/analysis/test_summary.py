import pytest

from fedbench.analysis.summary import summarize
from fedbench.errors import RecordError
from fedbench.suites.compared import of_records
from tests.analysis import runs_made_up as made_up
from tests.conftest import alter, sixteen


def only(records):
    (scenario,) = summarize(records)
    return scenario


def test_groups_by_hash_and_selector(record):
    groups = summarize([record("b", 1), record("a"), record("b", 0), record("a", scenario_hash="beef")])
    assert [(one.scenario_hash, [row.selector for row in one.rows]) for one in groups] == sorted(
        [(sixteen("beef"), ["a"]), (sixteen("c0ffee"), ["a", "b"])]
    )
    (both,) = (one for one in groups if len(one.rows) == 2)
    assert both.rows[1].seeds == (0, 1)


def test_measures_by_hand(record):
    row = only([record(seed=0, curve=[0.1, 0.8, 0.8, 0.8]), record(seed=2, curve=[0.1, 0.9, 0.9, 0.9])]).rows[0]
    assert row.measures["test_accuracy"].mean == pytest.approx(0.85)
    assert row.measures["updates"].mean == 41.0
    assert row.measures["bytes_up"].mean == 1001.0
    assert row.measures["busy_fraction"].missing == 2
    assert row.measures["test_accuracy_last_10"].missing == 2
    assert row.staleness_max == 2
    assert row.to_target[0].median == 5.0


def test_a_diverged_seed_is_counted_and_missed_until_the_end_of_the_budget(record):
    held = [0.1, 0.5, 0.8, 0.9, 0.9]
    runs = [record(curve=held), record(seed=1, curve=held)]
    runs.append(record(seed=2, curve=[0.1, 0.5, 0.1], state="diverged", test_accuracy=None))
    row = only(runs).rows[0]
    assert row.outcomes == {"diverged": 1, "finished": 2}
    assert (row.measures["test_accuracy"].n, row.measures["test_accuracy"].missing) == (2, 1)
    assert (row.to_target[0].hits, row.to_target[0].total) == (2, 3)
    assert row.to_target[0].attempts[2].censored_at == 20.0  # not 10 s, where it broke off
    assert row.to_target[0].restricted_mean.mean == pytest.approx((10 + 10 + 20) / 3)
    assert len(row.curve.at) == 3


def near(seed, name, curve):
    """The curve, moved a little by a seed and a name, so that differences scatter."""
    return [value + 0.001 * ((seed + 1) * len(name) % 3) for value in curve]


def three(record, name, curve):
    """Three seeds, whose times are moved a little too."""
    last = 5.0 * (len(curve) - 1)
    return [
        record(
            name,
            seed,
            near(seed, name, curve),
            seconds=[*(5.0 * i + 0.01 * (seed * len(name) % 5) for i in range(len(curve) - 1)), last],
        )
        for seed in (0, 1, 2)
    ]


def standing(records, axis="seconds"):
    (scenario,) = summarize(records, axis)
    return {row.selector: row.accuracy.standing for row in scenario.rows}


@pytest.mark.parametrize("state", ["diverged", "stalled"])
def test_who_is_compared(record, state):
    """Only rows whose seeds all finished."""
    broken = [*three(record, "broken", [0.1, 0.5, 0.85, 0.9])[:2], record("broken", 2, seconds=[0, 5, 10.02, 15], state=state)]
    misses = three(record, "missing", [0.1, 0.2, 0.3, 0.3])
    best = three(record, "best", [0.1, 0.85, 0.9, 0.95])
    behind = three(record, "other", [0.1, 0.2, 0.3, 0.85])
    assert standing([*broken, *misses, *best, *behind]) == {
        "best": "best",
        "other": "behind",
        "missing": "behind",
        "broken": "unknown",
    }


def test_accuracies_are_compared_where_all_still_are_and_not_at_the_end(record):
    """`long` is better at its end at 20 s; at 10 s, where the cap on updates ended `short`, it is
    worse."""
    long = [record("long", seed, near(seed, "long", [0.1, 0.2, 0.3, 0.8, 0.99])) for seed in (0, 1, 2)]
    short = [record("short", seed, near(seed, "short", [0.1, 0.5, 0.6]), ended_by="updates") for seed in (0, 1, 2)]
    (scenario,) = summarize([*long, *short])
    rows = {row.selector: row for row in scenario.rows}
    assert scenario.horizon.at == 10.0
    assert (rows["short"].accuracy.standing, rows["long"].accuracy.standing) == ("best", "behind")
    assert rows["long"].measures["test_accuracy_at_horizon"].mean == pytest.approx(0.3, abs=0.002)
    assert rows["long"].measures["test_accuracy"].mean == pytest.approx(0.99, abs=0.002)
    assert rows["short"].ended_by == {"updates": 3}


def test_another_axis_may_have_another_best(record):
    """At 10 s `many` is ahead with 100 updates; after 20 updates, all that `few` makes, it is
    behind."""
    many = [record("many", seed, near(seed, "many", [0.1, 0.4, 0.9]), columns={"version": [0, 20, 100]}) for seed in (0, 1, 2)]
    few = [record("some", seed, near(2 - seed, "s", [0.1, 0.5, 0.7]), columns={"version": [0, 10, 20]}) for seed in (0, 1, 2)]
    assert standing([*many, *few]) == {"many": "best", "some": "behind"}
    assert standing([*many, *few], "updates") == {"many": "behind", "some": "best"}
    assert standing([*many, *few], "rounds") == standing([*many, *few], "updates")


def test_targets_are_counted_on_the_axis(record):
    runs = [record(seed=seed, curve=[0.1, 0.9, 0.9, 0.9], columns={"version": [0, 7 + seed, 20, 30]}) for seed in (0, 1)]
    (scenario,) = summarize(runs, "updates")
    assert scenario.rows[0].to_target[0].median == 7.5


def test_a_row_that_is_not_compared_shows_its_reason_and_its_value_if_it_has_one(record):
    good = [record(name, seed, [0.1, 0.5, 0.6]) for name in ("a", "b") for seed in (0, 1)]
    stalled = [record("stalled", 0, [0.1, 0.2], state="stalled"), record("stalled", 1, [0.1, 0.2, 0.3])]
    (scenario,) = summarize([*good, *stalled])
    row = scenario.rows[-1]
    assert (scenario.horizon.at, row.left_out, row.accuracy.standing) == (10.0, "1 of 2 seeds stalled", "unknown")
    value = row.measures["test_accuracy_at_horizon"]
    assert (value.n, value.missing, value.mean) == (1, 1, pytest.approx(0.3))


def test_a_reference_is_shown_and_not_ranked(record):
    """It is better than all others, who are compared among themselves, and its early end moves
    nothing."""
    pooled = [record("centralised", seed, [0.1, 0.95]) for seed in (0, 1, 2)]
    for run in pooled:
        alter(run, "spec.algorithm.reference", True)
    rival = three(record, "rivals", [0.1, 0.9, 0.9])
    slow = three(record, "slow", [0.1, 0.2, 0.85])
    assert standing([*pooled, *rival, *slow]) == {
        "centralised": "reference",
        "rivals": "best",
        "slow": "behind",
    }
    assert only([*pooled, *rival, *slow]).horizon.at == 10.0


def test_an_older_record_lacks_one_axis_only(record):
    old = record()
    del old.curves["gradient_evaluations"]
    assert summarize([old], "bytes")
    with pytest.raises(RecordError, match="no column 'gradient_evaluations'"):
        summarize([old], "gradient_evaluations")


def test_sections_of_one_name_say_what_tells_them_apart(record):
    small, large, other = record(), record(scenario_hash="beef"), record(scenario="other")
    alter(large, "spec.scenario.clients", 500)
    names = [one.full_name for one in summarize([small, large, other])]
    assert names == ["other", "slow_tail with clients=500", "slow_tail with clients=100"]


def test_sections_that_a_heading_cuts_alike_have_their_hashes(record):
    """Else one of them would take the place of the other."""
    first, second = record(), record(scenario_hash="beef")
    for run, last in ((first, 0.7), (second, 0.8)):
        alter(run, "spec.scenario.targets", [{"metric": "test_accuracy", "value": value} for value in (0.5, 0.6, last)])
        alter(run, "time_to_target", [])
    names = [one.full_name for one in summarize([first, second])]
    assert [name.split(", hash=")[1] for name in names] == sorted(sixteen(one)[:12] for one in ("beef", "c0ffee"))
    assert {*of_records([first, second], "mine").rows} == {*names}


def test_a_row_that_uses_public_data(record):
    run = record()
    alter(run, "spec.algorithm.requires", ["public_data"])
    alter(run, "spec.scenario.public", {"source": "held_out", "size": 10})
    assert only([run]).rows[0].uses_public_data
    assert only([run]).scenario.holds_out_public_data
    assert not only([record()]).rows[0].uses_public_data
    alter(run, "spec.scenario.public.source", "fashion_mnist")
    assert not only([run]).scenario.holds_out_public_data


def test_the_same_run_twice_counts_once(record):
    assert only([record(), record()]).rows[0].seeds == (0,)


def test_two_records_of_one_seed_are_refused(record):
    other = record()
    alter(other, "digests", {"model": "d" * 32})
    with pytest.raises(RecordError, match="seed 0: two different records"):
        summarize([record(), other])


def test_changed_defaults_are_not_mixed(record):
    """Of a built-in algorithm the older record names what is no default any more, and so is a row
    of its own. Of another one the defaults are not known."""
    older = record(seed=1)
    alter(older, "spec.algorithm.options", {"local_lr": 0.2})
    (found,) = summarize([record(), older])
    assert [(row.selector, row.seeds) for row in found.rows] == [("fedavg", (0,)), ("fedavg[local_lr=0.2]", (1,))]
    mine, others = record("mine"), record("mine", seed=1)
    alter(others, "spec.algorithm.options", {"local_lr": 0.2})
    with pytest.raises(RecordError, match="differ in their options"):
        summarize([mine, others])


def in_file(record, seed, sha256, **more):
    run = record("mine", seed=seed, **more)
    alter(run, "spec.algorithm.origin", {"kind": "file", "class": "Mine", "file": "mine.py", "sha256": sha256 * 64})
    return run


def test_an_algorithm_that_was_changed_has_a_row_for_each_code(record):
    """Also where its defaults changed with it. The other rows are as they were."""
    before, after = in_file(record, 0, "a"), [in_file(record, seed, "b") for seed in (0, 1)]
    alter(before, "spec.algorithm.options", {"local_lr": 0.2})
    (found,) = summarize([before, *after, record()])
    assert {row.selector: row.seeds for row in found.rows} == {
        "fedavg": (0,),
        "mine (code aaaaaaaa)": (0,),
        "mine (code bbbbbbbb)": (0, 1),
    }
    (alone,) = summarize(after)
    assert [row.selector for row in alone.rows] == ["mine"]


LOSSES = {"jobs": 40, "jobs_left": 3, "jobs_dropped_out": 2, "jobs_late": 0, "steps_done": 100, "steps_wasted": 30}


def losing(record, seed=0, **ledger):
    run = record(seed=seed)
    alter(run, "ledger", LOSSES | ledger)
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
        ({"availability": {"kind": "periodic", "period_seconds": 10, "on_fraction": 0.5, "when_offline": "paused"}}, {}, False),
        ({"availability": {"kind": "periodic", "period_seconds": 10, "on_fraction": 0.5, "when_offline": "lost"}}, {}, True),
        ({"dropout": 0.1}, {}, True),
        ({"rounds": {"deadline_seconds": 3.0, "over_selection": 0}}, {}, True),
        ({"rounds": {"deadline_seconds": None, "over_selection": 2}}, {}, True),
        ({}, {"jobs_late": 1}, True),  # by an algorithm's own deadline
    ],
)
def test_where_jobs_can_be_lost(record, part, ledger, loses):
    run = losing(record, jobs_left=0, jobs_dropped_out=0, **ledger)
    alter(run, "spec.scenario", part)
    assert only([run]).loses_jobs == loses


def test_accuracies_are_compared_within_a_system(record):
    """Ten clients may work for fedavg, all for fedsgd, whose accuracy is higher."""
    fewer = three(record, "fedavg", [0.1, 0.5, 0.6])
    more = [*three(record, "fedsgd", [0.1, 0.8, 0.9]), *three(record, "asysg", [0.1, 0.7, 0.8])]
    for run in (*fewer, *more):
        alter(run, "spec.algorithm.options", {})
    assert standing([*fewer, *more]) == {"fedavg": "unknown", "fedsgd": "best", "asysg": "behind"}


def test_rows_with_other_seeds_are_not_on_the_board(record):
    rows = [run for name in ("a", "b") for run in made_up.row(name, 10)]
    scenario = only([*rows, *made_up.row("c", 12, seeds=3), *(record("d", seed, []) for seed in range(10))])
    assert [one.row for one in scenario.board.standings] == ["a", "b"]
    assert scenario.off_board == {
        "c": "it has seeds 0 to 2, other rows have 0 to 9",
        "d": "a seed has no evaluation",
    }


def test_an_older_record_is_not_on_the_board(record):
    old = record("old")
    del old.curves["bytes"]
    assert only([old]).off_board == {"old": "its records do not have bytes"}
    assert only([old]).board is None
