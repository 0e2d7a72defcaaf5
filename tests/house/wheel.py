"""What a user installs works. Usage: python tests/house/wheel.py [folder]; builds into the folder,
or a temporary one.

From a clean clone of HEAD: sdist, wheel from the clone, wheel from the sdist; what they hold; then
the sdist's wheel in a fresh environment, which borrows this one's dependencies, tried from outside
the source tree.
"""

from __future__ import annotations

import re
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NEEDED = ("CMakeLists.txt", "LICENSE", "README.md", "pyproject.toml")
UNWANTED = re.compile(r"(^|/)(__pycache__|\.git|\.venv)/|^(results|build|demo)/")


def run(*command: str | Path, cwd: Path | None = None) -> str:
    result = subprocess.run([str(part) for part in command], cwd=cwd, capture_output=True, text=True, check=False)
    if result.returncode:
        sys.exit(f"failed: {' '.join(map(str, command))}\n{result.stdout[-3000:]}{result.stderr[-3000:]}")
    return result.stdout


def build(folder: Path) -> tuple[Path, Path]:
    """(sdist, wheel from the sdist)."""
    clone, direct, again = folder / "clone", folder / "direct", folder / "again"
    run("git", "clone", "--quiet", "--no-hardlinks", ROOT, clone)
    run(sys.executable, "-m", "build", "--no-isolation", "--sdist", "--wheel", "--outdir", direct, clone)
    (sdist,) = direct.glob("*.tar.gz")
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", again, sdist)
    (wheel,), (other,) = again.glob("*.whl"), direct.glob("*.whl")
    names = [sorted(info.filename for info in zipfile.ZipFile(file).infolist()) for file in (wheel, other)]
    expect(names[0] == names[1], "the wheel from the sdist holds what the wheel from the clone holds")
    return sdist, wheel


def expect(ok: bool, what: str) -> None:
    print(f"{'ok' if ok else 'FAILED':<6} {what}")
    if not ok:
        sys.exit(1)


def inspect(sdist: Path, wheel: Path) -> None:
    with tarfile.open(sdist) as archive:
        source = {name.partition("/")[2] for name in archive.getnames()}
    package = set(zipfile.ZipFile(wheel).namelist())
    tracked = run("git", "ls-files", "fedbench", "csrc", cwd=ROOT).split()
    missing = [name for name in (*NEEDED, *tracked) if name not in source]
    expect(not missing, f"sdist has the package, the C++ and the build files {missing[:5] or ''}".rstrip())
    missing = [name for name in tracked if name.startswith("fedbench/") and name not in package]
    expect(not missing, f"wheel has every file of the package {missing[:5] or ''}".rstrip())
    for names, what in ((source, "sdist"), (package, "wheel")):
        found = [name for name in names if UNWANTED.search(f"{name}/")]
        expect(not found, f"{what} has no results and no caches {found[:3] or ''}".rstrip())
    expect(any(name.startswith("fedbench/_core") and name.endswith(".so") for name in package), "wheel has the extension")
    expect(not any(name.startswith(("csrc", "tests", "include", "lib")) for name in package), "wheel has the package only")
    print(f"       sdist {sdist.stat().st_size / 1e6:.2f} MB, wheel {wheel.stat().st_size / 1e6:.2f} MB")


def install(wheel: Path, folder: Path) -> Path:
    """A fresh environment with the wheel; its other packages are those of this one, through a .pth
    file. Returns its bin folder."""
    run(sys.executable, "-m", "venv", folder / "venv")
    python = folder / "venv/bin/python"
    run(python, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", wheel)
    site = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])").strip())
    borrowed = {sysconfig.get_paths()["purelib"], *(path for path in sys.path if path.endswith("site-packages"))}
    (site / "borrowed.pth").write_text("\n".join(sorted(borrowed)) + "\n")
    return folder / "venv/bin"


def smoke(place: Path, folder: Path) -> None:
    """From outside the source tree."""
    away = folder / "away"
    away.mkdir()
    where = run(place / "python", "-c", "import fedbench._core as c, fedbench; print(fedbench.__file__, c.__file__)", cwd=away)
    expect(all(str(folder / "venv") in path for path in where.split()), "package and extension come from the wheel")
    code = "import sys, fedbench.kernels as k; print('torch' in sys.modules, k.norm(__import__('numpy').array([3.0, 4.0])))"
    expect(run(place / "python", "-c", code, cwd=away).split() == ["False", "5.0"], "fedbench.kernels works without torch")
    expect("fedbuff" in run(place / "fedbench", "list", "algorithms", cwd=away), "fedbench list algorithms")
    expect(
        "Rests on suite map" in run(place / "fedbench", "advise", "digits-demo", cwd=away),
        "fedbench advise, from the map that it brings",
    )
    print(run(place / "python", ROOT / "tests/house/tried.py", cwd=away), end="")


def main(folder: Path) -> None:
    sdist, wheel = build(folder)
    inspect(sdist, wheel)
    smoke(install(wheel, folder), folder)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]).resolve())
    else:
        with tempfile.TemporaryDirectory() as temporary:
            main(Path(temporary))
