"""Which built-in tasks have their data on this machine. Nothing is read, nothing is fetched."""

from __future__ import annotations

from fedbench.errors import MissingDataError
from fedbench.tasks import fashion_mnist
from fedbench.tasks.a9a import A9A
from fedbench.tasks.cifar import CIFAR10, CIFAR100
from fedbench.tasks.files import data_root
from fedbench.tasks.stl10 import STL10

FOLDERS = {published.name: published for published in (A9A, CIFAR10, CIFAR100, STL10)}


def missing(task: str) -> str:
    """Where the data of a task were looked for in vain, and how to get them; empty if they are there or the task needs no files."""
    root = data_root()
    try:
        if task == fashion_mnist.NAME:
            fashion_mnist.locate((fashion_mnist.DEBIAN, fashion_mnist.raw_folder(root)))
        elif task in FOLDERS:
            FOLDERS[task].locate(root)
    except MissingDataError as error:
        return str(error)
    return ""
