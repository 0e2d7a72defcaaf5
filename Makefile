# make demo    fresh machine to leaderboard page        make test    the test suite
# make lint    style, types, import contracts           make native  C++ tests under sanitizers
# make test-core  a smaller part of it without torch and the other extras, in an environment of its own
# make docs    the documentation, into build/docs; every code block of it and of README is run, and what it prints is compared
# make site    home, documentation and the results of the published suites, into build/site
# make papers  the verdicts on the papers' tables and their pages, from the committed records
# make theory  the measured lines of theory that stand beside them; minutes
# make smoke   the suite `smoke` from the first run to the last, some committed records run again, the page of findings made again, examples
# make slow    all slow tests, more than an hour        make touched    those of the packages that the change touches, minutes
# make asan    of native what .ci/run takes: addresses and undefined behaviour, with the emulated CUDA kernels
# make aarch64 the core's golden bits on aarch64, under qemu, where it and a cross compiler are installed
# make regress BASE=commit    is the core slower than there?     make history COMMITS="a b"    asv over commits, into results/asv
# make mutants would the tests notice a published mistake?   (PYTHON_ONLY=1 leaves out those of the core)
# make tidy    clang-tidy over the core, where it is installed
# make wheel   sdist and wheel of HEAD, tried in a fresh environment
# make cuda    compiles and links the GPU's kernels for sm_80 and sm_90, where there is nvcc
# VENV=path takes another environment's place; it is created if it is not there.

