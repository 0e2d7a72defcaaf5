"""Devices by a file: a scenario that is read holds their numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fedbench.errors import UsageError
from fedbench.scenarios.links import links
from fedbench.scenarios.load import load
from fedbench.scenarios.pooled import pooled
from fedbench.scenarios.schema import Scenario
from fedbench.scenarios.system import compute

HEADER = "client,seconds_per_example,megabit_per_second\n"
TWO = HEADER + "0,0.003,5.5\n1,0.001,20\n"


def written(place: Path, text: str = TWO) -> str:
    (place / "devices.csv").write_text(text)
    return str(place / "devices.csv")


def of_two(file: str, *more: str) -> Scenario:
    return load(
        "digits-demo",
        ["clients=2", f"compute={{kind: devices, file: {file}}}", f"network={{trace: {{file: {file}}}}}", *more],
    )


def test_devices_compute_and_send_as_the_file_says(tmp_path: Path) -> None:
    scenario = of_two(written(tmp_path))
    np.testing.assert_allclose(compute(scenario, 0).a, [0.03, 0.01])  # 10 examples a step
    found = links(scenario, 0)
    assert found is not None
    assert [trace.bits_per_second.tolist() for trace in found[0].traces] == [[5_500_000], [20_000_000]]
    assert found[0].trace_of.tolist() == [0, 1]
    assert load(scenario) == scenario
    assert "file" not in str(scenario.resolved()["compute"]) + str(scenario.resolved()["network"])
    assert compute(pooled(scenario), 0).a == pytest.approx(0.02)


def test_a_file_may_be_of_uploads_alone(tmp_path: Path) -> None:
    scenario = of_two(written(tmp_path), f"network={{trace: {{given: [[[1, 8, 0]]], upload: {{file: {tmp_path}/devices.csv}}}}}}")
    found = links(scenario, 0)
    assert found is not None
    assert (len(found[0].traces), len(found[1].traces)) == (1, 2)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEADER, r"compute.file .*devices.csv: expected at least one client, got none"),
        ("client,seconds\n", "expected the header client,seconds_per_example,megabit_per_second, got 'client,seconds'"),
        (HEADER + "1,1,1\n", "line 2: expected client 0, clients being numbered from 0, got '1'"),
        (HEADER + "0,1,1\n0,1,1\n", "line 3: expected client 1"),
        (HEADER + "0,1\n", "line 2: expected client, seconds_per_example, megabit_per_second as numbers"),
        (HEADER + "0,x,1\n", "line 2: expected client, seconds_per_example"),
        (HEADER + "0,0,1\n", "line 2: expected seconds and a rate > 0"),
        (HEADER + "0,1,-1\n", "line 2: expected seconds and a rate > 0"),
        (HEADER + "0,nan,1\n", "line 2: expected seconds and a rate > 0"),
        (HEADER + "0,1,1\n", "compute.seconds_per_example: expected one number for each of 2 clients, got 1"),
        (HEADER + "0,1e10,1\n1,1,1\n", "compute.seconds_per_example.0 must be <= 1000000000"),
    ],
)
def test_files_that_are_refused(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=message):
        of_two(written(tmp_path, text))


def test_a_file_and_its_numbers_are_not_both_given(tmp_path: Path) -> None:
    file = written(tmp_path)
    with pytest.raises(UsageError, match="compute: give seconds_per_example or a file, got both"):
        of_two(file, "compute.seconds_per_example=[1, 1]")
    with pytest.raises(UsageError, match=r"network.trace.upload: give given or a file, got both"):
        of_two(file, f"network.trace.upload={{file: {file}, given: [[[1, 1, 0]]]}}")
    with pytest.raises(UsageError, match=r"compute.file nothing.csv: not on this machine"):
        of_two("nothing.csv")
