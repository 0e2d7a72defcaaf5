"""The verdicts on printed numbers and on their orders, as pages show them: a word, with a sign and
a colour beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

from fedbench import written

Verdict = Literal[
    "reproduced",
    "close",
    "not decided",
    "contradicted",
    "agrees",
    "differs",
    "consistent with the bound",
    "not run",
    "not comparable",
]
Order = Literal["kept", "broken", "undecided", "kept once", "broken once"]
Kind = Literal["runs", "configuration", "theory"]
KINDS: Mapping[str, tuple[str, tuple[Verdict, ...]]] = {
    "runs": ("Measured results", ("reproduced", "close", "not decided", "contradicted", "not run", "not comparable")),
    "configuration": ("Constants", ("agrees", "differs", "not comparable")),
    "theory": ("Rates of convergence", ("agrees", "consistent with the bound", "differs", "not run", "not comparable")),
}
"""What the numbers of a table are: their name, and the verdicts that they may have. Kinds are never
counted together."""
MEASURED: tuple[Verdict, ...] = ("reproduced", "close", "not decided", "contradicted")
"""The verdicts on numbers that were measured again."""
WORDS: tuple[str, ...] = get_args(Verdict)
ORDERS: tuple[str, ...] = get_args(Order)
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
    "kept once": ("(✓)", "open"),
    "broken once": ("(✗)", "open"),
    "holds": ("✓", "good"),
    "fails": ("✗", "bad"),
}
"""The sign of a word, and its tone: the class of style.css that has its colour."""
SIGNS = {word: sign for word, (sign, _) in SHOWN.items()}
TONES = {word: tone for word, (_, tone) in SHOWN.items()}
