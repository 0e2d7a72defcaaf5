"""The catalogue page."""

from __future__ import annotations

import html
from pathlib import Path

from fedbench import registry
from fedbench.descriptions import describe_algorithm, memory_text, server_text, traffic_text, work_text
from fedbench.documents.suite import Facts
from fedbench.leaderboard.pages.catalogue import render
from fedbench.types import GradientWork, ServerMemory, ServerWork
from tests.cli.commands import fedbench


def test_a_docstring_in_parts() -> None:
    about = "Title.\n\n    x <- x + D\n      more\n\nThe options.\n\nSource: A et al., Alg. 1.\nDeparture: none."
    one = Facts.of_class(registry.find("algorithm", "fedavg")).model_copy(update={"about": about})
    assert one.paragraphs == [("x <- x + D\n  more", True), ("The options.", False)]
    assert (one.title, one.source) == ("Title.", "A et al., Alg. 1. Departure: none.")


def test_every_algorithm_has_equations_a_source_and_its_options() -> None:
    facts = [Facts.of_class(registry.find("algorithm", name)) for name in registry.names("algorithm")]
    page = html.unescape(render(facts, "1.2"))
    assert page == html.unescape(render(facts, "1.2"))
    for one in facts:
        assert f'<section id="{one.name}"' in page
        assert any(is_code for _, is_code in one.paragraphs), one.name
        assert one.source, one.name
        assert f"<dd>{one.gradient_work}</dd>" in page
        for option in one.options:
            assert f"<code>{option.name}</code>" in page
            assert option.about in page
        for paper in one.sources:
            assert paper.link in page
            assert (paper.title or paper.text) in page


def test_costs_in_words() -> None:
    assert traffic_text((2, 2, 2)) == "2 model-sized down, 2 up, in 2 exchanges"
    assert traffic_text((1, 1, 1)) == "1 model-sized down, 1 up"
    assert work_text(GradientWork(1, 0)) == "1 mini-batch a step"
    assert work_text(GradientWork(2, 1)) == "2 mini-batches a step, 1 over all examples"
    assert describe_algorithm(registry.find("algorithm", "fedlin"))["gradient_work"] == "2 mini-batches a step"
    assert memory_text(ServerMemory(3, 1, 1)) == "3 model-sized + 1 a client + 1 a version in flight"
    assert memory_text(ServerMemory()) == "1 model-sized"
    assert memory_text(ServerMemory(public_logits=30)) == "1 model-sized + the logits of every client on the public examples"
    assert server_text(ServerWork()) == "nothing"
    assert (
        server_text(ServerWork(2000, 30))
        == "2,000 forward passes and 30 gradients of an example an update, with 1,000 public examples"
    )
    assert server_text(ServerWork(first_forward=7)) == "7 forward passes before the first job, with 1,000 public examples"
    assert "10,000 forward passes and 1,000 gradients" in describe_algorithm(registry.find("algorithm", "fedecho"))["server_work"]


def test_command(tmp_path: Path) -> None:
    done = fedbench("catalogue", "-o", str(tmp_path / "new" / "page.html"))
    assert done.returncode == 0
    assert (tmp_path / "new" / "page.html").read_text().startswith("<!doctype html>")
    assert fedbench("catalogue", "-o", str(tmp_path)).returncode == 2