VENV ?= .venv
PYTHON ?= python3
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
CORE := $(VENV)/.fedbench-core
STAMP := $(VENV)/.fedbench-installed
ALL := $(sort $(patsubst fedbench/algorithms/%.py,%,$(filter-out %/__init__.py,$(wildcard fedbench/algorithms/*.py))))

.PHONY: demo site papers theory test test-core html docs smoke slow touched golden lint types format native asan aarch64 mutants tidy wheel regress history cuda clean

# Editable, so Python changes need nothing; a change of the C++ or of the build files installs again. The extension is compiled while what
# it needs is fetched; the last line finds it ready in build/.
$(CORE): pyproject.toml CMakeLists.txt $(wildcard csrc/*/*.cpp csrc/*/*.hpp csrc/cuda/*.cu csrc/cuda/*.cuh csrc/include/fedbench/*.hpp csrc/include/fedbench/*/*.hpp)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) install "scikit-build-core>=1.0" "pybind11>=3.0" "setuptools-scm>=8" "setuptools>=77" ninja cmake
	$(PIP) wheel --no-deps --no-build-isolation --wheel-dir $(VENV)/wheel . & build=$$!; \
	$(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["dependencies"], sep="\n")' \
	    | xargs -d '\n' $(PIP) install || { kill $$build; exit 1; }; wait $$build
	$(PIP) install --no-build-isolation --editable .
	rm -r $(VENV)/wheel
	touch $@

# Everything that fedbench works with, and what its tests and checks need: torch is most of it.
$(STAMP): $(CORE)
	$(PIP) install --no-build-isolation --editable ".[dev]"
	touch $@

demo: $(CORE)
	$(BIN)/fedbench run digits-demo $(ALL:%=-a %) --seeds 3 --processes 2 --store demo/runs --resume
	$(BIN)/fedbench leaderboard build --store demo/runs --output demo/leaderboard --title "fedbench demo" \
	    --note "default options: a demonstration, not a ranking"

site: html
	$(BIN)/fedbench leaderboard suites $(notdir $(wildcard results/suites/*)) --home results/home.yaml --docs build/docs \
	    --speed results/asv --rivals results/whole-runs.json --changes results/changes.yaml \
	    $(if $(wildcard results/submissions),--submissions results/submissions) \
	    $(if $(wildcard results/papers),--papers results/papers) -o build/site

papers: $(STAMP)
	$(BIN)/fedbench reproduce --write

theory: $(STAMP)
	$(BIN)/fedbench theory $$($(BIN)/python -m fedbench.papers.orders_of_convergence) --json > results/papers/theory.part
	mv results/papers/theory.part results/papers/theory.jsonl

test: $(STAMP)
	$(BIN)/python -m pytest -n 2 --durations=25

# In an environment of its own, which has no extra. It takes the extension that is built already.
CORE_VENV ?= .venv-core
test-core: $(CORE)
	test -x $(CORE_VENV)/bin/python || $(PYTHON) -m venv $(CORE_VENV)
	$(CORE_VENV)/bin/python -m pip --quiet --disable-pip-version-check install "scikit-build-core>=1.0" "setuptools-scm>=8"
	PATH="$(abspath $(BIN)):$$PATH" pybind11_DIR="$$($(BIN)/python -m pybind11 --cmakedir)" \
	    $(CORE_VENV)/bin/python -m pip --quiet --disable-pip-version-check install --no-build-isolation --editable ".[test]"
	$(CORE_VENV)/bin/python -m pytest -n 2 tests/test_*.py $(addprefix tests/,conformance engine golden results scenarios tasks types)

html: $(STAMP)
	$(BIN)/sphinx-build --quiet --fresh-env --fail-on-warning --keep-going -d build/doctrees docs build/docs

docs: html
	$(BIN)/python -m tests.house.prose
	$(BIN)/python -m pytest -n 2 -m "slow or not slow" tests/house/test_pages.py tests/house/test_built.py
	$(BIN)/python -m pytest -n 2 tests/house/test_readme.py tests/house/test_published.py tests/cli/test_cite.py

slow: $(STAMP)
	$(BIN)/python -m pytest -m "slow and not gpu" --durations=25

touched: $(STAMP)
	$(BIN)/python -m tests.house.slow $(BASE)

golden: $(STAMP)
	FEDBENCH_WRITE_GOLDEN=1 $(BIN)/python -m pytest tests/golden

smoke: $(STAMP)
	store=$$(mktemp -d) && $(BIN)/fedbench suite run smoke --store $$store -j 2 --quiet && rm -r $$store
	$(BIN)/fedbench verify results/records --sample 3 --tolerant-torch --draw $$(date +%s)
	$(BIN)/fedbench verify $(wildcard results/suites/*) --sample 3 --skip-missing-data --draw $$(date +%s)
	$(BIN)/python -m pytest -q -m slow tests/suites/findings/test_published.py tests/examples

lint: $(STAMP) types
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/lint-imports
	$(BIN)/python -m tests.house.rules
	$(BIN)/python -m tests.house.prose
	$(BIN)/python -m codespell_lib
	$(BIN)/python tests/house/clang_format.py

types: $(STAMP)
	$(BIN)/mypy

format: $(STAMP)
	$(BIN)/ruff check --fix
	$(BIN)/ruff format
	$(BIN)/python -m tests.house.prose --fix

native:
	cmake --workflow --preset dev
	cmake --workflow --preset asan
	cmake --workflow --preset tsan

# With the cmake and ninja that the installation brought: the machine may have none, or older ones.
asan: $(STAMP)
	if echo 'int main() {}' | $(CXX) -fsanitize=address,undefined -x c++ - -o /dev/null; then \
	  PATH="$(abspath $(BIN)):$$PATH" cmake --workflow --preset asan; \
	else echo "skipped: no sanitizers with $(CXX)"; fi

# The bits of training, kernels and plans on another architecture, under emulation; CROSS names the compiler.
CROSS ?= aarch64-linux-gnu-g++
aarch64: $(STAMP)
	if command -v $(CROSS) >/dev/null && command -v qemu-aarch64 >/dev/null; then PATH="$(abspath $(BIN)):$$PATH" cmake --workflow --preset aarch64; \
	else echo "skipped: no $(CROSS) or no qemu-aarch64; Debian: g++-aarch64-linux-gnu and qemu-user"; fi

mutants: $(STAMP)
	$(BIN)/python tests/house/mutants.py $(if $(PYTHON_ONLY),--python-only)

tidy:
	if command -v clang-tidy >/dev/null; then cmake --workflow --preset tidy; else echo "skipped: no clang-tidy"; fi

wheel: $(STAMP)
	$(BIN)/python tests/house/wheel.py

regress: $(STAMP)
	$(BIN)/python -m fedbench.bench.regress $(or $(BASE),$(error BASE=commit is needed))

history: $(STAMP)
	$(BIN)/python benchmarks/history.py $(or $(COMMITS),HEAD)

cuda: $(STAMP)
	$(BIN)/python -m pytest -m slow -rs tests/kernels/test_cuda_build.py

clean:
	rm -rf build demo .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
