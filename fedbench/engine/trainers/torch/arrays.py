"""Arrays on a device with numpy's names, so that one algorithm, table and engine serve the server's
vectors on the CPU and on a GPU.

An operation is one operation of torch, in numpy's dtype and with its rounding: a Python float is
rounded to the array's dtype first, and nothing is contracted. So bits are those of numpy, but for
the sign and payload of a NaN. What is not in UFUNCS or FUNCTIONS is a TypeError that names it,
never a copy: `host` is the one way to the host's memory. Host arrays with axes do not mix with
arrays on a device.

All work is on the device's default stream, as that of the kernels.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from types import EllipsisType, SimpleNamespace
from typing import Any, NoReturn, Self, TypeGuard

import numpy as np
import numpy.typing as npt
import torch
from numpy.lib.mixins import NDArrayOperatorsMixin

from fedbench.types.arrays import Array, Kernels, OnDevice

UFUNCS: dict[np.ufunc, Callable[..., torch.Tensor]] = {
    np.add: torch.add,
    np.subtract: torch.sub,
    np.multiply: torch.mul,
    np.divide: torch.div,
    np.negative: torch.neg,
    np.isfinite: torch.isfinite,
}
TYPES = {np.dtype(name): getattr(torch, name) for name in ("float32", "float64", "int64", "bool")}
DTYPES = {real: dtype for dtype, real in TYPES.items()}


class TensorArray(NDArrayOperatorsMixin, OnDevice):
    """A tensor, with what of numpy's names algorithms and engine use. Views of a read-only array
    are read-only, as numpy's are."""

    def __init__(self, tensor: torch.Tensor, kernels: Kernels, *, writeable: bool = True) -> None:
        self.tensor, self.kernels, self.flags = tensor, kernels, SimpleNamespace(writeable=writeable)

    def like(self, tensor: torch.Tensor) -> Self:
        """Returns a new array over a tensor, for the kernels of this one."""
        return type(self)(tensor, self.kernels)

    # ---- what it is ----

    @property
    def dtype(self) -> np.dtype:
        return DTYPES[self.tensor.dtype]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.tensor.shape)

    @property
    def ndim(self) -> int:
        return self.tensor.ndim

    @property
    def size(self) -> int:
        return self.tensor.numel()

    @property
    def nbytes(self) -> int:
        return self.tensor.nbytes

    def __len__(self) -> int:
        return len(self.tensor)

    def __repr__(self) -> str:
        return f"TensorArray({self.dtype} {self.shape} on {self.tensor.device})"

    @property
    def __cuda_array_interface__(self) -> dict[str, object]:
        tensor = self.tensor
        strides = None if tensor.is_contiguous() else tuple(step * tensor.element_size() for step in tensor.stride())
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (tensor.data_ptr(), not self.flags.writeable),
            "strides": strides,
            "version": 3,
            "stream": None,  # the default stream, on which kernels run too
        }

    # ---- to the host ----

    def host(self) -> Array:
        return self.tensor.to("cpu", copy=True).numpy()

    def __float__(self) -> float:
        return float(self.host())

    def __array__(self, dtype: object = None, copy: object = None) -> NoReturn:
        raise TypeError(f"an array on a device is not copied to the host unasked: numpy wanted the numbers of {self!r}")

    def __bool__(self) -> NoReturn:
        raise TypeError(f"an array on a device is neither true nor false: {self!r}")

    # ---- parts and copies ----

    def __getitem__(self, index: object) -> Self:
        return type(self)(self.tensor[self._index(index)], self.kernels, writeable=self.flags.writeable)

    def __setitem__(self, index: object, value: object) -> None:
        self._check_writeable()
        self.tensor[self._index(index)] = self._operand(value, self.dtype)

    def __iter__(self) -> Iterator[Self]:
        return (self[i] for i in range(len(self)))

    def _index(self, index: object) -> Any:
        if isinstance(index, np.integer):
            return int(index)
        if isinstance(index, np.ndarray) and index.dtype.kind in "iu" and index.ndim == 1:
            return torch.from_numpy(index.astype(np.int64)).to(self.tensor.device)
        if isinstance(index, int | slice | EllipsisType):
            return index
        raise TypeError(f"an array on a device has no part [{index!r:.60}]: expected a number, a slice or whole numbers (n,)")

    def view(self) -> Self:
        return self[:]

    def copy(self) -> Self:
        return self.like(self.tensor.clone(memory_format=torch.contiguous_format))

    def astype(self, dtype: npt.DTypeLike) -> Self:
        return self.like(self.tensor.to(TYPES[np.dtype(dtype)], copy=True))

    def all(self) -> bool:
        return bool(self.tensor.all())

    # ---- numpy's functions ----

    def __array_ufunc__(
        self,
        ufunc: np.ufunc,
        method: str,
        *inputs: object,
        out: tuple[Any, ...] = (),
        dtype: npt.DTypeLike | None = None,
        **others: object,
    ) -> TensorArray:
        function = UFUNCS.get(ufunc)
        if function is None or method != "__call__" or others:
            raise _unknown(ufunc.__name__ + ("" if method == "__call__" else f".{method}"), UFUNCS)
        kinds: list[Any] = [
            value.dtype if isinstance(value, TensorArray | np.ndarray | np.generic) else value for value in inputs
        ]
        common = np.result_type(*kinds) if dtype is None else np.dtype(dtype)
        if common.kind != "f":
            raise TypeError(f"numpy.{ufunc.__name__}: expected floats on a device, got {' and '.join(map(str, kinds))}")
        made = function(*(self._operand(value, common) for value in inputs))
        if not out:
            return self.like(made)
        (target,) = out
        if (
            not isinstance(target, TensorArray)
            or target.shape != tuple(made.shape)
            or not np.can_cast(common, target.dtype, "safe")
        ):
            raise TypeError(
                f"numpy.{ufunc.__name__}: its result is {common} {tuple(made.shape)}, which {target!r:.80} cannot take"
            )
        target._check_writeable()
        target.tensor.copy_(made)
        return target

    def _operand(self, value: object, dtype: np.dtype) -> torch.Tensor:
        """Returns a tensor of the dtype: of a number one on the device, since torch multiplies by
        the reciprocal of one on the host."""
        if isinstance(value, TensorArray):
            return value.tensor.to(TYPES[dtype])
        if isinstance(value, int | float | np.number) or (isinstance(value, np.ndarray) and value.ndim == 0):
            with np.errstate(over="ignore"):
                number = dtype.type(value).item()
            return _kept(float(number).hex(), TYPES[dtype], self.tensor.device)
        kind = f"{value.dtype} {value.shape} on the host" if isinstance(value, np.ndarray) else type(value).__name__
        raise TypeError(f"arrays on a device go with arrays there and with numbers, got {kind}")

    def _check_writeable(self) -> None:
        if not self.flags.writeable:
            raise ValueError("assignment destination is read-only")

    def __array_function__(
        self, function: Callable[..., object], types: object, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> object:
        made = FUNCTIONS.get(function)
        if made is None:
            raise _unknown(function.__name__, FUNCTIONS)
        return made(*args, **kwargs)


@functools.lru_cache(1000)
def _kept(number: str, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    """Returns a number, in hexadecimal so that -0.0 is not 0.0, on the device. The rates of an
    algorithm are made there once."""
    return torch.full((), float.fromhex(number), dtype=dtype, device=device)


def is_tensor_array(value: object) -> TypeGuard[TensorArray]:
    return isinstance(value, TensorArray)


def _unknown(name: str, known: dict[Any, Any]) -> TypeError:
    names = ", ".join(one.__name__ for one in known)
    return TypeError(f"numpy.{name}: is not there for arrays on a device, which have {names}; leave out --device, or use those")


def _empty_like(
    prototype: TensorArray, dtype: npt.DTypeLike | None = None, shape: int | Sequence[int] | None = None
) -> TensorArray:
    lengths = prototype.shape if shape is None else (shape,) if isinstance(shape, int) else tuple(shape)
    kind = prototype.dtype if dtype is None else np.dtype(dtype)
    return prototype.like(torch.empty(lengths, dtype=TYPES[kind], device=prototype.tensor.device))


def _full_like(
    a: TensorArray, fill_value: float, dtype: npt.DTypeLike | None = None, shape: int | Sequence[int] | None = None
) -> TensorArray:
    made = _empty_like(a, dtype, shape)
    made[:] = fill_value
    return made


def _zeros_like(a: TensorArray, dtype: npt.DTypeLike | None = None, shape: int | Sequence[int] | None = None) -> TensorArray:
    return _full_like(a, 0.0, dtype, shape)


def _stack(arrays: Sequence[TensorArray]) -> TensorArray:
    if not all(isinstance(one, TensorArray) for one in arrays):
        raise TypeError("numpy.stack: arrays on a device go with arrays there only")
    return arrays[0].like(torch.stack([one.tensor for one in arrays]))


def _append(arr: TensorArray, values: object) -> TensorArray:
    return arr.like(torch.cat([arr.tensor, arr._operand(values, arr.dtype).reshape(-1)]))


def _array_equal(a1: object, a2: object) -> bool:
    return isinstance(a1, TensorArray) and isinstance(a2, TensorArray) and torch.equal(a1.tensor, a2.tensor)


FUNCTIONS: dict[Callable[..., object], Callable[..., object]] = {
    np.empty_like: _empty_like,
    np.zeros_like: _zeros_like,
    np.full_like: _full_like,
    np.stack: _stack,
    np.append: _append,
    np.array_equal: _array_equal,
}
