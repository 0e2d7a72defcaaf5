"""Draws the floors of the package from the contract in pyproject.toml that import-linter enforces.
Usage: python -m tests.house.floors

The picture is docs/floors.svg, which ARCHITECTURE.md shows, in light and dark.
"""

from __future__ import annotations

import tomllib
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "docs" / "floors.svg"
ABOUT = {
    "cli": "the verbs of the command line",
    "submissions | papers": "results of others; papers, line by line",
    "suites | leaderboard | figures | proof | bench": "experiments, pages, figures, contracts, speed",
    "documents": "the data of a site: models, limits, one reader",
    "launch": "many runs, here or elsewhere",
    "engine | analysis": "plan, execute, train; statistics over records",
    "results": "records, their form, store and digests",
    "algorithms | tasks | scenarios": "equations; data and models; heterogeneity",
    "kernels": "checked access to the C++ core",
    "registry | descriptions | own_models": "names to things; an algorithm in words; code of models",
    "origins | presets": "code from files; options that papers report",
    "protocols": "what an algorithm is",
    "options | tools": "its hyper-parameters; what the engine lends it",
    "shards | tables": "who has which examples; tables of clients",
    "types": "the vocabulary",
    "own_files | encoder_folder": "the files of a user's data or encoder, and their sums",
    "bibliography | extras | refusals | plain_files | pickles | places | foreign": "citations, extras, careful reading",
    "errors | process | strict_yaml | strict_json | rules | written": "messages, strict formats, rules, numbers",
}
GROUND = ("csrc", "the C++ core, which only kernels import")
WIDTH, ROW, LEFT, TEXT = 860, 32, 28, 536
STYLE = """\
text { font: 13px system-ui, sans-serif; fill: #24292f }
.name { font-family: ui-monospace, monospace; font-size: 12px }
.room { fill: #ddeeff; stroke: #4a7fb5 } .ground { fill: #f6e3c5; stroke: #a8742a }
.line { stroke: #6e7781; fill: none }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .room { fill: #17304a; stroke: #6ea8dc } .ground { fill: #44330f; stroke: #d3a14e } .line { stroke: #8b949e }
}
"""


def floors() -> list[str]:
    """The floors of the contract, the highest first, in which `|` stands between siblings."""
    (contract,) = (
        one
        for one in tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
        if "layers" in one
    )
    return [layer.replace("fedbench.", "") for layer in contract["layers"]]


def _row(y: int, names: list[str], about: str, kind: str) -> list[str]:
    drawn, x = [], LEFT
    for name in names:
        width = 7.3 * len(name) + 16
        drawn.append(f'<rect class="{kind}" x="{x:g}" y="{y}" width="{width:g}" height="{ROW - 8}" rx="4"/>')
        drawn.append(f'<text class="name" x="{x + width / 2:g}" y="{y + 16}" text-anchor="middle">{escape(name)}</text>')
        x += width + 6
    return [*drawn, f'<text x="{TEXT}" y="{y + 16}">{escape(about)}</text>']


def picture() -> str:
    """The picture as SVG."""
    rows = [(floor.split(" | "), ABOUT[floor], "room") for floor in floors()] + [([GROUND[0]], GROUND[1], "ground")]
    height = ROW * len(rows) + 8
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" aria-labelledby="title">',
        '<title id="title">The floors of the package: a module imports from lower floors only</title>',
        f"<style>\n{STYLE}</style>",
        f'<path class="line" d="M12 8V{height - 12}m-5 -8l5 8l5 -8"/>',
    ]
    for number, row in enumerate(rows):
        lines += _row(6 + ROW * number, *row)
    return "\n".join([*lines, "</svg>"]) + "\n"


if __name__ == "__main__":
    FILE.write_text(picture())
