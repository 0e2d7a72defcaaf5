"""Images by class: the same examples from a folder and from every kind of archive, and archives
that are made to do harm."""

from __future__ import annotations

import gzip
import io
import lzma
import os
import shutil
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import PIL.Image
import pytest

from fedbench import own_files
from fedbench.errors import UsageError
from fedbench.tasks import arrays, decoded
from fedbench.tasks.own import bounded
from fedbench.tasks.own.choice import Wanted
from fedbench.tasks.own.reading import parts

from . import reading_here
from .reading_here import read

RANDOM = np.random.default_rng(0)
PIXELS = {
    f"{part}/{label}/{number}.png": RANDOM.integers(0, 256, (4, 5, 3), np.uint8)
    for part, count in (("train", 3), ("test", 2))
    for label in ("dog", "Cat", "bee")
    for number in range(count)
}
WANTED = Wanted("label")


def write_folder(folder: Path, above: str = "", only: str = "") -> Path:
    root = folder / "mine"
    for name, pixels in PIXELS.items():
        if name.startswith(only):
            file = root / above / name.removeprefix(only)
            file.parent.mkdir(parents=True, exist_ok=True)
            PIL.Image.fromarray(pixels).save(file)
    return root


def write_archive(folder: Path, ending: str, above: str = "", only: str = "") -> Path:
    root = write_folder(folder / "unpacked", above, only)
    (root / "README.md").write_text("x")
    for name in (".DS_Store", "train/bee/Thumbs.db", "train/dog/desktop.ini", "__pycache__/x.pyc"):
        file = root / above / name.removeprefix(only)
        file.parent.mkdir(exist_ok=True)
        file.write_text("x")
    names = [str(file.relative_to(root)) for file in root.rglob("*")]
    RANDOM.shuffle(names)
    path = folder / f"mine{ending}"
    if ending == ".zip":
        with zipfile.ZipFile(path, "w") as packed:
            for name in names:
                packed.write(root / name, name)
    else:
        with tarfile.open(path, {".tar": "w", ".tar.xz": "w:xz"}.get(ending, "w:gz")) as packed:  # type: ignore[call-overload]
            for name in names:
                packed.add(root / name, name if above else f"./{name}", recursive=False)
    return path


ENDINGS = (".tar", ".tar.xz", ".tar.gz", ".tgz", ".zip")
WRITERS: list[Callable[..., Path]] = [
    write_folder,
    *((lambda folder, above="", only="", ending=ending: write_archive(folder, ending, above, only)) for ending in ENDINGS),
]


@pytest.mark.parametrize("write", WRITERS)
@pytest.mark.parametrize("above", ["", "top"])
def test_the_same_examples_from_everywhere(write: Callable[..., Path], above: str, tmp_path: Path) -> None:
    """Classes are in the order of their names, and so are the images of a class."""
    path = write(tmp_path, above)
    if path.is_dir() and above:
        path = path / above
    assert parts(path) == ["train", "test"]
    for part in ("train", "test"):
        names = sorted(name for name in PIXELS if name.startswith(part))
        found = read(path, part, WANTED)
        assert (found.features, found.labels.values) == (("image",), ["Cat", "bee", "dog"])
        assert [found.labels.values[code] for code in found.labels.codes] == [name.split("/")[1] for name in names]
        expected = np.stack([PIXELS[name].transpose(2, 0, 1) for name in names])
        assert np.array_equal(np.rint(found.x * 255), expected)
    if above == "" and path.suffix in (".xz", ""):
        assert bounded.parts(path) == ["train", "test"]
        assert np.array_equal(bounded.read(path, "test", WANTED).x, read(path, "test", WANTED).x)


@pytest.mark.parametrize("write", WRITERS)
def test_classes_without_parts_are_held_out(write: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays, "read", reading_here.read)
    monkeypatch.setattr(arrays, "parts", parts)
    path = write(tmp_path, only="train/")
    source = arrays.Source(name="file:mine", file=str(path), label="label", test_share=0.4)
    data = arrays.dataset(source)
    assert (len(data.train), np.bincount(data.test.y).tolist(), data.shape) == (6, [1, 1, 1], (3, 4, 5))


def test_a_data_set_is_decoded_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FEDBENCH_CACHE", str(tmp_path / "cache"))
    path = write_archive(tmp_path, ".zip")
    source = arrays.Source(name="file:mine", file=str(path), label="label")
    first = arrays.dataset(source)
    assert len(list((tmp_path / "cache").glob("*.bin"))) == 1
    monkeypatch.setattr(arrays, "read", None)
    moved = shutil.copy(path, tmp_path / "other.zip")
    again = arrays.dataset(arrays.Source(name="file:mine", file=str(moved), label="label"))
    assert np.array_equal(again.train.x, first.train.x)
    monkeypatch.setattr(decoded, "folder", lambda: None)
    with pytest.raises(TypeError):
        arrays.dataset(source)


