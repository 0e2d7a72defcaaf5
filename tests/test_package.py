"""`import fedbench as fb`: what is imported on first use lists itself."""

from __future__ import annotations

import subprocess
import sys

import pytest

import fedbench as fb


def test_everything_public_is_listed_and_there() -> None:
    assert set(fb.__all__) <= set(dir(fb))
    assert all(name.startswith("__") for name in set(dir(fb)) - set(fb.__all__))
    assert all(getattr(fb, name) is not None for name in fb.__all__)
    with pytest.raises(AttributeError, match="no attribute 'Record'; did you mean 'Records'"):
        fb.Record  # noqa: B018


def test_modules_are_there_without_another_import() -> None:
    code = (
        "import fedbench as fb, sys; fb.types.Stream; fb.kernels.weighted_sum; fb.errors; dir(fb); print('torch' in sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.stdout == "False\n", result.stderr


def test_the_command_line_starts_without_what_only_some_verbs_need() -> None:
    code = "import fedbench.cli.main, sys; print({'torch', 'scipy', 'pandas', 'matplotlib', 'jinja2'} & set(sys.modules))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.stdout == "set()\n", result.stderr
