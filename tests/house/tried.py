"""What is installed works, without an extra and without a compiler. Usage: python
tests/house/tried.py

Prints the build, checks the shipped conformance vectors, makes a small run and its table, and
verifies committed records to the bit: what every wheel must do wherever it is installed. It runs
outside of the source tree, of which it reads the records alone.
"""

from __future__ import annotations

import json
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

RECORDS = Path(__file__).resolve().parents[2] / "results/records/digits-demo"
FEDBENCH = Path(sysconfig.get_path("scripts")) / "fedbench"
SMALL = ("--set", "clients=10", "--set", "budget.seconds=2", "--set", "task.model=softmax")


def fedbench(*arguments: str | Path, cwd: str) -> str:
    """Returns what a verb prints; ends the program, with that, if it fails."""
    result = subprocess.run([FEDBENCH, *map(str, arguments)], cwd=cwd, capture_output=True, text=True, check=False)
    if result.returncode:
        sys.exit(f"failed: fedbench {' '.join(map(str, arguments))}\n{result.stdout[-3000:]}{result.stderr[-3000:]}")
    return result.stdout


def main() -> None:
    with tempfile.TemporaryDirectory() as away:
        code = "import fedbench, json, fedbench.kernels.build as b; print(json.dumps([fedbench.__file__, b.build_info()]))"
        told = subprocess.run([sys.executable, "-c", code], cwd=away, capture_output=True, text=True, check=True).stdout
        place, build = json.loads(told)
        if Path(place).is_relative_to(RECORDS.parents[2] / "fedbench"):
            sys.exit(f"failed: {place} is the source tree, not what was installed")
        print(json.dumps({"python": sys.version.split()[0], **build}))
        fedbench("doctor", cwd=away)
        checked = [json.loads(line) for line in fedbench("conformance", "--json", cwd=away).splitlines()]
        print(f"ok     {len(checked)} conformance vectors")
        fedbench("run", "digits-demo", "-a", "fedavg", "-a", "fedbuff[buffer_size=2]", *SMALL, cwd=away)
        table = fedbench("table", "--store", "runs", cwd=away)
        if not all(f"| {name}" in table for name in ("fedavg", "fedbuff")):
            sys.exit(f"failed: a row is missing in the table\n{table}")
        print("ok     a run and its table")
        for name in ("fedavg", "fedbuff", "scaffold"):
            print(f"ok     {fedbench('verify', RECORDS / name, cwd=away).splitlines()[-1]} ({name})")


if __name__ == "__main__":
    main()
