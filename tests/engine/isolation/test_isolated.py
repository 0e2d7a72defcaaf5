"""An algorithm in a process of its own gives the bits that it gives here, and has no other
power."""

from __future__ import annotations

import hashlib
import os
import pickle
import re
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedbench import registry
from fedbench.engine.isolation import process as processes
from fedbench.engine.isolation.find import isolated
from fedbench.engine.isolation.process import ConfinedError, Process
from fedbench.engine.run import Run
from fedbench.engine.spec import RunSpec
from fedbench.engine.verify import verify
from fedbench.errors import FedbenchError, OriginError, PluginError
from fedbench.results.record import Record, with_results
from fedbench.scenarios.load import load
from tests.conftest import alter, altered, sealed
from tests.engine.isolation.plugins import ATTACKS, HONEST, attacking, confined

SMALL = ["clients=12", "budget.seconds=3", "local.steps=3", "task.model=softmax", "public.size=50"]
FEW = ("fedagrac", "fedavg", "fedecho", "fedexp", "local_only", "ringleader", "scaffold")
"""With everything that crosses: choices of steps, plain rounds, logits and their pullback, rows,
the model that is judged, and rows that are judged."""


def made(file: Path, options: dict[str, Any] | None = None) -> Record:
    """By the class Mine of a file, in this process."""
    cls = registry.find("algorithm", f"{file}:Mine")
    return Run(RunSpec(load("digits-demo", SMALL), cls.make(options or {}), 0)).record()


def renamed(folder: Path, name: str) -> Path:
    file = folder / f"plugin_{name}.py"
    file.write_text(HONEST.replace("scaffold", name))
    return file


def check_same(folder: Path, name: str) -> None:
    options = {key: 2 for key in ("cohort_size", "buffer_size") if key in registry.find("algorithm", name)().options()}
    file = renamed(folder, name)
    result = verify(made(file, options), algorithm=f"{file}:Mine")
    assert (result.verdict, result.differences, result.undeclared) == ("identical", (), ())


@pytest.mark.parametrize("name", FEW)
def test_the_bits_are_those_of_a_run_here(tmp_path: Path, name: str) -> None:
    check_same(tmp_path, name)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(registry.ALGORITHMS) - set(FEW)))
def test_the_bits_of_all_others_too(tmp_path: Path, name: str) -> None:
    check_same(tmp_path, name)


def test_a_plugin_that_selects_and_weighs_by_itself(tmp_path: Path) -> None:
    """By the model's values and its own draws, with a model that has buffers."""
    file = tmp_path / "plugin.py"
    file.write_text(
        "import numpy as np\n"
        "from fedbench import registry\n"
        "from fedbench.types import Rounds\n"
        "class Mine(registry.find('algorithm', 'fedavg')):\n"
        "    name = 'mine'\n"
        "    def dispatch(self, info):\n"
        "        return Rounds(select='external')\n"
        "    def select(self, state, available, round, tools):\n"
        "        assert tools.info.n.sum() > 0\n"
        "        wish = available[tools.random.permutation(len(available))[:3]]\n"
        "        return [int(one) for one in wish][: 2 + (state.x[0] > 0)]\n"
        "    def entry_weights(self, batch, info):\n"
        "        return batch.p / batch.p.sum()\n"
        "    def warnings(self, state):\n"
        "        return [f'x has {state.x.size} numbers']\n"
    )
    record = made(file)
    assert record.warnings == ("x has 650 numbers",)
    assert verify(record, algorithm=f"{file}:Mine").verdict == "identical"


AVERAGING = """\
from fedbench import registry
from fedbench.types import State


class Mine(registry.find("algorithm", "fedavg")):
    name = "mine"

    def init(self, x0, tools):
        return State(x=x0, average=x0)

    def step(self, state, batch, tools):
        super().step(state, batch, tools)
        state.average = state.average + (state.x - state.average) * 0.25

    def evaluated(self, state):
        return {given}
"""


def test_a_plugin_that_is_judged_by_another_model(tmp_path: Path) -> None:
    """Curves, metrics and digest are those of its own average here as well as there."""
    records = {}
    for given in ("state.average", "state.x"):
        file = tmp_path / f"plugin_{given[6:]}.py"
        file.write_text(AVERAGING.format(given=given))
        records[given] = record = made(file)
        assert verify(record, algorithm=f"{file}:Mine").verdict == "identical"
    average, last = records.values()
    assert average.digests.plan == last.digests.plan
    assert average.digests.model != last.digests.model
    assert average.final.test_loss != last.final.test_loss


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("state.average.tolist()", r"algorithm mine: evaluated does not give <class 'numpy.ndarray'>, but \['float', "),
        ("None", "algorithm mine: evaluated does not give <class 'numpy.ndarray'>, but NoneType"),
        ("state.average * 1e-3 if batches else state.x", "NameError: name 'batches' is not defined"),
        ("state.average[1:]", r"mine.evaluated: x must stay float32 \(650,\), got float32 \(649,\)"),
        ("state.average.astype('float64')", r"mine.evaluated: x must stay float32 \(650,\), got float64 \(650,\)"),
    ],
)
def test_a_plugin_that_is_judged_by_no_model(tmp_path: Path, given: str, words: str) -> None:
    file = tmp_path / "plugin.py"
    file.write_text(AVERAGING.format(given=given))
    with isolated("mine", {}, f"{file}:Mine") as mine, pytest.raises(FedbenchError, match=words):
        Run(RunSpec(load("digits-demo", SMALL), mine.make({}), 0)).record()


