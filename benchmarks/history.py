"""asv over commits, for the history in results/asv: python benchmarks/history.py [--machine LABEL]
[--bench REGEX] COMMIT...

asv builds every commit in a temporary environment outside the checkout, with what the engine needs
but torch, and times this tree's cases there. What the environment was is kept in the results; the
machine goes by a label, never by its host name.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from asv.machine import MachineCollection

from fedbench.results.provenance import cpu

ROOT = Path(__file__).resolve().parents[1]
PATHS = ("repo", "benchmark_dir", "results_dir", "html_dir")


def configuration(folder: Path) -> dict[str, Any]:
    """asv.conf.json with its paths made absolute and its environments in the folder."""
    given = json.loads((ROOT / "asv.conf.json").read_text())
    return given | {name: str(ROOT / given[name]) for name in PATHS} | {"env_dir": str(folder / "env")}


def machine(label: str) -> dict[str, str]:
    """The kind of machine, under a label."""
    gigabytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "machine": label,
        "os": platform.system(),
        "arch": platform.machine(),
        "cpu": cpu(),
        "num_cpu": str(os.cpu_count()),
        "ram": f"{gigabytes:.0f} GB",
    }


def git(*arguments: str) -> str:
    return subprocess.run(["git", "-C", str(ROOT), *arguments], check=True, capture_output=True, text=True).stdout.strip()


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("commits", nargs="+", metavar="COMMIT")
    parser.add_argument("--machine", default="reference-2-core", metavar="LABEL")
    parser.add_argument("--bench", default=".", metavar="REGEX", help="only benchmarks with such a name; all by default")
    given = parser.parse_args()
    hashes = [git("rev-parse", "--verify", f"{commit}^{{commit}}") for commit in given.commits]
    with tempfile.TemporaryDirectory(prefix="fedbench-asv-") as name:
        folder = Path(name)
        (folder / "asv.conf.json").write_text(json.dumps(configuration(folder)))
        (folder / "hashes").write_text("".join(f"{commit}\n" for commit in hashes))
        # `asv machine` drops what equals its guess, so that two runs would differ; this is what it
        # calls.
        MachineCollection.save(given.machine, machine(given.machine))
        run = [sys.executable, "-m", "asv", "run", "--config", str(folder / "asv.conf.json"), "--machine", given.machine]
        return subprocess.run(
            [*run, "--show-stderr", "--bench", given.bench, f"HASHFILE:{folder / 'hashes'}"], check=False
        ).returncode


if __name__ == "__main__":
    sys.exit(main())
