#!/usr/bin/env bash
# All that a card has to show, in at most 480 seconds and without a network: builds the extension for it, runs the tests marked gpu, CUDA's
# sanitizers, results against float64, times, two runs twice and a cell of a suite. A table comes last; it is in FOLDER as well, as Markdown.
#   benchmarks/gpu/run.sh [FOLDER]
# PYTHON is the interpreter (python3), and WHEELS a folder of packages that it lacks. It may have no fedbench of its own. COMMIT is told where
# there is no clone. With DRY=1 everything runs small on a CPU with the emulated extension, in ten times as long at most; what needs a card
# is left out.
set -uo pipefail
SELF=$(realpath "$0") ROOT=$(dirname "$(dirname "$(dirname "$SELF")")")
cd "$ROOT" || exit 2
if [[ -n ${DRY:-} ]]; then PROGRAM=build/emulated/every_kernel; else PROGRAM=${BUILD:-}/every_kernel; fi
export DRY=${DRY:-} PYTHON=${PYTHON:-python3} WHEELS=${WHEELS:-} ROOT PYTHONUNBUFFERED=1 PYTHONSAFEPATH=1 PATH=$PATH:/usr/local/cuda/bin
if [[ -n ${DRY:-} ]]; then TIMES=10; else TIMES=1; fi
BUDGET=$((480 * TIMES))

environment() {
  if [[ -z $DRY ]]; then nvidia-smi --query-gpu=name,driver_version,compute_cap,memory.total --format=csv,noheader | head -n 1 || return 1; fi
  date -u +%F
  echo "${COMMIT:-$(git rev-parse HEAD 2>/dev/null || echo "no commit")}"
  if [[ -z $DRY ]]; then nvcc --version | grep release || return 1; fi
  "$PYTHON" -c 'import platform, torch; print("Python", platform.python_version(), "torch", torch.__version__)'
}

build() {
  if [[ -n $DRY ]]; then
    "$PYTHON" -c 'from tests.kernels import emulated; emulated.load(); print(emulated.built("every_kernel"))'
    return
  fi
  if [[ -n $WHEELS ]]; then "$PYTHON" -m pip install -q --no-index --no-deps --target "$BUILD/site" "$WHEELS"/*.whl || return 1; fi
  local architecture
  architecture=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | head -n 1 | tr -d .)
  cmake -S . -B "$BUILD" -DFEDBENCH_CUDA=ON -DCMAKE_CUDA_ARCHITECTURES="$architecture" -DCMAKE_CUDA_FLAGS="-lineinfo" \
    -DPython_EXECUTABLE="$("$PYTHON" -c 'import sys; print(sys.executable)')" -Dpybind11_DIR="$("$PYTHON" -m pybind11 --cmakedir)" &&
    cmake --build "$BUILD" --parallel --target _core _cuda every_kernel &&
    mkdir -p "$BUILD/site" && cp -r fedbench "$BUILD/site/" && cp "$BUILD"/_core*.so "$BUILD"/_cuda*.so "$BUILD/site/fedbench/" &&
    "$PYTHON" -c 'from fedbench.kernels import cuda; print(cuda.__file__)'
}

gpu_tests() {
  local files workers=()
  mapfile -t files < <(grep -rlE 'mark\.gpu' tests --include='test_*.py')
  "$PYTHON" -c 'import xdist' 2>/dev/null && workers=(-n 6)
  "$PYTHON" -m pytest -q -o addopts= --import-mode=importlib -m gpu -W default -p no:cacheprovider "${workers[@]}" "${files[@]}"
}

plain() { "$PROGRAM"; }
memcheck() { compute-sanitizer --tool memcheck --error-exitcode 9 --print-limit 20 "$PROGRAM"; }
racecheck() { compute-sanitizer --tool racecheck --error-exitcode 9 --print-limit 20 "$PROGRAM"; }
initcheck() { compute-sanitizer --tool initcheck --error-exitcode 9 --print-limit 20 "$PROGRAM"; }
synccheck() { compute-sanitizer --tool synccheck --error-exitcode 9 --print-limit 20 "$PROGRAM"; }
poisoned() { "$PYTHON" -m benchmarks.gpu.poisoned; }
timings() { "$PYTHON" -m benchmarks.gpu.timings; }
training() { "$PYTHON" -m benchmarks.gpu.training; }
twice() { "$PYTHON" -m benchmarks.gpu.runs twice; }
cell() { "$PYTHON" -m benchmarks.gpu.runs cell; }

if [[ ${1:-} == --part ]]; then
  "$2"
  exit
fi

OUT=$(realpath -m "${1:-$(mktemp -d)}") BUILD=$OUT/build
mkdir -p "$BUILD" && : >"$OUT/rows.jsonl" >"$OUT/parts.tsv" || exit 2
export OUT BUILD PYTHONPATH=$BUILD/site:$ROOT

note() { printf '%s\t%s\t%s\t%s\n' "$@" >>"$OUT/parts.tsv"; }

part() {  # NAME SECONDS [card]
  local name=$1 most=$(($2 * TIMES)) begin=$SECONDS left=$((BUDGET - SECONDS)) status
  if [[ -n $DRY && ${3:-} == card ]]; then note "$name" "skipped: no card" 0 ""; return; fi
  if ((most > left)); then most=$left; fi
  if ((most < 5)); then note "$name" "skipped: no time left" 0 ""; return; fi
  timeout -k 5 "$most" bash "$SELF" --part "$name" >"$OUT/$name.log" 2>&1
  case $? in
    0) status=ok ;;
    124 | 137) status="ran out of $most s" ;;
    *) status=failed ;;
  esac
  note "$name" "$status" $((SECONDS - begin)) "$(tail -n 1 "$OUT/$name.log" | tr '\t' ' ' | cut -c 1-100)"
  [[ $status == ok ]] || { echo "$name: $status; the end of $OUT/$name.log:"; tail -n 20 "$OUT/$name.log"; }
  [[ $status == ok ]]
}

part environment 40
if part build 160; then
  {
    part plain 15
    for tool in memcheck racecheck initcheck synccheck; do part "$tool" 40 card; done
  } &
  part gpu_tests 90 card
  wait
  part poisoned 25
  part timings 90
  part training 60
  part twice 35
  part cell 30
fi
"$PYTHON" -m benchmarks.gpu.table
