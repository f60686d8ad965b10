"""Describes everything of a module but its arrays: this selects the program of a step."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from seqloom.nn._stored import Buffer, Param, Stored
from seqloom.tensor._leaves import freeze

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from seqloom.tensor._leaves import HasLeaves, Leaf

    Describe = Callable[[Any, list[Leaf]], object]

_PLAIN = frozenset({int, float, str, bool, type(None)})
# To compare an array at each call takes time; a larger one is better a `Buffer`.
_MOST_BYTES = 1 << 20


def describe_fields(fields: Mapping[str, object], leaves: list[Leaf]) -> list[object]:
    """Describes the fields of a module, hashable; adds its arrays to `leaves`."""
    return [
        (name, _describe(value, leaves))
        for name, value in fields.items()
        if name != "training"
    ]


def _describe(value: object, leaves: list[Leaf]) -> object:
    """Describes a field."""
    kind = cast("type[Any]", type(value))
    if kind in _PLAIN:
        return (kind, value)
    return (_DESCRIBE.get(kind) or _find_describe(kind))(value, leaves)


def _describe_stored(value: Stored, leaves: list[Leaf]) -> object:
    """Describes a parameter or buffer."""
    leaves.append(value)
    return value.static


def _describe_holder(value: HasLeaves, leaves: list[Leaf]) -> object:
    """Describes a module, or another object with leaves."""
    static, own = value.leaves()
    leaves += own
    return static


def _describe_sequence(value: list[object], leaves: list[Leaf]) -> object:
    """Describes a list or tuple."""
    return (type(value), *[_describe(item, leaves) for item in value])


def _describe_dict(value: dict[object, object], leaves: list[Leaf]) -> object:
    """Describes a dict, with its order."""
    return (type(value), *[(key, _describe(v, leaves)) for key, v in value.items()])


def _describe_array(value: NDArray[Any], _leaves: list[Leaf]) -> object:
    """Describes an array by its contents, which may change between two calls."""
    if value.nbytes > _MOST_BYTES or value.dtype.hasobject:
        return freeze(value)
    return (np.ndarray, value.shape, value.dtype.str, zlib.crc32(value.tobytes()))


def _describe_other(value: object, _leaves: list[Leaf]) -> object:
    """Describes a function or plain data."""
    return freeze(value)


_DESCRIBE: dict[type, Describe] = {
    Param: _describe_stored,
    Buffer: _describe_stored,
    list: _describe_sequence,
    tuple: _describe_sequence,
    dict: _describe_dict,
    np.ndarray: _describe_array,
}


def _find_describe(kind: type) -> Describe:
    """Finds the function for a class that is met for the first time."""
    found: Describe = _describe_holder if hasattr(kind, "leaves") else _describe_other
    for base in (Stored, list, tuple, dict):
        if issubclass(kind, base):
            found = _describe_stored if base is Stored else _DESCRIBE[base]
    _DESCRIBE[kind] = found
    return found
