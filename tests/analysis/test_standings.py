import itertools

import pytest
import scipy.stats

from fedbench.analysis.standings import UNKNOWN, standings


def words(values, *, higher_is_better=True):
    return {name: one.standing for name, one in standings(values, higher_is_better=higher_is_better).items()}


def test_pairs_away_what_seeds_share():
    # seeds differ by 0.1, the algorithms by 0.01 and a little: unpaired intervals overlap
    a, b = {0: 0.7, 1: 0.8, 2: 0.9}, {0: 0.71, 1: 0.8101, 2: 0.9099}
    assert words({"a": a, "b": b}) == {"a": "behind", "b": "best"}
    assert words({"a": a, "b": b}, higher_is_better=False) == {"a": "best", "b": "behind"}


def test_tied_when_the_interval_includes_no_difference():
    # differences to the best -0.03, 0, 0.01: mean -0.0067, half-width 4.303 * 0.0208 / sqrt(3) =
    # 0.052
    best, other = {0: 0.80, 1: 0.80, 2: 0.80}, {0: 0.77, 1: 0.80, 2: 0.81}
    found = standings({"best": best, "other": other}, higher_is_better=True)
    assert (found["best"].standing, found["other"].standing) == ("best", "tied")
    assert found["other"].difference == pytest.approx(-0.02 / 3)
    assert found["other"].half_width == pytest.approx(4.302653 * 0.0208167 / 3**0.5, rel=1e-5)
    assert (found["best"].seeds, found["other"].seeds) == (3, 3)


def test_what_does_not_scatter_is_not_compared():
    """Equal differences of all seeds, also of 0: nothing says how they would scatter."""
    same = {0: 0.5, 1: 0.6, 2: 0.7}
    assert words({"a": same, "b": dict(same)}) == {"a": "unknown", "b": "unknown"}
    assert words({"a": same, "b": {seed: value + 0.125 for seed, value in same.items()}}) == {"a": "unknown", "b": "unknown"}


BEST = dict.fromkeys(range(4), 0.9)


def behind(*losses):
    return {seed: 0.9 - loss for seed, loss in enumerate(losses)}


def test_many_comparisons_are_adjusted():
    """One difference alone is real at 5 %; among four like it, which Holm tests at 1.25 % first,
    none is."""
    loss = behind(0.02, 0.05, 0.03, 0.08)
    alone = standings({"best": BEST, "a": loss}, higher_is_better=True)["a"]
    assert (alone.standing, alone.p) == ("behind", alone.p_adjusted)
    among = standings({"best": BEST, **dict.fromkeys("abcd", loss)}, higher_is_better=True)["a"]
    assert among.standing == "tied"
    assert among.p == alone.p
    assert among.p_adjusted == pytest.approx(4 * alone.p)
    assert among.half_width > alone.half_width


def test_p_values_are_those_of_the_paired_t_test():
    loss = behind(0.02, -0.05, 0.03, 0.08)
    found = standings({"best": BEST, "a": loss}, higher_is_better=True)["a"]
    assert found.p == pytest.approx(scipy.stats.ttest_rel(list(loss.values()), list(BEST.values())).pvalue)


def test_an_adjusted_interval_excludes_no_difference_exactly_if_behind():
    losses = [
        behind(0.1, 0.11, 0.1, 0.12),
        behind(0.02, 0.05, 0.03, 0.06),
        behind(0.02, 0.05, 0.03, 0.08),
        behind(0.0, 0.1, -0.1, 0.1),
    ]
    for number in range(1, 5):
        for chosen in itertools.combinations(range(4), number):
            found = standings({"best": BEST, **{str(i): losses[i] for i in chosen}}, higher_is_better=True)
            for one in (found[str(i)] for i in chosen):
                assert (one.difference + one.half_width < 0) == (one.standing == "behind") == (one.p_adjusted < 0.05)


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"alone": {0: 1.0, 1: 2.0}},
        {"one seed": {0: 1.0}, "another": {0: 2.0}},
        {"two seeds": {0: 1.0, 1: 2.0}, "others": {0: 2.0, 1: 3.5}},
        {"no common seed": {0: 1.0, 1: 1.0}, "other": {2: 2.0, 3: 2.0}},
    ],
)
def test_nothing_is_claimed_without_three_common_seeds(values):
    assert set(standings(values, higher_is_better=True).values()) <= {UNKNOWN}


def test_better_on_all_common_seeds_is_not_tied():
    """The best mean owes its place to seeds that the other row lacks."""
    best, other = {0: 0.70, 1: 0.71, 2: 0.74, 3: 0.99, 4: 0.99}, {0: 0.80, 1: 0.82, 2: 0.83}
    found = standings({"best": best, "other": other}, higher_is_better=True)
    assert (found["best"].standing, found["other"].standing) == ("best", "ahead")
    assert (found["best"].seeds, found["other"].seeds) == (5, 3)
    assert found["other"].difference == pytest.approx(0.1)
    flipped = [{seed: -value for seed, value in one.items()} for one in (best, other)]
    assert words(dict(zip("ab", flipped, strict=True)), higher_is_better=False) == {"a": "best", "b": "ahead"}


def test_seeds_that_differ():
    """Fewer than three common seeds: not compared, and not counted among the tests that are
    adjusted for."""
    best, other = {0: 0.9, 1: 0.91, 2: 0.93, 3: 0.95}, {1: 0.90, 2: 0.91, 3: 0.91, 4: 0.2}
    found = standings({"best": best, "one": {2: 0.1}, "two": {0: 0.1, 1: 0.2}, "other": other}, higher_is_better=True)
    assert {name: (one.standing, one.seeds) for name, one in found.items()} == {
        "best": ("best", 4),
        "one": ("unknown", 0),
        "two": ("unknown", 0),
        "other": ("tied", 3),
    }
    expected = scipy.stats.ttest_rel([0.90, 0.91, 0.91], [0.91, 0.93, 0.95]).pvalue
    assert found["other"].p_adjusted == found["other"].p == pytest.approx(expected)
