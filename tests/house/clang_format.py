"""Is the C++ formatted? Usage: python tests/house/clang_format.py [file ..]; all of csrc without files.

The style is in .clang-format; the C++ was formatted with clang-format 14. Another version will do as long as it agrees.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def main() -> int:
    program = shutil.which("clang-format")
    if program is None:
        print("skipped: no clang-format")
        return 0
    files = sys.argv[1:] or [str(file) for ending in ("cpp", "hpp") for file in sorted((ROOT / "csrc").rglob(f"*.{ending}"))]
    result = subprocess.run([program, "--style=file", "--dry-run", "--Werror", *files], check=False)
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    print(f"{len(files)} C++ files {'formatted' if result.returncode == 0 else 'checked; run clang-format -i'} ({version})")
    return result.returncode


if __name__ == "__main__":
    sys.exit(main())
