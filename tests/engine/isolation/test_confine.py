"""What a confined process can do: read what it is given, write into its folder, compute."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.engine.isolation.plugins import confined

pytestmark = confined
TRIES = {
    "reading what it is given": "open(sys.argv[1] + '/given/text').read()",
    "writing into its folder": "open(sys.argv[1] + '/own/text', 'w').write('x'); os.remove(sys.argv[1] + '/own/text')",
    "nothing at all": "open('/dev/null', 'w').write('x')",
}
REFUSED = {
    "reading elsewhere": "open(sys.argv[1] + '/text').read()",
    "listing elsewhere": "os.listdir(sys.argv[1])",
    "writing what it may read": "open(sys.argv[1] + '/given/text', 'a')",
    "writing elsewhere": "open(sys.argv[1] + '/new', 'w')",
    "removing": "os.remove(sys.argv[1] + '/text')",
    "moving": "os.rename(sys.argv[1] + '/own', sys.argv[1] + '/mine')",
    "linking": "os.link(sys.argv[1] + '/given/text', sys.argv[1] + '/own/link')",
    "memory of its parent": "open(f'/proc/{int(sys.argv[3])}/mem', 'r+b')",
    "a signal to its parent": "os.kill(int(sys.argv[3]), 0)",
    "another mode": "os.chmod(sys.argv[1] + '/text', 0o777)",
    "another time": "os.utime(sys.argv[1] + '/text')",
    "another owner": "os.chown(sys.argv[1] + '/text', 1, 1)",
    "an attribute": "os.setxattr(sys.argv[1] + '/text', 'user.x', b'1')",
    "a folder in its folder": "os.mkdir(sys.argv[1] + '/own/new')",
    "a link in its folder": "os.symlink(sys.argv[1], sys.argv[1] + '/own/new')",
    "a pipe in its folder": "os.mkfifo(sys.argv[1] + '/own/new')",
    "a socket": "socket.socket(socket.AF_UNIX)",
    "what is hidden": "open(sys.argv[1] + '/given/hidden/text').read()",
    "the network": "socket.create_connection(('127.0.0.1', int(sys.argv[2])), 2)",
}


def tried(folder: Path, code: str, port: int = 1) -> tuple[int, str]:
    program = (
        "import os, socket, sys\nfrom pathlib import Path\nfrom fedbench.engine.isolation.confine import confine\n"
        "folder = Path(sys.argv[1])\n"
        "libraries = [Path(sys.prefix), Path(sys.base_prefix), Path('/usr'), Path('/lib')]\n"
        "assert confine([folder / 'given', *libraries], folder / 'own', [folder / 'given' / 'hidden'])\n"
        f"{code}\nprint('done', flush=True)\n"
    )
    command = [sys.executable, "-c", program, str(folder), str(port), str(os.getpid())]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return done.stdout.count("done"), done.stderr


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> Path:
    for name in ("given", "own"):
        (tmp_path / name).mkdir()
    (tmp_path / "text").write_text("x")
    (tmp_path / "given" / "hidden").mkdir()
    for name in ("given/text", "given/hidden/text"):
        (tmp_path / name).write_text("x")
    return tmp_path


@pytest.mark.parametrize("what", TRIES)
def test_what_it_can_do(folder: Path, what: str) -> None:
    done, said = tried(folder, TRIES[what])
    assert done == 1, said


@pytest.mark.parametrize("what", REFUSED)
def test_what_it_cannot_do(folder: Path, what: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        done, said = tried(folder, REFUSED[what], server.getsockname()[1])
    assert done == 0
    assert "Error" in said.splitlines()[-1]
    assert (folder / "text").read_text() == "x"
    assert sorted(one.name for one in folder.iterdir()) == ["given", "own", "text"]
