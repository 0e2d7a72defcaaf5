"""`fedbench cite`: the papers of algorithms, data and traces, each once, as BibTeX that can be
read."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

import fedbench as fb
from fedbench import registry
from fedbench.bibliography import PAPERS, bibtex
from fedbench.cli import cite
from fedbench.cli.main import app
from fedbench.results.record import Record
from fedbench.scenarios import load
from fedbench.scenarios.sources import trace_sources
from fedbench.tasks.available import CITED

ROOT = Path(__file__).resolve().parents[2]


def cited(*things: str) -> list[str]:
    """The keys of the entries, in order."""
    result = CliRunner().invoke(app, ["cite", *things])
    assert result.exit_code == 0, result.output
    return re.findall(r"^@\w+\{(\w+),$", result.output, re.MULTILINE)


@pytest.mark.parametrize("key", PAPERS)
def test_an_entry_is_whole(key: str) -> None:
    """Braces are closed, fields are there, and nothing is left that TeX takes for a command."""
    text = bibtex(key)
    assert text.count("{") == text.count("}")
    fields = dict(re.findall(r"^  (\w+) = \{(.*)\},$", text, re.MULTILINE))
    assert {"author", "title", "year"} <= set(fields)
    assert fields["author"].count(" and ") == len(PAPERS[key].authors) - 1
    assert fields["year"] == str(PAPERS[key].year)
    assert not any(re.search(r"(?<!\\)[&%$#_]", value) for name, value in fields.items() if name != "url")
    assert ("eprint" in fields) == ("arxiv.org" in PAPERS[key].link)


def test_kinds_of_entries() -> None:
    assert bibtex("mcmahan2017").startswith("@inproceedings{mcmahan2017,\n  author = {McMahan and Moore and Ramage and ")
    assert "  journal = {IEEE Transactions on Parallel and Distributed Systems}," in bibtex("wu2021")
    assert "  author = {Acar and Zhao and {Matas Navarro} and " in bibtex("acar2021")
    assert bibtex("xie2019").startswith("@misc{xie2019,")
    assert "  howpublished = {UCI Machine Learning Repository}," in bibtex("alpaydin1998")


def test_algorithm_scenario_and_suite() -> None:
    assert cited() == ["fedbench"]
    assert cited("fedbuff[buffer_size=5]") == ["fedbench", "nguyen2022", "toghani2022"]
    assert cited("fedbuff", "fedavg", "fedbuff") == ["fedbench", "nguyen2022", "toghani2022", "mcmahan2017", "wang2024defedavg"]
    assert cited("FedBuff[buffer_size=5]") == cited("fedbuff")
    assert cited("digits-demo") == cited("Digits_Demo") == ["fedbench", "alpaydin1998"]
    assert cited("cellular-4g") == ["fedbench", "xiao2017", "vanderhooft2016"]
    assert cited("cellular-3g")[-1] == "riiser2013"
    everything = ["fedbench", "mcmahan2017", "wang2024defedavg", "nguyen2022", "toghani2022", "karimireddy2020", "alpaydin1998"]
    assert sorted(cited("smoke")) == sorted(everything)


def test_records(storable: Callable[..., Record], tmp_path: Path) -> None:
    store = fb.Store(tmp_path / "runs")
    folders = [store.write(storable(name)) for name in ("fedavg", "mifa", "odd_one")]
    assert cited(str(folders[1])) == ["fedbench", "gu2021", "alpaydin1998"]
    assert set(cited(str(tmp_path / "runs"))) == {"fedbench", "mcmahan2017", "wang2024defedavg", "gu2021", "alpaydin1998"}
    output = CliRunner().invoke(app, ["cite", str(tmp_path / "runs")]).output
    assert output.count("% algorithm odd_one: it is not built in; cite its authors") == 1


def test_everything_of_the_library_has_a_paper() -> None:
    assert set(CITED) | {"text"} >= {load.load(name).task.name for name in load.names()}
    assert {key for keys in CITED.values() for key in keys} <= set(PAPERS)
    for name in load.names():
        for trace in trace_sources(load.load(name).resolved()):
            assert trace.get("sha256") in cite.TRACES
    assert all(cited(name)[1:] for name in registry.ALGORITHMS if not registry.algorithm(name).reference)


def test_a_file_of_a_scenario(tmp_path: Path) -> None:
    for name in ("mine.yaml", "mine.yml"):
        (tmp_path / name).write_text((load.LIBRARY / "digits-demo.yaml").read_text().replace("digits-demo", "mine"))
        assert cited(str(tmp_path / name)) == ["fedbench", "alpaydin1998"]


def test_a_folder_that_is_not_there() -> None:
    result = CliRunner().invoke(app, ["cite", "runs/missing"])
    assert str(result.exception).startswith("cite: no record, suite, scenario or algorithm 'runs/missing'")


def test_a_name_that_nothing_has() -> None:
    result = CliRunner().invoke(app, ["cite", "fedbuf"])
    assert str(result.exception).startswith("cite: no record, suite, scenario or algorithm 'fedbuf'; did you mean 'fedbuff'")


def test_the_file_that_says_how_to_cite_fits() -> None:
    given = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    product = cite.product()
    assert f"  title = {{{{{given['title']}}}}}," in product
    assert f"  year = {{{given['date-released'][:4]}}}," in product
    assert f"  author = {{{{{given['authors'][0]['name']}}}}}," in product
    assert re.fullmatch(r"\d+\.\d+\.\d+", given["version"])
