"""Whole runs on the card. `twice` makes two runs twice and compares their digests; `cell` makes the
runs of two algorithms at the point `calm` of the suite `smoke`."""

from __future__ import annotations

import json
import subprocess
import sys
import time

from benchmarks.gpu.rows import DRY, OUT, row

TWO = ("-a", "fedavg", "-a", "fedbuff[buffer_size=5]")
CALM = ("-a", "fedavg", "-a", "fedbuff[concurrency=5]", "--seeds", "1" if DRY else "3")


def run(store: str, algorithms: tuple[str, ...], seconds: int) -> dict[str, dict[str, object]]:
    """Returns the records of the runs of digits-demo, by their folders."""
    where = ["--store", str(OUT / store), "--device", "cpu" if DRY else "cuda", "--trainer", "torch"]
    command = ["run", "digits-demo", *algorithms, "--set", f"budget.seconds={seconds}", *where]
    subprocess.run([sys.executable, "-c", "from fedbench.cli.main import main; main()", *command], check=True)
    files = (OUT / store).rglob("record.json")
    return {str(file.parent.relative_to(OUT / store)): json.loads(file.read_text()) for file in files}


def twice() -> None:
    first, second = (run(store, TWO, 2 if DRY else 4) for store in ("first", "second"))
    equal = bool(first) and {k: r["digests"] for k, r in first.items()} == {k: r["digests"] for k, r in second.items()}
    row("runs", f"{len(first)} runs twice", "equal digests" if equal else "DIFFERENT digests")
    sys.exit(not equal)


def cell() -> None:
    begin = time.perf_counter()
    found = run("cell", CALM, 2 if DRY else 10)
    row("runs", "smoke, calm: fedavg and fedbuff", f"{len(found)} runs in {time.perf_counter() - begin:.1f} s")


if __name__ == "__main__":
    {"twice": twice, "cell": cell}[sys.argv[1]]()
