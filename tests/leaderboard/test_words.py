import pytest

from fedbench.leaderboard import words


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (0, "0"),
        (12, "12"),
        (12.34, "12.3"),
        (0.01234, "0.0123"),
        (99.97, "100"),
        (1234.5, "1,234"),
        (999_999, "999,999"),
        (1_234_567, "1.23 M"),
        (999.6e6, "1,000 M"),
        (4.2e9, "4.20 G"),
    ],
)
def test_number(value, text):
    assert words.number(value) == text


def test_size_and_percent():
    assert [words.size(x) for x in (None, 12, 1500, 2.5e9, 7e17)] == ["–", "12 B", "1.50 kB", "2.50 GB", "700 PB"]
    assert [words.percent(x) for x in (None, 0, 1e-9, 0.005, 0.0051, 0.314, 1)] == [
        "–",
        "0 %",
        "<1 %",
        "<1 %",
        "1 %",
        "31 %",
        "100 %",
    ]


@pytest.mark.parametrize(
    ("mean", "half", "text"),
    [
        (0.8731, 0.0042, "0.873 ± 0.004"),
        (0.5, None, "0.500"),
        (None, None, "–"),
        (0.5, 1e-5, "0.500 ± <0.001"),
        (0.5, 0.0, "0.500 ± 0.000"),
    ],
)
def test_interval(mean, half, text):
    assert words.interval({"mean": mean, "half_width": half}) == text


def test_seed_note():
    assert words.seed_note({"n": 1, "missing": 0}) == "1 seed, no interval"
    assert words.seed_note({"n": 3, "missing": 0}) == "n = 3"
    assert words.seed_note({"n": 2, "missing": 1}) == "2 of 3 seeds have a value"


def test_time():
    hit = {"median": 12.34, "beyond": None, "hits": 3, "total": 3, "lower_bound": False}
    miss = {"median": None, "beyond": 20.0, "hits": 1, "total": 3, "lower_bound": True}
    assert words.time(hit) == "12.3 s (3/3)"
    assert words.time(miss) == "> 20 s (1/3)"
    assert words.time_note(hit | {"restricted_mean": {"mean": 12.5, "half_width": 0.9}}) == "mean 12.5 ± 0.900 s"
    assert words.time_note(miss | {"restricted_mean": {"mean": 18.2, "half_width": 3.0}}) == "mean ≥ 18.2 s"


def test_outcomes_and_budget():
    assert words.outcomes({"diverged": 1, "finished": 2}) == "2 finished, 1 diverged"
    assert words.budget({"budget": {"seconds": 20.0, "updates": 4000, "jobs": None}}) == "20 s of virtual time or 4,000 updates"
    assert words.budget({"budget": {}}) == "not stated"
