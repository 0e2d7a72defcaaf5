"""asv's side: the configuration, and the benchmarks in a build of this tree."""

from __future__ import annotations

import importlib.util
import json
import platform
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import asv

from fedbench.bench.catalogue import select, whole

ROOT = Path(__file__).resolve().parents[2]


def history() -> ModuleType:
    spec = importlib.util.spec_from_file_location("history", ROOT / "benchmarks/history.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_environments_lie_elsewhere_and_hold_what_the_engine_needs_but_torch(tmp_path: Path) -> None:
    conf = history().configuration(tmp_path)
    assert {"numpy", "pydantic", "pyarrow", "scipy"} < conf["matrix"]["req"].keys()
    assert not {"torch", "torchvision"} & conf["matrix"]["req"].keys()
    assert conf["env_dir"] == str(tmp_path / "env")
    assert (Path(conf["benchmark_dir"]) / "cases.py").exists()
    assert conf["results_dir"] == str(ROOT / "results/asv")
    assert "--no-deps" in conf["install_command"][0]


def test_a_machine_goes_by_its_label() -> None:
    facts = history().machine("a-label")
    assert facts["machine"] == "a-label"
    assert platform.node() not in facts.values()
    assert set(facts) == {"machine", "os", "arch", "cpu", "num_cpu", "ram"}


def asv_runs(code: str) -> str:
    """What `code` prints in a process of its own, where `found` are asv's classes: modules are
    replaced."""
    start = "import runpy, sys\nfound = runpy.run_path(sys.argv[1])\nkernels, memory = found['Kernels'](), found['Memory']()\n"
    command = [sys.executable, "-c", start + code, str(ROOT / "benchmarks/asv_cases/cases.py")]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=300).stdout.strip()


def test_what_asv_runs() -> None:
    text = asv_runs(
        "kernels.setup('queue-hold-100'); kernels.time_case('queue-hold-100')\n"
        "print(kernels.params, memory.params, 'torch' in sys.modules)"
    )
    assert text == f"{[case.name for case in select()]} ['plan-stream-1m'] False"


def test_runs_need_no_torch_either() -> None:
    """Tiny sizes take the place of the real ones."""
    text = asv_runs(
        "import dataclasses\n"
        "from fedbench.bench import CASES\n"
        "CASES.update({name: dataclasses.replace(case, size=case.small) for name, case in CASES.items()})\n"
        "runs = found['Runs']()\n"
        "for name in runs.params:\n"
        "    runs.setup(name); runs.time_run(name)\n"
        "print(runs.params, 'torch' in sys.modules)"
    )
    assert text == f"{[case.name for case in whole()]} False"


def test_a_run_that_a_commit_does_not_know_skips() -> None:
    text = asv_runs(
        "import dataclasses\n"
        "from fedbench.bench import CASES\n"
        "one = CASES['run-fedavg-softmax-100-rounds']\n"
        "CASES[one.name] = dataclasses.replace(one, size=one.small._replace(overrides=('partition.kind=unheard-of',)))\n"
        "try: found['Runs']().setup(one.name)\n"
        "except NotImplementedError as reason: print(reason)"
    )
    assert "partition.kind must be one of" in text


def test_a_commit_without_the_kernel_skips() -> None:
    text = asv_runs(
        "import fedbench.kernels.probe\n"
        "del fedbench.kernels.probe.Hold\n"
        "try: kernels.setup('queue-hold-100')\n"
        "except NotImplementedError as reason: print(reason)"
    )
    assert text == "this build has no fedbench.kernels.probe.Hold"


def test_the_committed_list_is_what_asv_finds(tmp_path: Path) -> None:
    """Else `asv run` would change it. `asv run --bench just-discover --python=same` writes it
    anew."""
    found = tmp_path / "found.json"
    script = Path(asv.__file__).with_name("benchmark.py")
    subprocess.run([sys.executable, str(script), "discover", str(ROOT / "benchmarks/asv_cases"), str(found)], check=True)
    committed = json.loads((ROOT / "results/asv/benchmarks.json").read_text())
    assert {one["name"]: one for one in json.loads(found.read_text())} == {
        name: one for name, one in committed.items() if name != "version"
    }
