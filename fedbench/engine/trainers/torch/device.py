"""Checks devices of torch other than the CPU, and holds the settings under which they add in a
fixed order."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from fedbench.errors import UsageError

WORKSPACE, FIXED = "CUBLAS_WORKSPACE_CONFIG", (":4096:8", ":16:8")
"""The variable that says how much memory cuBLAS works in, and the values with which it adds in a
fixed order. torch reads it once, before its first product on a GPU."""

os.environ.setdefault(WORKSPACE, FIXED[0])


def require(device: str) -> None:
    """Raises UsageError, with what torch reports, unless this machine has the device, cuda or
    cuda:N, and cuBLAS adds in a fixed order there."""
    workspace = os.environ.get(WORKSPACE, FIXED[0])
    if workspace not in FIXED:
        raise UsageError(
            f"device {device}: {WORKSPACE}={workspace} lets cuBLAS add in any order; unset it, or set it to {FIXED[0]}"
        )
    if not torch.cuda.is_available():
        built = f"built with CUDA {torch.version.cuda}" if torch.version.cuda else "built without CUDA"
        raise UsageError(
            f"device {device}: not on this machine: torch {torch.__version__} is {built}, torch.cuda.is_available() is False"
        )
    index, count = torch.device(device).index or 0, torch.cuda.device_count()
    if index >= count:
        raise UsageError(
            f"device {device}: not on this machine: torch.cuda.device_count() is {count}, so the last is cuda:{count - 1}"
        )


def name_of(device: str) -> str:
    """Returns the name of a GPU."""
    return torch.cuda.get_device_name(device)


@contextmanager
def deterministic() -> Iterator[None]:
    """Makes torch deterministic inside the context: operations that add in no fixed order are
    refused, cuDNN chooses kernels without trying them out, and nothing is rounded to TF32.

    The settings are those of the process, and afterwards they are as before. New tensors are not
    filled: whoever makes one here writes all of it.

    Raises UsageError where torch refuses a product, since it was asked for one on a GPU before this
    module was imported, without the variable.
    """
    strict, lenient = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    tf32 = torch.backends.cuda.matmul.allow_tf32
    new: Any = torch.utils.deterministic  # a property, which torch's types do not have
    fills = new.fill_uninitialized_memory
    with torch.backends.cudnn.flags(enabled=True, benchmark=False, deterministic=True, allow_tf32=False):
        try:
            torch.use_deterministic_algorithms(True)
            torch.backends.cuda.matmul.allow_tf32 = False
            new.fill_uninitialized_memory = False
            yield
        except Exception as error:
            if WORKSPACE not in str(error):
                raise
            raise UsageError(
                f"device cuda: torch made a product on the GPU before fedbench could set {WORKSPACE}, which it reads once; "
                f"start Python again with {WORKSPACE}={FIXED[0]} in its environment"
            ) from error
        finally:
            torch.use_deterministic_algorithms(strict, warn_only=lenient)
            torch.backends.cuda.matmul.allow_tf32 = tf32
            new.fill_uninitialized_memory = fills
