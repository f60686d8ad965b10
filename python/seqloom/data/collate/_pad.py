"""Sequences of unequal length in one batch."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from seqloom._arguments import as_choice, quote
from seqloom._threads import supports_threads
from seqloom.data._encoder import mask_of
from seqloom.data._position import check_integer
from seqloom.data.collate._collate import check_items, default_collate, is_tensor
from seqloom.data.collate._output import converter
from seqloom.errors import ArgumentError, ShapeError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_INPUTS = "inputs"
_MOST_AXES = 64  # of an array of NumPy


@dataclass(frozen=True, slots=True, kw_only=True)
class PadCollator:
    """Puts items of unequal length together, and marks what is padding.

    The batch has ``mask`` (items, positions), 1 where a letter is, and ``lengths``, beside
    what ``default_collate`` gives. A further key whose lengths differ from the first one's
    has ``KEY_mask`` and ``KEY_lengths`` of its own.

    Args:
        length: Positions in the batch; None takes its longest item.
        value: What padding holds; None takes the encoder's ``pad_value`` where an encoder
            is known (``encoder``, or the dataset's where our ``DataLoader`` makes the
            batch), otherwise 0. ``inputs`` that are rows of integers, such as tokens,
            need one of these, because 0 may be a token.
        multiple: The longest item is rounded up to a multiple of this.
        side: Where padding stands: ``"right"`` of the letters, or ``"left"``.
        axis: The axis of positions in an item's ``inputs``: -1, or 0 for channels last.
        keys: What is padded: ``inputs``, or several, such as qualities beside them.
        encoder: What made the inputs, for its ``pad_value``.
        output: ``"numpy"``, or ``"torch"`` for tensors of the same memory, where PyTorch's
            own loader or a trainer calls it.

    Raises:
        ArgumentError: A length or a multiple below 1, another side or output, or no key;
            when called: tokens need padding, and what it holds is not known, or is no
            number of their type.

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
    keys: tuple[str, ...] = (_INPUTS,)
    encoder: Any = None
    output: Literal["numpy", "torch"] = "numpy"

    def __post_init__(self) -> None:
        check_integer("multiple", self.multiple, least=1)
        if self.length is not None:
            check_integer("length", self.length, least=1)
        as_choice("side", self.side, ("right", "left"))
        check_integer("axis", self.axis, least=-_MOST_AXES, most=_MOST_AXES - 1)
        if self.value is not None and not isinstance(self.value, Real):
            raise ArgumentError(f"value must be a number or None, got {quote(self.value)}")
        keys: Any = self.keys
        if not isinstance(keys, (tuple, list)) or set(map(type, keys)) != {str}:  # pyright: ignore[reportUnknownArgumentType]
            raise ArgumentError(
                f"keys must be the names of what is padded, got {quote(self.keys)}"
            )
        converter(self.output)

    def __call__(self, items: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """Put items together.

        Args:
            items: Dicts with ``inputs``.

        Returns:
            The batch.

        Raises:
            ArgumentError: There is no item, or one lacks what is padded.
            ShapeError: An item is longer than ``length``, or items differ elsewhere too.

        Examples:
            >>> PadCollator(length=4)([{"inputs": np.ones(3)}])["inputs"].tolist()
            [[1.0, 1.0, 1.0, 0.0]]
        """
        check_items(items)
        padded = [dict(item) for item in items]
        extents: dict[str, Any] = {}
        for key in self.keys:
            extent = self._pad_key(padded, key)
            extents |= _name_positions(key, extent, extents)
        return converter(self.output)(default_collate(padded) | extents)

    @property
    def supports_threads(self) -> bool:
        """Whether threads may share the encoder."""
        return supports_threads(self.encoder)

    def columns(self, dataset: Any, indices: NDArray[np.int64]) -> dict[str, Any]:
        """Fetch the same batch from a dataset at once, without a Python object an item.

        Args:
            dataset: A ``SequenceDataset`` with an encoder, or a part of one.
            indices: Which sequences.

        Returns:
            What calling the collator on the items would give.

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
        """What a dataset's ``batch`` must be told."""
        return {"length": self.length, "multiple": self.multiple}

    def finish(self, batch: dict[str, Any], encoder: Any) -> dict[str, Any]:
        """Put the padding of a dataset's columns where this collator wants it.

        Args:
            batch: What the dataset's ``batch`` gave, told the ``options``.
            encoder: The dataset's.

        Returns:
            What calling the collator on the items would give.

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
        inputs, lengths = batch[_INPUTS], batch.pop("lengths")
        batch.pop("mask", None)
        axis = self._batch_axis(inputs)
        extent = self._extent(lengths, inputs.shape[axis])
        self._fill(_positions_first(inputs, axis), extent, encoder)
        return converter(self.output)(batch | extent)

    def takes_columns(self, encoder: Any) -> bool:
        """Tell whether ``columns`` gives what the items would, for this encoder's output.

        Args:
            encoder: What makes the dataset's inputs.

        Returns:
            Whether nothing but inputs is padded, along the encoder's axis of positions.

        Examples:
            >>> from seqloom.encode import OneHot
            >>> PadCollator(axis=0).takes_columns(OneHot("dna"))
            False
        """
        alone = self.keys == (_INPUTS,)
        if not hasattr(encoder, "channels"):
            return False
        if encoder.channels is None:
            return alone and self.axis in {0, -1}
        return alone and self.axis % 2 == int(encoder.channels == "first")

    def _pad_key(self, items: list[dict[str, Any]], key: str) -> dict[str, Any]:
        """Pad what all items have under one key; says where letters stand."""
        if any(key not in item for item in items):
            raise ArgumentError(
                f"an item has no {key!r} to pad; it has {', '.join(map(str, items[0]))}"
            )
        arrays = [_as_array(item[key]) for item in items]
        lengths = np.array([array.shape[self.axis] for array in arrays], np.int64)
        positions = self._positions(int(lengths.max()))
        if key == _INPUTS and (lengths != positions).any():
            self._check_tokens(arrays[0])
        for item, array in zip(items, arrays, strict=True):
            item[key] = self._pad_item(array, positions)
        return self._extent(lengths, positions)

    def _positions(self, longest: int) -> int:
        """Decide how many positions the batch has."""
        if self.length is None:
            return -(-longest // self.multiple) * self.multiple
        if longest > self.length:
            raise ShapeError(
                f"an item has {longest:,} positions, more than length={self.length:,}; "
                "crop it (sl.augment.Crop) or pass a longer length"
            )
        return self.length

    def _pad_item(self, inputs: Any, positions: int) -> Any:
        """Lengthen one item; a tensor stays one."""
        axis = self.axis % inputs.ndim
        shape, where = list(inputs.shape), [slice(None)] * inputs.ndim
        start = positions - shape[axis] if self.side == "left" else 0
        where[axis] = slice(start, start + shape[axis])
        shape[axis] = positions
        padded = _full(inputs, shape, self._value(self.encoder, inputs))
        padded[tuple(where)] = inputs
        return padded

    def _value(self, encoder: Any, inputs: Any) -> float:
        """Decide what padding holds, which must be a number of the inputs' type."""
        known = encoder if self.encoder is None else self.encoder
        value = getattr(known, "pad_value", 0) if self.value is None else self.value
        _check_fits(value, inputs)
        return value

    def _check_tokens(self, inputs: Any) -> None:
        """Refuse to guess what pads tokens."""
        is_known = self.value is not None or self.encoder is not None
        if not is_known and inputs.ndim == 1 and _is_whole(inputs):
            raise ArgumentError(
                "the padding value of integers is unknown, because 0 may be a token: "
                "pass PadCollator(encoder=dataset.encoder) or PadCollator(value=...)"
            )

    def _batch_axis(self, inputs: NDArray[Any]) -> int:
        """Find the axis of positions in a batch's inputs."""
        return self.axis % (inputs.ndim - 1) + 1

    def _fill(self, rows: Any, extent: dict[str, Any], encoder: Any) -> None:
        """Put the padding of a batch on its side, and our value into it."""
        is_padding, value = extent["mask"] == 0, self._value(encoder, rows)
        if not is_padding.any():
            return
        if self.side == "left":
            for row, length in zip(rows, extent["lengths"].tolist(), strict=True):
                row[row.shape[0] - length :] = _copy_array(row[:length])
        if self.side == "left" or value != getattr(encoder, "pad_value", 0):
            rows[is_padding] = value

    def _extent(self, lengths: NDArray[np.int64], positions: int) -> dict[str, Any]:
        """Say where letters stand."""
        mask = mask_of(lengths, positions)
        if self.side == "left":
            mask = np.ascontiguousarray(mask[:, ::-1])
        return {"lengths": lengths, "mask": mask}


def _name_positions(
    key: str, extent: dict[str, Any], known: dict[str, Any]
) -> dict[str, Any]:
    """Name where letters of a further key stand, unless the first's stand there."""
    if not known:
        return extent
    same = np.array_equal(extent["mask"], known["mask"])
    return {} if same else {f"{key}_{name}": value for name, value in extent.items()}


def _as_array(thing: Any) -> Any:
    """Take what an item holds as an array; a tensor stays one, bytes are numbers."""
    if is_tensor(thing):
        return thing
    return np.frombuffer(thing, np.uint8) if isinstance(thing, bytes) else np.asarray(thing)


def _full(like: Any, shape: list[int], value: float) -> Any:
    """Make an array, or a tensor, of one value."""
    return (
        like.new_full(shape, value)
        if is_tensor(like)
        else np.full(shape, value, like.dtype)
    )


def _check_fits(value: float, array: Any) -> None:
    """Refuse padding that is no number of an array's type: it would be another one."""
    dtype = _numpy_type(array) if _is_whole(array) else None
    if dtype is None or dtype.kind == "b":
        return
    limits = np.iinfo(dtype)
    if value % 1 != 0 or not limits.min <= value <= limits.max:
        raise ArgumentError(
            f"padding={value} cannot be stored as {dtype} (integers from "
            f"{limits.min:,} to {limits.max:,}): pass PadCollator another value, or the "
            "encoder another dtype"
        )


def _numpy_type(array: Any) -> np.dtype[Any]:
    """Return the type of an array's numbers, or NumPy's of the same name as a tensor's."""
    dtype = array.dtype
    return np.dtype(str(dtype).removeprefix("torch.")) if is_tensor(array) else dtype


def _is_whole(array: Any) -> bool:
    """Tell whether an array or a tensor holds integers."""
    if is_tensor(array):
        return not (array.is_floating_point() or array.is_complex())
    return array.dtype.kind in "iu"


def _copy_array(array: Any) -> Any:
    """Copy an array or a tensor."""
    return array.clone() if is_tensor(array) else array.copy()


def _positions_first(batch: Any, axis: int) -> Any:
    """Show a batch with its positions as second axis."""
    return batch.movedim(axis, 1) if is_tensor(batch) else np.moveaxis(batch, axis, 1)
