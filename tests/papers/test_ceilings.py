"""What central training reaches, and the targets on a stand-in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fedbench import written
from fedbench.engine.spec import RunSpec
from fedbench.errors import UsageError
from fedbench.papers import ceilings, experiment, published
from fedbench.papers.cells import cells, chosen
from fedbench.papers.runs import ARCHIVES, in_archives, is_run
from fedbench.results import archive, provenance
from fedbench.results.store import Store
from fedbench.suites import campaign

ROOT = Path(__file__).parents[2]
TINY = """schema: 1
lossless:
  - {model: cnn_878538, accuracy: 0.8, source: "A paper."}
runs:
  - {stand_in: cifar10-jpeg, augmentation: crop_flip, task: {name: digits}}
  - {stand_in: cifar10-jpeg, augmentation: none, task: {name: digits, model: mlp}}
measured: []
"""


@pytest.fixture(name="tiny")
def _tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Ceilings of digits, which are measured in seconds."""
    file = tmp_path / "ceilings.yaml"
    file.write_text(TINY)
    monkeypatch.setattr(ceilings, "FILE", file)
    monkeypatch.setattr(ceilings, "SETTINGS", {**ceilings.SETTINGS, "budget": {"updates": 12, "seconds": 24.0}})
    ceilings.load.cache_clear()
    experiment._scenario.cache_clear()
    yield file
    ceilings.load.cache_clear()
    experiment._scenario.cache_clear()


def test_the_target_is_the_same_share_of_the_ceiling() -> None:
    assert ceilings.target(0.7, "cnn_878538", 0.8) == round(0.7 / 0.86 * 0.8, 4) == 0.6512
    assert ceilings.target(0.86, "cnn_878538", 0.8) == 0.8
    with pytest.raises(UsageError, match=r"the target 0.9 is above the printed ceiling of cnn_878538, 0.86"):
        ceilings.target(0.9, "cnn_878538", 0.8)
    with pytest.raises(UsageError, match=r"no ceiling of model resnet18 in print; known: cnn_878538, alexnet, vgg19"):
        ceilings.target(0.5, "resnet18", 0.8)


def test_every_target_that_is_moved_has_a_printed_ceiling() -> None:
    seen = 0
    for one in cells():
        for way in experiment.stand_ins(one):
            if experiment.standing_in(way).of_ceiling:
                own = experiment.scenario(one)
                assert ceilings.target(own.targets[0].value, own.task.model, 0.8) < 0.8
                seen += 1
    assert seen == 32 + 75


def test_one_command_measures_and_goes_on(tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is run before; then targets follow, and the archive holds the records."""
    monkeypatch.setattr(provenance, "commit", lambda: ("abc", False))
    on_jpeg = experiment.stand_ins(chosen("000:T1", "17")[0])[0]
    assert not is_run(on_jpeg)
    assert "python -m fedbench.papers.ceilings" in experiment.seeds(on_jpeg).why
    store, folder = Store(tmp_path / "runs"), tmp_path / "papers"
    found = ceilings.compute(store, folder)
    assert [(one.stand_in, one.augmentation, one.seeds) for one in found] == [
        ("cifar10-jpeg", how, 3) for how in ("crop_flip", "none")
    ]
    assert all(0.5 < one.accuracy < 1 for one in found)
    records = archive.read(folder / ceilings.FOLDER)
    assert len(records) == 6
    text = tiny.read_text()
    assert text.startswith(TINY.partition("measured:")[0])
    assert ceilings.compute(store, folder) == found  # from the store
    assert tiny.read_text() == text
    assert ceilings.compute(Store(tmp_path / "others"), folder) == found
    assert [one.provenance for one in archive.read(folder / ceilings.FOLDER)] == [one.provenance for one in records]
    assert list(ceilings.load().measured) == found
    experiment._scenario.cache_clear()
    assert is_run(on_jpeg)
    target = experiment.spec(on_jpeg, 0).scenario.targets[0].value
    assert target == pytest.approx(0.7 / 0.8 * found[0].accuracy, abs=1e-4)


def test_what_is_cut_short_is_kept(tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The archive has the finished runs, and nothing is measured yet."""

    def breaks_off(wanted: list[RunSpec], store: Store, **options: object) -> None:
        compute(wanted[:2], store, **options)
        raise KeyboardInterrupt

    compute, text = campaign.compute, tiny.read_text()
    monkeypatch.setattr(provenance, "commit", lambda: ("abc", False))
    with monkeypatch.context() as patch:
        patch.setattr(campaign, "compute", breaks_off)
        with pytest.raises(KeyboardInterrupt):
            ceilings.compute(Store(tmp_path / "runs"), tmp_path / "papers")
    kept = archive.read(tmp_path / "papers" / ceilings.FOLDER)
    assert [record.spec.seed for record in kept] == [0, 1]
    assert tiny.read_text() == text
    ceilings.compute(Store(tmp_path / "others"), tmp_path / "papers")
    found = archive.read(tmp_path / "papers" / ceilings.FOLDER)
    assert [one.provenance for one in found if one.run_id in {one.run_id for one in kept}] == [one.provenance for one in kept]
    assert len(found) == 6


def test_records_of_changed_code_are_not_taken(tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provenance, "commit", lambda: ("abc", True))
    text = tiny.read_text()
    with pytest.raises(UsageError, match="made from code with local changes"):
        ceilings.compute(Store(tmp_path / "runs"), tmp_path / "papers")
    assert tiny.read_text() == text
    assert not (tmp_path / "papers").exists()


def test_what_is_measured_follows_from_the_committed_records() -> None:
    """And all of them are used."""
    folder = ROOT / ARCHIVES / ceilings.FOLDER
    records = {record.run_id: record for record in archive.read(folder)} if archive.is_archive(folder) else {}
    assert list(ceilings.measured(lambda spec: records.get(spec.run_id))) == list(ceilings.load().measured)
    assert set(records) <= {spec.run_id for one in ceilings.load().runs for spec in ceilings.specs(one)}


def test_the_page_says_what_is_measured() -> None:
    page = " ".join((ROOT / published.PAGES / "README.md").read_text().split())
    high, low = (ceilings.reached("cifar10-jpeg", how) for how in ("crop_flip", "none"))
    assert high is not None
    assert low is not None
    with_both, without = (written.accuracy(one.accuracy, one.half_width) for one in (high, low))
    assert f"reaches {with_both} with crops and mirroring and {without} without, with three seeds" in page
    (way,) = experiment.stand_ins(chosen("000:T1", "17")[0])
    assert f"so a target of 0.70 becomes {experiment.spec(way, 0).scenario.targets[0].value:.3f}." in page


def test_a_stand_in_has_its_own_name_data_and_rule_of_reaching() -> None:
    one = chosen("000:T1", "17")[0]
    (way,) = experiment.stand_ins(one)
    own, other = experiment.scenario(one), experiment.scenario(way)
    assert (other.name, other.task.name) == ("defedavg-cifar10-iid-on-cifar10-jpeg", "cifar10_jpeg")
    assert (own.budget.hold, other.budget.hold) == ("points", "window")
    assert own.compute == other.compute
    assert experiment.spec(way, 0).algorithm == experiment.spec(one, 0).algorithm
    (column,) = experiment.stand_ins(chosen("001:T6", "16")[0])
    assert experiment.spec(column, 0).algorithm.options()["local_lr"] == 0.05
    find = in_archives(ROOT / ARCHIVES, [one])
    assert find(experiment.spec(way, 0)) is None or ceilings.load().measured
