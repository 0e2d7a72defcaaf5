import shlex

import pytest

from fedbench import registry
from fedbench.leaderboard.command import command
from tests.conftest import altered, record


def spec(selector="a", origin=None, overrides=()):
    one = record(selector, scenario="s")
    return altered(one, {"spec.algorithm.origin": origin, "spec.overrides": overrides}).spec


FILE = {"kind": "file", "file": "damped.py", "sha256": "0123456789abcdef" * 4, "class": "Damped"}


def test_built_in():
    assert command(spec("fedbuff[buffer_size=5]"), [0, 1, 2]) == ("fedbench run s -a 'fedbuff[buffer_size=5]' --seeds 3", "")


def test_seeds_with_a_gap_take_two_commands():
    line, _ = command(spec(), [0, 1, 4])
    assert line == "fedbench run s -a 'a' --seeds 2 && fedbench run s -a 'a' --seeds 1 --first-seed 4"


def test_overrides():
    line, _ = command(spec(overrides=["clients=30", 'x="y z"']), [0])
    assert line == "fedbench run s -a 'a' --set clients=30 --set 'x=\"y z\"' --seeds 1"


@pytest.mark.parametrize(
    ("selector", "argument"), [("damped", "./damped.py:Damped"), ("damped[damping=0.8]", "./damped.py:Damped[damping=0.8]")]
)
def test_a_file_is_named_by_file_and_class(selector, argument):
    line, needs = command(spec(selector, FILE), [0])
    assert line == f"fedbench run s -a '{argument}' --seeds 1"
    assert needs == "damped.py with sha256 0123456789abcdef.."
    name, _ = registry.parse_selector(shlex.split(line)[4])
    assert name == "./damped.py:Damped"


def test_an_entry_point_is_named_by_its_name_and_needs_its_package():
    origin = {"kind": "entry point", "class": "Mine", "package": "my-package", "version": "1.2"}
    assert command(spec("mine[x=1]", origin), [0]) == ("fedbench run s -a 'mine[x=1]' --seeds 1", "package my-package 1.2")


def test_an_object_cannot_be_run_from_a_shell():
    line, needs = command(spec("mine", {"kind": "object", "class": "Mine"}), [0])
    assert line is None
    assert "given in Python as an object of class Mine" in needs


def test_a_scenario_that_is_not_in_the_library_needs_its_file():
    line, needs = command(spec(overrides=None), [0])
    assert line == "fedbench run ./s.yaml -a 'a' --seeds 1"
    assert needs == "the scenario's file, which is not in the library, as ./s.yaml"
