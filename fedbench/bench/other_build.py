"""The cases of this tree over the kernels of another build, which may know nothing of them.

Run by path, in the Python of the other build: as a program, which then serves
`fedbench.bench.worker`, or by
`runpy.run_path("fedbench/bench/other_build.py")["use_these_cases"]()`.
"""

import importlib
import importlib.util
import sys
from pathlib import Path


def use_these_cases() -> None:
    """Makes this file's folder `fedbench.bench` from now on. Everything else of fedbench is the
    installed build's."""
    folder = Path(__file__).resolve().parent
    import fedbench  # noqa: F401  # the parent has to be there first

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
