"""A small suite with a design: three factors on handwritten digits, in files as a user has them."""

from __future__ import annotations

from pathlib import Path

import yaml

from fedbench.results import archive
from fedbench.results.store import Store
from fedbench.suites import campaign, tuned
from fedbench.suites import suite as suites
from fedbench.suites.design import schema as designs
from fedbench.suites.design.draw import draw, with_drawn
from fedbench.suites.suite import Suite
from fedbench.suites.tuned import TUNED, Tuned

DESIGN = """\
schema: 1
name: small-points
factors:
  skew: {levels: [{level: iid, set: {partition.kind: iid}}, {level: two_class, words: two classes each}]}
  spread:
    unit: fastest over slowest
    levels:
      - {level: 1, set: {compute.slowdown.high: 1.0001}}
      - {level: 4, set: {compute.slowdown.high: 4}}
      - {level: 8, words: the slowest takes eight times as long}
  at_work:
    scale: log
    levels:
      - {level: 3, set: {at_work: 3, budget.stop_at_target: true, budget.hold: window}}
      - {level: 8, set: {at_work: 8, budget.stop_at_target: true, budget.hold: window}}
      - {level: 20, set: {at_work: 20, budget.stop_at_target: true, budget.hold: window}}
interactions: [[at_work, all]]
points: {design: 12, held_out: 4, other_clients: 1}
other_clients: {levels: [{level: 10, set: {clients: 10}}, {level: 40, set: {clients: 40}}]}
impossible: [{clients: [10], at_work: [20]}]
"""
ALGORITHMS = ("asysg", "centralised", "fedasync", "fedavg", "fedbuff", "feddyn", "fedecho")
WITHOUT_DATA = ("asysg", "fedasync", "fedavg", "fedbuff", "feddyn")
SEEDS = 3
SOME = ["design-01", "design-04", "design-07", "design-10"]


def suite(folder: Path) -> Suite:
    """Writes the suite and its design into a folder, and reads it."""
    file = folder / "small-points.yaml"
    file.write_text(DESIGN)
    design = designs.load(file)
    file.write_text(with_drawn(DESIGN, design, draw(design, 3, 5), "a test"))
    content = {
        "schema": 1, "name": "small", "about": "Made small.", "scenario": "digits-demo", "design": "small-points.yaml",
        "algorithms": list(ALGORITHMS), "seeds": {"first": 0, "count": SEEDS},
        "evaluation": {"kind": "log", "first_seconds": 0.1, "ratio": 1.05},
        "tuning": {"space": "axes", "trials": 4, "seeds": {"first": 100, "count": 2}, "validation_share": 0.1},
    }  # fmt: skip
    (folder / "small.yaml").write_text(yaml.safe_dump(content))
    return suites.load(folder / "small.yaml")


def some(folder: Path) -> Suite:
    """Writes beside the suite another one at four of its points, with another model, and reads
    it."""
    suite(folder)
    content = yaml.safe_load((folder / "small.yaml").read_text())
    scenario = yaml.safe_load((Path(suites.__file__).parents[1] / "scenarios/library/digits-demo.yaml").read_text())
    scenario["task"]["model"] = "mlp"
    (folder / "other.yaml").write_text(yaml.safe_dump(scenario))
    content |= {"name": "some", "points": SOME, "scenario": str(folder / "other.yaml"), "about": "With an MLP."}
    (folder / "some.yaml").write_text(yaml.safe_dump(content))
    return suites.load(folder / "some.yaml")


def frozen(of: Suite, leave_out: dict[str, set[str]] | None = None) -> Tuned:
    """Made-up choices: a learning rate of each algorithm's own. At some points some have none."""
    spread = {"restricted_mean_seconds": [4.0, 6.0, 8.0, 9.0, 9.0], "validation_accuracy": [0.1] * 5}
    score = {"misses": 0, "restricted_mean_seconds": 4.0, "validation_accuracy": 0.1, "unfinished": 0}
    rest = {"trial": 1, "score": score, "trials": 5, "unfinished": 0, "spread": spread, "digest": "0" * 32}
    points = {
        point.name: {
            name: rest | {"options": {} if name in ("asysg", "centralised") else {"local_lr": 0.1 + 0.01 * place}}
            for place, name in enumerate(ALGORITHMS)
            if name not in (leave_out or {}).get(point.name, ())
        }
        for point in of.points
    }
    head = {"schema": 1, "suite": of.name, "design_hash": of.design_hash(), "space": "axes", "space_hash": "", "rule": 1}
    return tuned.parse({**head, "points": points}, of, "made up")


def computed(folder: Path) -> Suite:
    """Computes the runs of the points of the design and of those held out, with tuned options, and
    leaves their archive and the file of the options: `suites/small` and `tuned/small.yaml`."""
    of = suite(folder)
    choices, store = frozen(of), Store(folder / "runs")
    points = [point for point in of.points if point.kind != "other_clients"]
    specs = [
        spec
        for point, selector, refused in campaign.applicable(of, points, of.selectors())
        for _, row, several in tuned.rows(of, choices, [point], [selector])
        for spec in several
        if row.endswith(TUNED) and not refused
    ]
    done = campaign.compute(specs, store)
    assert done.there == len(specs)
    records = [store.find(spec.scenario.name, spec.algorithm.name, spec.run_id) for spec in specs]
    archive.write(folder / "suites" / of.name, [one for one in records if one is not None])
    (folder / "tuned").mkdir()
    (folder / "tuned" / "small.yaml").write_text(tuned.as_yaml(choices))
    return of
