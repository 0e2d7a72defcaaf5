"""Is the C++ formatted? Usage: python tests/house/clang_format.py [file ..]; all of csrc without
files.

The style is in .clang-format. The extra [dev] installs the version whose layout the files have:
others disagree in details.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def main() -> int:
    program = shutil.which("clang-format", path=str(Path(sys.executable).parent))
    if program is None:
        print(f"no clang-format beside {sys.executable}; pip install --editable .[dev] brings it", file=sys.stderr)
        return 1
    files = sys.argv[1:] or [str(file) for ending in ("cpp", "hpp") for file in sorted((ROOT / "csrc").rglob(f"*.{ending}"))]
    result = subprocess.run([program, "--style=file", "--dry-run", "--Werror", *files], check=False)
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    print(f"{len(files)} C++ files {'formatted' if result.returncode == 0 else 'checked; run clang-format -i'} ({version})")
    return result.returncode


if __name__ == "__main__":
    sys.exit(main())
