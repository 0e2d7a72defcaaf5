"""The command line as a real process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def fedbench(*arguments: str, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from fedbench.cli.main import main; main()", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=300, cwd=cwd, env={**os.environ, **environment}, check=False
    )