def test_numbers_as_names_of_classes_are_in_their_order(tmp_path: Path) -> None:
    for label in ("10", "9"):
        (tmp_path / label).mkdir()
        PIL.Image.new("L", (2, 2)).save(tmp_path / label / "a.png")
    assert read(tmp_path, "train", WANTED).labels.values == [9, 10]


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["train/a/1.png", "val/a/1.png"], "expected the parts train and test, got train, val; name the folder of one part"),
        (["val/a/1.png", "val/b/1.png"], "expected the parts train and test, got val"),
        (["a/1.png", "train/b/1.png"], "expected images as class/image, or as train/class/image"),
        (["1.png"], "expected images as class/image"),
        (["a/b/c/d/1.png"], "expected images as class/image"),
        (["a/1.png", "a/notes\n.txt"], r"expected images in folders of classes, got a/notes\\n.txt"),
        ([], "expected images as class/image, .* got none"),
    ],
)
def test_parts_that_are_not_clear(names: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        own_files.by_part(Path("mine"), names)


def test_the_sum_of_a_folder_is_that_of_its_images(tmp_path: Path) -> None:
    folder = write_folder(tmp_path)
    before = own_files.sha256(folder)
    (folder / "README.md").write_text("x")
    (folder / "train" / ".DS_Store").write_text("x")
    assert own_files.sha256(folder) == before
    (folder / "train" / "dog" / "0.png").unlink()
    assert own_files.sha256(folder) != before


def tar_with(folder: Path, name: str, content: bytes = b"", **about: object) -> Path:
    with tarfile.open(folder / "mine.tar", "w") as packed:
        member = tarfile.TarInfo(name)
        member.size = len(content)
        for key, value in about.items():
            setattr(member, key, value)
        packed.addfile(member, io.BytesIO(content))
    return folder / "mine.tar"


def bomb(folder: Path, ending: str) -> Path:
    opened = lzma.open if ending == ".tar.xz" else gzip.open
    path = folder / f"mine{ending}"
    with opened(path, "wb") as out:
        for _ in range(300):
            out.write(bytes(1 << 20))
    return path


def zip_bomb(folder: Path) -> Path:
    with zipfile.ZipFile(folder / "mine.zip", "w", zipfile.ZIP_DEFLATED) as packed:
        for i in range(300):
            packed.writestr(f"a/{i}.png", bytes(1 << 20))
    return folder / "mine.zip"


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (lambda folder: bomb(folder, ".tar.xz"), "unpack to 135,266,304, expected at most 134,217,728"),
        (lambda folder: bomb(folder, ".tgz"), "unpack to 135,266,304, expected at most 134,217,728"),
        (zip_bomb, "unpack to 314,572,800, expected at most 134,217,728"),
        (
            lambda folder: tar_with(folder, "a/1.png", type=tarfile.SYMTYPE, linkname="/etc/passwd"),
            "got a/1.png, a link or a device",
        ),
        (lambda folder: tar_with(folder, "a/1.png", type=tarfile.LNKTYPE, linkname="b"), "got a/1.png, a link or a device"),
        (lambda folder: tar_with(folder, "a/1.png", type=tarfile.FIFOTYPE), "got a/1.png, a link or a device"),
        (lambda folder: tar_with(folder, "a/1.png", b"junk"), "column image, row 0 cannot be decoded as an image"),
        (lambda folder: tar_with(folder, "../../a\x1b/1.txt", b"junk"), "expected images as class/image"),
        (lambda folder: tar_with(folder, "a/1.txt", b"junk"), "expected images as class/image, .* got none"),
    ],
)
def test_archives_that_do_harm(write: Callable[[Path], Path], message: str, tmp_path: Path) -> None:
    path = write(tmp_path)
    before = sorted(os.listdir(tmp_path))
    with pytest.raises(UsageError, match=message) as error:
        read(path, "train", WANTED)
    assert str(error.value).isprintable()
    assert sorted(os.listdir(tmp_path)) == before


@pytest.mark.parametrize("ending", ENDINGS)
def test_damaged_archives(ending: str, tmp_path: Path) -> None:
    path = write_archive(tmp_path, ending)
    whole = path.read_bytes()
    for content in (whole[:100], b"", b"\x80\x04N.", bytes(20_000)):
        path.write_bytes(content)
        with pytest.raises(UsageError, match=r"mine.*: (cannot be read as an archive of images|expected images)"):
            read(path, "train", WANTED)
