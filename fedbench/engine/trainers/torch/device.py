"""Checks devices of torch other than the CPU, and holds the settings under which they add in a
fixed order."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from fedbench.errors import UsageError


def require(device: str) -> None:
    """Raises UsageError, with what torch reports, unless this machine has the device, cuda or
    cuda:N."""
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

    The settings are those of the process, and afterwards they are as before. The exception is
    CUBLAS_WORKSPACE_CONFIG: cuBLAS reads it once, so it is set for good, unless it has a value.
    """
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    strict, lenient = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    tf32 = torch.backends.cuda.matmul.allow_tf32
    with torch.backends.cudnn.flags(enabled=True, benchmark=False, deterministic=True, allow_tf32=False):
        try:
            torch.use_deterministic_algorithms(True)
            torch.backends.cuda.matmul.allow_tf32 = False
            yield
        finally:
            torch.use_deterministic_algorithms(strict, warn_only=lenient)
            torch.backends.cuda.matmul.allow_tf32 = tf32
