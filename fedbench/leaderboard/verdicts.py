"""The verdicts on printed numbers and on their orders, as pages show them: a word, with a sign and
a colour beside it."""

from __future__ import annotations

from collections.abc import Mapping

from fedbench import written
from fedbench.documents.paper import Kind, Verdict

OF_KIND: Mapping[Kind, tuple[Verdict, ...]] = {
    "runs": ("reproduced", "close", "not decided", "contradicted", "not run", "not comparable"),
    "configuration": ("agrees", "differs", "not comparable"),
    "theory": ("agrees", "consistent with the bound", "differs", "not run", "not comparable"),
}
"""The verdicts that numbers of a kind may have."""
MEASURED: tuple[Verdict, ...] = ("reproduced", "close", "not decided", "contradicted")
"""The verdicts on numbers that were measured again."""
SHOWN: Mapping[str, tuple[str, str]] = {
    "reproduced": ("✓", "good"),
    "close": ("≈", "near"),
    "not decided": ("○", "open"),
    "contradicted": ("✗", "bad"),
    "agrees": ("=", "good"),
    "differs": ("≠", "bad"),
    "consistent with the bound": (written.AT_MOST, "open"),
    "not run": (written.NONE, "none"),
    "not comparable": (written.UNKNOWN, "none"),
    "kept": ("✓", "good"),
    "broken": ("✗", "bad"),
    "undecided": ("~", "open"),
    "kept twice": ("(✓✓)", "open"),
    "broken twice": ("(✗✗)", "open"),
    "kept once": ("(✓)", "open"),
    "broken once": ("(✗)", "open"),
    "holds": ("✓", "good"),
    "fails": ("✗", "bad"),
}
"""The sign of a word, and its tone: the class of style.css that has its colour."""
SIGNS = {word: sign for word, (sign, _) in SHOWN.items()}
TONES = {word: tone for word, (_, tone) in SHOWN.items()}