GREEDY = """\
import dataclasses

import numpy as np

from fedbench import registry
from fedbench.types import GradientWork, ServerWork


class Mine(registry.find("algorithm", "{base}")):
    name = "mine"

{body}
"""


@pytest.mark.parametrize(
    ("base", "body", "words"),
    [
        (
            "fedecho",
            "    def server_work(self, info):\n        return ServerWork(forward=1)",
            r"server_work: declares \d+ forward passes",
        ),
        (
            "fedlin",
            "    def gradient_work(self, info):\n        return GradientWork()",
            "gradient_work: declares 1 a step and 0 full",
        ),
        (
            "fedavg",
            "    def step(self, state, batch, tools):\n        super().step(state, batch, tools)\n"
            "        state.x = state.x - np.float32(0.01) * next(iter(tools.gradients([0], state.x)))",
            r"dispatch: declares prelude=False, of one client 0 full .* before the first update, and up to 1 in an update",
        ),
        (
            "scaffold",
            "    def init(self, x0, tools):\n        for _ in range(5):\n            list(tools.gradients([0], x0))\n"
            "        return super().init(x0, tools)\n"
            "    def dispatch(self, info):\n        return dataclasses.replace(super().dispatch(info), prelude=True)",
            r"dispatch: declares prelude=True, of one client \d+ full gradients were asked for before the first update",
        ),
        (
            "fedlin",
            "    asked = 0\n    def gradient_work(self, info):\n        Mine.asked += 1\n"
            "        return GradientWork(1, 0) if Mine.asked == 1 else GradientWork(2, 1)",
            "gradient_work: declares 1 a step and 0 full",
        ),
        (
            "fedecho",
            "    def init(self, x0, tools):\n        tools.public_logits(x0, np.arange(10))\n        return super().init(x0, tools)",
            "server_work: declares 0 forward passes of an example in 0 updates, the server computed 10",
        ),
    ],
    ids=["server", "clients", "prelude", "many before", "another answer", "before it is due"],
)
def test_a_plugin_that_computes_more_than_it_declares(tmp_path: Path, base: str, body: str, words: str) -> None:
    """Its results are its own all the same, and the clock did not charge for them."""
    file = tmp_path / "plugin.py"
    file.write_text(GREEDY.format(base=base, body=body))
    result = verify(made(file), algorithm=f"{file}:Mine")
    assert result.verdict == "identical"
    (sentence,) = result.undeclared
    assert re.match(words, sentence)


def calm(file: Path) -> Record:
    """What an honest run of the file gives, which is made in another process."""
    code = (
        "import sys, pickle; from pathlib import Path; from tests.engine.isolation.test_isolated import made; "
        f"sys.stdout.buffer.write(pickle.dumps(made(Path({str(file)!r}))))"
    )
    environment = {**os.environ, "CALM": "1"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=True, cwd=Path.cwd())
    return pickle.loads(done.stdout)  # type: ignore[no-any-return]


def better(record: Record) -> Record:
    """A forgery: accuracies raised by 0.06, with digests that fit."""
    raised = {f"final.{name}": getattr(record.final, name) + 0.06 for name in ("test_accuracy", "client_accuracy_mean")}
    curves = {**record.curves, "test_accuracy": record.curves["test_accuracy"] + np.float32(0.06)}
    return with_results(altered(record, raised).model_copy(update={"curves": curves}))


@pytest.mark.parametrize("attack", ATTACKS)
def test_the_verdict_is_the_same_under_a_plugin_that_patches_what_it_can(tmp_path: Path, attack: str) -> None:
    file = tmp_path / "plugin.py"
    file.write_text(attacking(ATTACKS[attack]))
    honest = calm(file)
    assert verify(honest, algorithm=f"{file}:Mine").verdict == "identical"
    result = verify(better(honest), algorithm=f"{file}:Mine")
    assert result.verdict == "differs"
    assert "final.test_accuracy" in result.differences
    assert not any(
        module.startswith("_fedbench_file_")
        for module in sys.modules
        if getattr(sys.modules[module], "__file__", "") == str(file)
    )


TALKS = "import gc, socket\nfor s in gc.get_objects():\n    if isinstance(s, socket.socket):\n        s.sendall({})"


