"""A program on a terminal of its own, 80 columns wide."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
from pathlib import Path


def on_a_terminal(command: list[str], cwd: Path) -> tuple[int, str]:
    """(exit code, what it wrote without the codes for colours and movements)."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")} | {
        "TERM": "xterm"
    }
    with subprocess.Popen(command, cwd=cwd, stdin=theirs, stdout=theirs, stderr=theirs, env=environment) as process:
        os.close(theirs)
        text = b"".join(_pieces(ours))
    os.close(ours)
    return process.returncode, re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text.decode())


def _pieces(terminal: int) -> list[bytes]:
    pieces = []
    while True:
        try:
            piece = os.read(terminal, 1 << 16)
        except OSError:  # nobody has it open any more
            return pieces
        if not piece:
            return pieces
        pieces.append(piece)
