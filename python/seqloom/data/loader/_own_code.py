"""Whether a batch runs a user's code, and whether it can be made as columns at once."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from seqloom.data.collate._collate import default_collate, unequal
from seqloom.data.collate._pad import PadCollator

if TYPE_CHECKING:
    from collections.abc import Mapping

_PLAIN = (list, tuple, range, str, bytes, int, float, complex, bool, type(None), np.ndarray)
# What a dataset does its work with; the rest of its attributes are numbers.
_PARTS = ("dataset", "source", "encoder", "augment")


def is_ours(thing: Any) -> bool:
    """Tells whether a dataset or a collator runs no code of a user."""
    if thing is None:
        return True
    if isinstance(thing, partial):
        return all(map(_is_our_part, (thing.func, *thing.args, *thing.keywords.values())))
    if not _module(thing).startswith("seqloom."):
        return False
    return all(is_ours(getattr(thing, name, None)) for name in _PARTS) and _has_our_parts(
        thing
    )


def is_plain(dataset: Any) -> bool:
    """Tells whether a dataset is a container of Python or NumPy that holds only data."""
    return type(dataset) in _PLAIN and (
        not isinstance(dataset, (list, tuple)) or not _holds_callables(dataset)
    )


def _holds_callables(items: Any) -> bool:
    """Tells whether the first item is more than data."""
    return any(callable(item) for item in items[:1])


def _has_our_parts(thing: Any) -> bool:
    """Looks at the fields of a configuration."""
    if not is_dataclass(thing) or isinstance(thing, type):
        return True
    values = (getattr(thing, field.name, None) for field in fields(thing))
    return all(map(_is_our_part, values))


def _is_our_part(value: Any) -> bool:
    """Judges one field: it is data, or our own code."""
    if type(value) in {list, tuple}:
        return all(map(_is_our_part, value))
    if callable(value) or hasattr(value, "batch"):
        return is_ours(value)
    return True


def _module(thing: Any) -> str:
    """Returns the module of a function, or of an object's class."""
    own = getattr(thing, "__module__", None) if callable(thing) else None
    return own or type(thing).__module__


class ColumnMaker(Protocol):
    """Makes of whole columns what a collator makes of single items."""

    @property
    def options(self) -> Mapping[str, Any]:
        """The options of the dataset's ``batch``."""
        ...

    def finish(self, batch: dict[str, Any], encoder: Any) -> dict[str, Any]:
        """Makes of the columns what the collator would make of the items."""
        ...


class _EqualLengths:
    """Columns of sequences of one length, as ``default_collate`` expects them."""

    options: Mapping[str, Any] = MappingProxyType({})

    def finish(self, batch: dict[str, Any], encoder: Any) -> dict[str, Any]:
        """Refuses padding, and drops the lengths."""
        del encoder
        lengths = batch.pop("lengths", None)  # genotypes have none: they are alike
        if "mask" in batch:
            raise unequal(lengths.min(), lengths.max())
        return batch


_EQUAL_LENGTHS = _EqualLengths()


def column_maker(encoder: Any, collate: Any) -> ColumnMaker | None:
    """Finds how a dataset with ``batch`` gives a batch as columns; None where it cannot."""
    if encoder is None:
        return None
    if collate is default_collate:
        return _EQUAL_LENGTHS
    # Encoder and collator must agree about the axis of positions.
    if type(collate) is PadCollator and collate.takes_columns(encoder):
        return collate
    return None


def with_encoder(collate: Any, encoder: Any) -> Any:
    """Gives a collator that pads the encoder, which knows the padding value."""
    if isinstance(collate, PadCollator) and collate.encoder is None:
        return replace(collate, encoder=encoder)
    return collate
