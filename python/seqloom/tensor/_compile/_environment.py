"""Environment: the values that a step reads by name, from outside of its arguments.

The names are in the code of the step, and of the user's functions that it names. Their
values are compared before each call; other values make another program.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from io import IOBase
from types import FunctionType, MethodType, ModuleType
from typing import Any, cast

import numpy as np

from seqloom.errors import CaptureError
from seqloom.tensor._compile._impure import find_generators
from seqloom.tensor._compile._reads import (
    PLAIN,
    Read,
    find_defaults,
    find_reads,
    is_of_library,
    require_unwritten,
)
from seqloom.tensor._leaves import freeze, identity_of

# To compare an array at each call takes time; a larger one is better an argument.
_MOST_BYTES = 1 << 20
_MOST_PARTS, _DEEPEST = 1000, 8


class Environment:
    """What a step, and the methods of the modules among its arguments, read by name."""

    def __init__(self, function: object, holders: list[Any]) -> None:
        self._seen: set[tuple[int, int]] = set()
        self._reads: list[Read] = []
        self._shared_generators: list[object] = []
        self._add_function(function, needed=True)
        kinds: dict[type, None] = {type(module): None for module in _walk_modules(holders)}
        for kind in kinds:
            for base in kind.__mro__:
                for method in () if is_of_library(base) else vars(base).values():
                    self._add_function(method, needed=False)
        self._values: list[Any] = []
        self._state: tuple[object, ...] = ()

    def state(self) -> tuple[object, ...]:
        """Returns the current values, hashable."""
        values = [read.value() for read in self._reads]
        before = self._values
        if len(before) != len(values) or any(
            one is not other or type(one) not in PLAIN
            for one, other in zip(values, before, strict=True)
        ):
            pairs = zip(self._reads, values, strict=True)
            self._state = tuple([_freeze(value, read) for read, value in pairs])
            self._values = values
        return self._state

    def generators(self) -> list[tuple[object, object]]:
        """Returns the random generators that the step may draw from, and their states."""
        return find_generators([*self._values, *self._shared_generators])

    def _add_function(
        self, function: object, *, needed: bool, owner: object = None
    ) -> None:
        """Adds what a function of the user's reads, and the functions that it names."""
        if isinstance(function, MethodType):
            function, owner = function.__func__, function.__self__
        function = getattr(function, "__wrapped__", function)
        key = (id(function), id(owner))
        if (
            not isinstance(function, FunctionType)
            or key in self._seen
            or is_of_library(function)
        ):
            return
        is_step = not self._seen  # its defaults are among its arguments
        self._seen.add(key)
        if needed:
            require_unwritten(function)
        for read in find_reads(function, owner, needed=needed):
            self._add_read(read)
        for read in () if is_step else find_defaults(function, needed=needed):
            self._add_read(read)

    def _add_read(self, read: Read) -> None:
        """Adds one read; if it is a function, then also what this reads."""
        value = read.value()
        self._shared_generators.append(read.generator())
        if isinstance(value, ModuleType) or is_of_library(value):
            return
        if read.needed and isinstance(value, Iterator) and not isinstance(value, IOBase):
            raise CaptureError(
                f"the compiled step reads the iterator {read} from outside of it; the "
                "program would repeat its first value at every call. Call next() before "
                "the step and pass the value as an argument"
            )
        self._reads.append(read)
        self._add_function(value, needed=read.needed)


def _walk_modules(holders: list[Any]) -> Iterator[object]:
    """Yields modules and all modules in them."""
    for holder in holders:
        yield holder
        if hasattr(holder, "named"):
            yield from (part for _, part in holder.named())


def _freeze(value: Any, read: Read, depth: int = 0) -> object:
    """Returns a form of a value that is comparable with its value at the next call."""
    kind: Any = type(value)  # pyright: ignore[reportUnknownVariableType]
    is_container = kind in (list, tuple, set, dict) and depth < _DEEPEST
    if isinstance(value, np.ndarray):
        frozen_value = _freeze_array(cast("np.ndarray[Any, Any]", value), read)
    elif is_container and len(value) <= _MOST_PARTS:
        frozen_value = _freeze_parts(value, read, depth + 1)
    elif isinstance(value, MethodType):
        frozen_value = (identity_of(value.__func__), identity_of(value.__self__))
    elif isinstance(value, (float, complex, np.generic)):
        frozen_value = (kind, repr(cast("object", value)))  # NaN equals itself
    elif kind in PLAIN:
        frozen_value = freeze(value)
    else:
        version = getattr(value, "_version", None)  # torch's arrays count their writes
        frozen_value = (identity_of(value), version if type(version) is int else None)
    return frozen_value


def _freeze_parts(value: Any, read: Read, depth: int) -> object:
    """Freezes the parts of a container."""
    if isinstance(value, dict):
        items = cast("dict[object, object]", value).items()
        return (dict, *((freeze(key), _freeze(part, read, depth)) for key, part in items))
    kind = cast("object", type(value))
    return (kind, *(_freeze(part, read, depth) for part in value))


def _freeze_array(value: np.ndarray[Any, Any], read: Read) -> object:
    """Freezes the contents of an array; refuses a large one that the step reads."""
    if value.nbytes <= _MOST_BYTES and not value.dtype.hasobject:
        return (np.ndarray, value.shape, value.dtype.str, zlib.crc32(value.tobytes()))
    if not read.needed:
        return identity_of(value)
    raise CaptureError(
        f"the compiled step reads the array {read} of {value.nbytes / 1e6:.0f} MB from "
        "outside of it, and the array may change between two calls; pass it as an argument "
        "of the step"
    )
