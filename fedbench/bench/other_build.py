"""Runs the cases of this tree with the kernels of another build, which may not know them.

This file is run by its path in the Python of the other build. It is a program that serves
`fedbench.bench.worker`, and it can be used by
`runpy.run_path("fedbench/bench/other_build.py")["use_these_cases"]()`.
"""

import importlib
import importlib.util
import sys
from pathlib import Path


def use_these_cases() -> None:
    """Makes the folder of this file the package `fedbench.bench`. Everything else of fedbench is
    that of the installed build."""
    folder = Path(__file__).resolve().parent
    import fedbench  # noqa: F401  # the parent must be imported first

    spec = importlib.util.spec_from_file_location(
        "fedbench.bench", folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["fedbench.bench"] = module
    spec.loader.exec_module(module)


if __name__ == "__main__":
    use_these_cases()
    importlib.import_module("fedbench.bench.worker").serve(sys.stdin, sys.stdout)