@confined
@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("import os\nos._exit(0)", "its process gave no answer"),
        ("raise SystemExit", "SystemExit"),
        ("raise GeneratorExit('x' * 100_000)", "GeneratorExit: xxx"),
        ("class Mine:\n    pass", "extends fedbench.Algorithm"),
        ("import pathlib\npathlib.Path('/etc/passwd').read_text()", "PermissionError"),
        ("import pathlib, fedbench\npathlib.Path(fedbench.__file__).write_text('')", "PermissionError"),
        ("from fedbench.tasks import digits\ndigits.FILE.read_bytes()", "PermissionError"),
        pytest.param(
            "from sklearn.datasets import load_digits\nload_digits()",
            "PermissionError",
            marks=pytest.mark.skipif(find_spec("sklearn") is None, reason="no scikit-learn"),
        ),
        ("import os\nos.mkdir('nested')", "PermissionError"),
        ("import os\nos.symlink('/etc', 'link')", "PermissionError"),
        ("import os\nos.chmod(__file__, 0o777)", "PermissionError"),
        ("import socket\nsocket.socket(socket.AF_UNIX)", "PermissionError"),
        (TALKS.format("b'x' * 64"), "can be read"),
        (TALKS.format("b'\\0' * 16"), "can be read"),
    ],
)
def test_a_plugin_that_misbehaves_gives_one_error(tmp_path: Path, body: str, words: str) -> None:
    file = tmp_path / "plugin.py"
    file.write_text(HONEST)
    record = made(file)
    file.write_text(f"{body}\n{HONEST if 'class Mine' not in body else ''}")
    alter(record, "spec.algorithm.origin", {"kind": "object", "class": "Mine"})  # its sum does not matter here
    begin = time.process_time()
    with pytest.raises((PluginError, ConfinedError), match=words) as error:
        verify(record, algorithm=f"{file}:Mine")
    assert isinstance(error.value, ConfinedError) is (words == "PermissionError")
    assert len(str(error.value)) < 3000
    assert time.process_time() - begin < 5


def test_another_file_is_not_run(tmp_path: Path) -> None:
    file = tmp_path / "plugin.py"
    file.write_text(HONEST)
    record = made(file)
    file.write_text(f"{HONEST}\nopen('trace', 'w')\n")
    with pytest.raises(OriginError, match="was changed after the run, or is another one, and was not run"):
        verify(record, algorithm=f"{file}:Mine")


def test_a_name_that_is_another_ones(tmp_path: Path) -> None:
    file = tmp_path / "plugin.py"
    file.write_text(HONEST)
    record = made(file)
    alter(record, "spec.algorithm.name", "yours")
    with pytest.raises(OriginError, match="its algorithm is 'yours', the class Mine is named 'mine'"):
        verify(record, algorithm=f"{file}:Mine")


def test_nothing_of_a_plugin_goes_on(tmp_path: Path) -> None:
    """Not even what left its group of processes."""
    file = tmp_path / "plugin.py"
    file.write_text(f"import os\nif os.fork() == 0:\n    os.setsid()\n    import time\n    time.sleep(600)\n{HONEST}")
    process = Process("mine", tmp_path)
    process.call("load", f"{file}:Mine", sys.path)
    before = _running(tmp_path)
    process.close()
    deadline = time.monotonic() + 20
    while _running(tmp_path) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert before >= 2
    assert _running(tmp_path) == 0


def _running(folder: Path) -> int:
    """How many processes have this folder in their command line."""
    found = 0
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found += str(folder).encode() in place.read_bytes()
        except OSError:
            continue
    return found


ENDLESS = """\
    def step(self, state, batch, tools):
        while os.environ["HOME"] == os.getcwd():  # where it is judged
            {}
        super().step(state, batch, tools)
"""


@pytest.mark.parametrize("what", ["tools.public_shape", "pass"])
def test_a_method_that_does_not_end(tmp_path: Path, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether it asks meanwhile or not."""
    file = tmp_path / "plugin.py"
    file.write_text(HONEST + ENDLESS.format(what))
    record = made(file)
    monkeypatch.setattr(processes, "ANSWER_SECONDS", 3.0)
    with pytest.raises(PluginError, match="no answer in time"):
        verify(record, algorithm=f"{file}:Mine")


@pytest.mark.parametrize(
    "policy", ["Rounds(select='with_replacement', cohort_size=10**9)", "Rounds(select='all', prelude='once')"]
)
def test_a_policy_that_is_none(tmp_path: Path, policy: str) -> None:
    file = tmp_path / "plugin.py"
    file.write_text(HONEST)
    record = made(file)
    alter(record, "spec.algorithm.origin", {"kind": "object", "class": "Mine"})
    file.write_text(
        f"{HONEST}\n    def dispatch(self, info):\n        from fedbench.types import Rounds\n        return {policy}\n"
    )
    record = sealed(altered(record, {"spec.algorithm.origin.sha256": hashlib.sha256(file.read_bytes()).hexdigest()}))
    with pytest.raises(PluginError, match=r"mine: dispatch: (cohort_size 1000000000 is over|prelude must be)"):
        verify(record, algorithm=f"{file}:Mine")


@confined
def test_a_plugin_is_confined(tmp_path: Path) -> None:
    process = Process("mine", tmp_path)
    assert process.confined
    process.close()
