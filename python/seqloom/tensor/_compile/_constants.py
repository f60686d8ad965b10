"""What a step may return that is no tensor: the same at every call, and safe to share."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, defaultdict
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from seqloom._key import Key
from seqloom.errors import CaptureError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_FIXED = (
    *(type(None), bool, int, float, complex, str, bytes, range, slice, type),
    *(np.generic, np.dtype, Enum, Key),
)


def constant(value: Any) -> Callable[[], Any]:
    """Gives a constant result at each call; what could be written is a copy.

    Args:
        value: What the step returned.

    Returns:
        A function that gives it.

    Raises:
        CaptureError: It may hold a tensor, or change after it was returned.
    """
    if isinstance(value, np.ndarray):
        return cast("Any", value).copy
    if not _is_fixed(value):
        raise CaptureError(
            f"a compiled step returned a {type(value).__name__}; it returns tensors, "
            "numbers, strings, keys, the modules and optimisers among its arguments, and "
            "dicts, lists and tuples of them"
        )
    return lambda: value


def _is_fixed(value: Any) -> bool:
    """Whether a value cannot change, nor hold what does."""
    if not isinstance(value, type) and dataclasses.is_dataclass(value):
        fields = (getattr(value, each.name) for each in dataclasses.fields(value))
        return _is_frozen(value) and all(map(_is_fixed, fields))
    if isinstance(value, (tuple, frozenset)):
        return all(map(_is_fixed, cast("Iterable[Any]", value)))
    return isinstance(value, _FIXED)


def _is_frozen(value: Any) -> bool:
    """Whether a dataclass refuses to be written."""
    return value.__dataclass_params__.frozen


def kind_of(value: dict[Any, Any]) -> Callable[[Any], dict[Any, Any]]:
    """Makes a dict of the same kind from pairs.

    Args:
        value: A dict, or one of the kinds of the standard library.

    Returns:
        What makes the like of it; a plain dict where the kind is another.
    """
    if isinstance(value, defaultdict):
        again: Any = partial(cast("Any", defaultdict), cast("Any", value).default_factory)
        return again
    return OrderedDict if isinstance(value, OrderedDict) else dict
