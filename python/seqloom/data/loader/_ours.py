"""Whose code makes a batch: ours, which threads serve, or a user's."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from functools import partial
from typing import Any

import numpy as np

_PLAIN = (list, tuple, range, str, bytes, int, float, complex, bool, type(None), np.ndarray)
# What a dataset does its work with; the rest of what it holds is numbers.
_PARTS = ("dataset", "encoder", "augment")


def is_ours(thing: Any) -> bool:
    """Tells whether a dataset or a collator runs none of a user's code."""
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
    """Tells whether a dataset is no more than Python's or NumPy's own container."""
    return type(dataset) in _PLAIN and (
        not isinstance(dataset, (list, tuple)) or not _holds_callables(dataset)
    )


def _holds_callables(items: Any) -> bool:
    """Looks whether the first of several items is more than data."""
    return any(callable(item) for item in items[:1])


def _has_our_parts(thing: Any) -> bool:
    """Looks into what a configuration is composed of."""
    if not is_dataclass(thing) or isinstance(thing, type):
        return True
    values = (getattr(thing, field.name, None) for field in fields(thing))
    return all(map(_is_our_part, values))


def _is_our_part(value: Any) -> bool:
    """Judges one field: data, or ours again."""
    if type(value) in {list, tuple}:
        return all(map(_is_our_part, value))
    if callable(value) or hasattr(value, "batch"):
        return is_ours(value)
    return True


def _module(thing: Any) -> str:
    """Names the module of a function, or of an object's class."""
    own = getattr(thing, "__module__", None) if callable(thing) else None
    return own or type(thing).__module__
