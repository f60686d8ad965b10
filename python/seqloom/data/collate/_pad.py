"""`PadCollator`, which pads items of unequal length."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from seqloom._arguments import as_choice, quote
from seqloom._threads import supports_threads
from seqloom.data._encoder import padding_mask
from seqloom.data._position import check_integer
from seqloom.data.collate._collate import check_items, default_collate, is_tensor
from seqloom.data.collate._output import choose_converter
from seqloom.errors import ArgumentError, ShapeError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_INPUTS_KEY = "inputs"
_MAX_NUMPY_AXES = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class PadCollator:
    """Collates items of unequal length into a padded batch with a mask.

    The batch has the keys that ``default_collate`` returns, ``lengths``, and a ``mask``
    (items, positions), which is 1 at residues and 0 in padding. If the lengths of another
    padded key differ from those of ``inputs``, the batch also has ``KEY_mask`` and
    ``KEY_lengths``.

    Args:
        length: The number of positions in the batch; None pads to the longest item.
        value: The padding value; None uses the ``pad_value`` of the encoder (``encoder``,
            or the dataset's encoder in a ``DataLoader``), or 0 without an encoder. Rows of
            integers, such as tokens, require ``value`` or an encoder, because 0 may be a
            token.
        multiple: The number of positions is rounded up to a multiple of ``multiple``.
        side: The end at which items are padded: ``"right"`` or ``"left"``.
        axis: The axis of positions in an item's ``inputs``: -1, or 0 for channels last.
        keys: The keys to pad: ``inputs``, and others such as qualities.
        encoder: The encoder that provides ``pad_value``.
        output: ``"numpy"``, or ``"torch"`` for tensors that share the memory, for use with
            PyTorch loaders.

    Raises:
        ArgumentError: An argument is invalid. Calling the collator raises if the padding
            value of tokens is unknown or does not fit their dtype.

    Examples:
        >>> items = [{"inputs": np.ones((4, 2))}, {"inputs": np.ones((4, 3))}]
        >>> batch = PadCollator()(items)
        >>> batch["inputs"].shape, batch["mask"].tolist(), batch["lengths"].tolist()
        ((2, 4, 3), [[1.0, 1.0, 0.0], [1.0, 1.0, 1.0]], [2, 3])
    """

    length: int | None = None
    value: float | None = None
    multiple: int = 1
    side: Literal["right", "left"] = "right"
    axis: int = -1
    keys: tuple[str, ...] = (_INPUTS_KEY,)
    encoder: Any = None
    output: Literal["numpy", "torch"] = "numpy"

    def __post_init__(self) -> None:
        check_integer("multiple", self.multiple, least=1)
        if self.length is not None:
            check_integer("length", self.length, least=1)
        as_choice("side", self.side, ("right", "left"))
        check_integer("axis", self.axis, least=-_MAX_NUMPY_AXES, most=_MAX_NUMPY_AXES - 1)
        if self.value is not None and not isinstance(self.value, Real):
            raise ArgumentError(f"value must be a number or None, got {quote(self.value)}")
        keys: Any = self.keys
        if not isinstance(keys, (tuple, list)) or set(map(type, keys)) != {str}:  # pyright: ignore[reportUnknownArgumentType]
            raise ArgumentError(
                f"keys must be the names of the keys to pad, got {quote(self.keys)}"
            )
        choose_converter(self.output)

    def __call__(self, items: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """Collate items into a padded batch.

        Args:
            items: Dicts with ``inputs``.

        Returns:
            The batch.

        Raises:
            ArgumentError: There are no items, or an item lacks a key to pad.
            ShapeError: An item is longer than ``length``, or items differ along another
                axis.

        Examples:
            >>> PadCollator(length=4)([{"inputs": np.ones(3)}])["inputs"].tolist()
            [[1.0, 1.0, 1.0, 0.0]]
        """
        check_items(items)
        padded = [dict(item) for item in items]
        extents: dict[str, Any] = {}
        for key in self.keys:
            extent = self._pad_key(padded, key)
            extents |= _key_extent(key, extent, extents)
        return choose_converter(self.output)(default_collate(padded) | extents)

    @property
    def supports_threads(self) -> bool:
        """True if threads may share the encoder."""
        return supports_threads(self.encoder)

    def columns(self, dataset: Any, indices: NDArray[np.int64]) -> dict[str, Any]:
        """Return the batch of some records of a dataset, without creating items.

        Args:
            dataset: A ``SequenceDataset`` with an encoder, or a subset of one.
            indices: Indices of the records.

        Returns:
            The batch that collating the items would return.

        Examples:
            >>> from pathlib import Path
            >>> from seqloom.data import SequenceDataset
            >>> from seqloom.encode import OneHot
            >>> _ = Path("a.fa").write_text(">x\\nACGT\\n>y\\nGG\\n")
            >>> data = SequenceDataset("a.fa", encoder=OneHot("dna"))
            >>> PadCollator().columns(data, np.arange(2))["mask"].sum()
            np.float32(6.0)
        """
        encoder = getattr(dataset, "encoder", None)
        return self.finish(dataset.batch(indices, **self.options), encoder)

    @property
    def options(self) -> dict[str, Any]:
        """Keyword arguments for the ``batch`` method of a dataset."""
        return {"length": self.length, "multiple": self.multiple}

    def finish(self, batch: dict[str, Any], encoder: Any) -> dict[str, Any]:
        """Convert the padding of a dataset's batch to that of this collator.

        Args:
            batch: A batch from the dataset's ``batch(**options)``.
            encoder: The encoder of the dataset.

        Returns:
            The batch that collating the items would return.

        Examples:
            >>> from pathlib import Path
            >>> from seqloom.data import SequenceDataset
            >>> from seqloom.encode import OneHot
            >>> _ = Path("a.fa").write_text(">x\\nACGT\\n>y\\nGG\\n")
            >>> data = SequenceDataset("a.fa", encoder=OneHot("dna"))
            >>> left = PadCollator(side="left")
            >>> left.finish(data.batch([0, 1]), data.encoder)["mask"].tolist()[1]
            [0.0, 0.0, 1.0, 1.0]
        """
        inputs, lengths = batch[_INPUTS_KEY], batch.pop("lengths")
        batch.pop("mask", None)
        axis = self._batch_axis(inputs)
        extent = self._make_mask(lengths, inputs.shape[axis])
        self._replace_padding(_move_positions_first(inputs, axis), extent, encoder)
        return choose_converter(self.output)(batch | extent)

    def takes_columns(self, encoder: Any) -> bool:
        """Return whether the method ``columns`` supports the output of an encoder.

        Args:
            encoder: The encoder of the dataset.

        Returns:
            True if only ``inputs`` are padded, along the encoder's axis of positions.

        Examples:
            >>> from seqloom.encode import OneHot
            >>> PadCollator(axis=0).takes_columns(OneHot("dna"))
            False
        """
        is_inputs_only = self.keys == (_INPUTS_KEY,)
        if not hasattr(encoder, "channels"):
            return False
        if encoder.channels is None:
            return is_inputs_only and self.axis in {0, -1}
        return is_inputs_only and self.axis % 2 == int(encoder.channels == "first")

    def _pad_key(self, items: list[dict[str, Any]], key: str) -> dict[str, Any]:
        """Pad the values of one key; return their lengths and mask."""
        if any(key not in item for item in items):
            raise ArgumentError(
                f"an item lacks the key {key!r}; it has {', '.join(map(str, items[0]))}"
            )
        arrays = [_as_array(item[key]) for item in items]
        lengths = np.array([array.shape[self.axis] for array in arrays], np.int64)
        positions = self._padded_length(int(lengths.max()))
        if key == _INPUTS_KEY and (lengths != positions).any():
            self._check_tokens(arrays[0])
        for item, array in zip(items, arrays, strict=True):
            item[key] = self._pad_item(array, positions)
        return self._make_mask(lengths, positions)

    def _padded_length(self, longest: int) -> int:
        if self.length is None:
            return -(-longest // self.multiple) * self.multiple
        if longest > self.length:
            raise ShapeError(
                f"an item has {longest:,} positions, more than length={self.length:,}; "
                "crop it (sl.augment.Crop) or pass a longer length"
            )
        return self.length

    def _pad_item(self, inputs: Any, positions: int) -> Any:
        axis = self.axis % inputs.ndim
        shape, where = list(inputs.shape), [slice(None)] * inputs.ndim
        start = positions - shape[axis] if self.side == "left" else 0
        where[axis] = slice(start, start + shape[axis])
        shape[axis] = positions
        padded = _allocate_filled(inputs, shape, self._padding_value(self.encoder, inputs))
        padded[tuple(where)] = inputs
        return padded

    def _padding_value(self, encoder: Any, inputs: Any) -> float:
        """Return the padding value; raise if it does not fit the dtype of the inputs."""
        known = encoder if self.encoder is None else self.encoder
        value = getattr(known, "pad_value", 0) if self.value is None else self.value
        _check_value_fits(value, inputs)
        return value

    def _check_tokens(self, inputs: Any) -> None:
        """Raise if tokens must be padded and the padding value is unknown."""
        is_known = self.value is not None or self.encoder is not None
        if not is_known and inputs.ndim == 1 and _has_integer_type(inputs):
            raise ArgumentError(
                "the padding value of integers is unknown, because 0 may be a token: "
                "pass PadCollator(encoder=dataset.encoder) or PadCollator(value=...)"
            )

    def _batch_axis(self, inputs: NDArray[Any]) -> int:
        return self.axis % (inputs.ndim - 1) + 1

    def _replace_padding(self, rows: Any, extent: dict[str, Any], encoder: Any) -> None:
        """Move the padding of a batch to the chosen end, and set the padding value."""
        is_padding, value = extent["mask"] == 0, self._padding_value(encoder, rows)
        if not is_padding.any():
            return
        if self.side == "left":
            for row, length in zip(rows, extent["lengths"].tolist(), strict=True):
                row[row.shape[0] - length :] = _copy_array(row[:length])
        if self.side == "left" or value != getattr(encoder, "pad_value", 0):
            rows[is_padding] = value

    def _make_mask(self, lengths: NDArray[np.int64], positions: int) -> dict[str, Any]:
        mask = padding_mask(lengths, positions)
        if self.side == "left":
            mask = np.ascontiguousarray(mask[:, ::-1])
        return {"lengths": lengths, "mask": mask}


def _key_extent(key: str, extent: dict[str, Any], known: dict[str, Any]) -> dict[str, Any]:
    """Return lengths and mask of another key; empty if equal to those of ``inputs``."""
    if not known:
        return extent
    same = np.array_equal(extent["mask"], known["mask"])
    return {} if same else {f"{key}_{name}": value for name, value in extent.items()}


def _as_array(thing: Any) -> Any:
    """Return a value as an array; tensors are unchanged, bytes become numbers."""
    if is_tensor(thing):
        return thing
    return np.frombuffer(thing, np.uint8) if isinstance(thing, bytes) else np.asarray(thing)


def _allocate_filled(like: Any, shape: list[int], value: float) -> Any:
    return (
        like.new_full(shape, value)
        if is_tensor(like)
        else np.full(shape, value, like.dtype)
    )


def _check_value_fits(value: float, array: Any) -> None:
    """Raise if the padding value does not fit the dtype of an array."""
    dtype = _numpy_dtype(array) if _has_integer_type(array) else None
    if dtype is None or dtype.kind == "b":
        return
    limits = np.iinfo(dtype)
    if value % 1 != 0 or not limits.min <= value <= limits.max:
        raise ArgumentError(
            f"the padding value {value} does not fit the dtype {dtype} (integers from "
            f"{limits.min:,} to {limits.max:,}): pass PadCollator another value, or the "
            "encoder another dtype"
        )


def _numpy_dtype(array: Any) -> np.dtype[Any]:
    dtype = array.dtype
    return np.dtype(str(dtype).removeprefix("torch.")) if is_tensor(array) else dtype


def _has_integer_type(array: Any) -> bool:
    if is_tensor(array):
        return not (array.is_floating_point() or array.is_complex())
    return array.dtype.kind in "iu"


def _copy_array(array: Any) -> Any:
    return array.clone() if is_tensor(array) else array.copy()


def _move_positions_first(batch: Any, axis: int) -> Any:
    """Return a view of a batch with positions as its second axis."""
    return batch.movedim(axis, 1) if is_tensor(batch) else np.moveaxis(batch, axis, 1)
