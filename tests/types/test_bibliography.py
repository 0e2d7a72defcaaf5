"""The bibliography: keys, citations, and that every built-in algorithm's source is in it."""

from __future__ import annotations

import re
import tomllib

import pytest

from fedbench import registry
from fedbench.bibliography import FILE, PAPERS, Paper, cited, described, sentence
from fedbench.errors import UsageError

TYPES = {"authors": list, "year": int, "title": str, "venue": str, "link": str, "method": str}


def test_a_citation_reads_as_a_reader_knows_it() -> None:
    (one,) = cited(mcmahan2017="Alg. 1")
    assert sentence(one) == (
        "McMahan et al. 2017, Communication-Efficient Learning of Deep Networks from Decentralized Data, Alg. 1, "
        "https://arxiv.org/abs/1602.05629"
    )
    assert PAPERS["toghani2022"].short == "Toghani and Uribe 2022"
    assert Paper(("Alone",), 1999, "Title", "Venue").short == "Alone 1999"


def test_an_unknown_key_is_refused_with_the_nearest() -> None:
    with pytest.raises(UsageError, match="unknown paper 'mcmahan2018'; did you mean 'mcmahan2017'"):
        cited(mcmahan2018="Alg. 1")


def test_free_text_is_a_source_too() -> None:
    assert described("A et al., Alg. 1") == [{"text": "A et al., Alg. 1"}]
    (row,) = described(cited(zang2024=""))
    assert (row["key"], row["short"], row["venue"]) == ("zang2024", "Zang et al. 2024", "AAAI")
    assert row["text"].endswith("https://doi.org/10.1609/aaai.v38i15.29603")


@pytest.mark.parametrize("key", PAPERS)
def test_every_paper_is_complete(key: str) -> None:
    paper = PAPERS[key]
    assert re.fullmatch(r"[a-z]+\d{4}[a-z0-9]*", key)
    row = tomllib.loads(FILE.read_text(encoding="utf-8"))[key]
    assert {name: type(value) for name, value in row.items()} == {name: TYPES[name] for name in row}
    assert paper.authors
    assert all(type(author) is str for author in paper.authors)
    assert paper.title
    assert paper.venue
    assert paper.link == "" or paper.link.startswith("https://")


def test_keys_and_links_are_each_used_once() -> None:
    assert len({paper.short for paper in PAPERS.values()}) == len(PAPERS)
    links = [paper.link for paper in PAPERS.values() if paper.link]
    assert len(set(links)) == len(links)
    assert list(PAPERS) == sorted(PAPERS)


@pytest.mark.parametrize("name", sorted(registry.ALGORITHMS))
def test_an_algorithm_cites_papers_and_its_docstring_names_them(name: str) -> None:
    cls = registry.find("algorithm", name)
    if cls().reference:
        return
    assert cls.source
    text = " ".join((cls.__doc__ or "").split())
    for one in cls.source:
        paper = PAPERS[one.key]
        assert paper.short in text
