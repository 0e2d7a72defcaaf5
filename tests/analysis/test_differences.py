from fedbench.analysis.differences import differences, shortened
from fedbench.results.sections import Spec
from fedbench.scenarios.load import load


def spec(overrides=(), **settings):
    scenario = load("digits-demo", [f"{key}={value}" for key, value in settings.items()])
    used = {"name": "fedavg", "options": {}}
    sections = {
        "scenario": scenario,
        "scenario_hash": scenario.content_hash(),
        "algorithm": used,
        "selector": "fedavg",
        "seed": 0,
    }
    return Spec.model_validate({**sections, "overrides": overrides})


def test_one_alone_has_the_overrides_of_its_record():
    assert differences([spec(["clients=30"])]) == [["clients=30"]]
    assert differences([spec(None)]) == [[]]
    assert differences([spec()]) == [[]]  # records before overrides were kept


def test_several_name_every_key_in_which_they_are_not_all_the_same():
    small = spec(clients=20, partition="{kind: iid}")
    large = spec(["clients=30"], clients=30, partition="{kind: dirichlet, alpha: 0.3}")
    assert differences([small, large]) == [
        ["clients=20", 'partition.kind="iid"'],
        [
            "clients=30",
            'partition.kind="dirichlet"',
            "partition.alpha=0.3",
            "partition.min_examples=10",
            "partition.stop_at_mean=false",
        ],
    ]


def test_what_changes_no_result_is_no_difference():
    assert differences([spec(about="one"), spec(about="another")]) == [[], []]


def test_as_a_heading_has_it():
    assert shortened('partition.kind="iid"') == "partition.kind=iid"
    assert shortened("budget.seconds=20.0") == "budget.seconds=20"
    assert shortened("dropout=0.05") == "dropout=0.05"
    long = shortened("availability.rows=" + "[0.0, 1.0], " * 40)
    assert len(long) == 60
    assert long.endswith("..")
