"""Columns of Arrow, which Parquet, the files of `datasets` and CSV become, as features or keys."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fedbench.errors import shown
from fedbench.tasks.own.columns import EMPTY, Codes, Floats, Place, Value
from fedbench.tasks.own.pictures import Pictures

TEXTS = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
BYTES = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view)
LISTS = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
NUMBERS = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean)


def is_one_of(kind: pa.DataType, kinds: Sequence[Callable[[pa.DataType], bool]]) -> bool:
    return any(is_kind(kind) for is_kind in kinds)


@dataclass(frozen=True)
class ArrowColumn:
    """A column that is an Arrow array. Lists of one length become a further dimension; images,
    which are bytes or {bytes, path}, become what `pictures` makes of them."""

    values: pa.Array
    place: Place
    pictures: Pictures | None = None

    def __len__(self) -> int:
        return len(self.values)

    def numbers(self) -> Floats:
        values, shape = self.values, [len(self.values)]
        while True:
            values = _plain(values)
            self._refuse_missing(values, shape)
            if not is_one_of(values.type, LISTS):
                break
            sizes = _sizes(values)
            if len(sizes) > 1:
                listed = ", ".join(map(str, sorted(sizes)[:5]))
                raise self.place.error(f"must hold lists of one length, got lengths {listed}")
            shape.append(sizes[0] if sizes else 0)
            values = values.flatten()
        if pa.types.is_struct(values.type) or is_one_of(values.type, BYTES):
            return self._decoded(values, shape)
        if pa.types.is_decimal(values.type):
            values = values.cast(pa.float64())
        if not is_one_of(values.type, NUMBERS):
            raise self.place.error(
                f"must be numbers, images or lists of one length of them, got {shown(values.type, 60)}; leave it out with "
                "task.features, or make numbers of it"
            )
        found = values.to_numpy(zero_copy_only=False).reshape(shape)
        with np.errstate(over="ignore"):  # what is too large becomes infinite, which is an error of its own
            return self.place.finite(np.ascontiguousarray(found, np.float32))

    def _refuse_missing(self, values: pa.Array, shape: Sequence[int]) -> None:
        """Names the row of the first value that is missing, or in whose list one is missing."""
        if values.null_count:
            inside = int(np.argmax(values.is_null().to_numpy(zero_copy_only=False)))
            raise self.place.error(EMPTY, inside // int(np.prod(shape[1:], dtype=np.int64)))

    def _decoded(self, values: pa.Array, shape: Sequence[int]) -> Floats:
        if pa.types.is_struct(values.type):
            names = [field.name for field in values.type]
            if "bytes" not in names or not is_one_of(values.type.field("bytes").type, (*BYTES, pa.types.is_null)):
                raise self.place.error(f"must be numbers, images or lists of one length of them, got {shown(values.type, 60)}")
            values = values.field("bytes")
            if values.null_count:
                raise self.place.error(
                    "has an image without its bytes, only with a path, which is not followed; save the images in the file",
                    int(np.argmax(values.is_null().to_numpy(zero_copy_only=False))),
                )
        if len(shape) > 1 or self.pictures is None:
            raise self.place.error("must have one image in a row, got lists of them")
        return self.pictures.decoded((one.as_buffer() for one in values), self.place)

    def keys(self) -> tuple[Sequence[Value], Codes]:
        values = self.values
        if isinstance(values, pa.ExtensionArray):
            values = values.storage
        kind = values.type.value_type if pa.types.is_dictionary(values.type) else values.type
        if not is_one_of(kind, (*TEXTS, *NUMBERS)):
            raise self.place.error(f"must be whole numbers or texts, got {shown(kind, 60)}")
        coded = values if pa.types.is_dictionary(values.type) else pc.dictionary_encode(values)
        if coded.null_count or coded.dictionary.null_count:
            empty = values.is_null().to_numpy(zero_copy_only=False)
            raise self.place.error(EMPTY, int(np.argmax(empty)))
        codes = coded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        used, codes = np.unique(codes, return_inverse=True)  # a dictionary may hold values that no row has
        try:
            return [coded.dictionary[int(i)].as_py() for i in used], codes
        except UnicodeDecodeError:
            raise self.place.error("must be texts in UTF-8, got other bytes") from None


def _plain(values: pa.Array) -> pa.Array:
    """Returns an array without an extension type around it, and without a dictionary."""
    if isinstance(values, pa.ExtensionArray):
        return _plain(values.storage)
    return _plain(values.dictionary_decode()) if pa.types.is_dictionary(values.type) else values


def _sizes(values: pa.Array) -> list[int]:
    if pa.types.is_fixed_size_list(values.type):
        return [values.type.list_size]
    return list(pc.unique(pc.list_value_length(values)).to_pylist())
