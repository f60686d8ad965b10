"""What a step reads from around it: globals, what it closes over, defaults, attributes.

The names stand in the code of the step, and of the user's functions that it names. What is
under them is looked at before each call; another value is another program.
"""

from __future__ import annotations

import dis
import sys
import zlib
from collections.abc import Iterator
from io import IOBase
from types import BuiltinMethodType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple, cast

import numpy as np

from seqloom.errors import CaptureError
from seqloom.tensor._compile._drawn import generators
from seqloom.tensor._leaves import HasLeaves, frozen, itself
from seqloom.tensor._memory._origin import is_machinery

# An array that is read at each call costs time; a larger one is better an argument.
_MOST_BYTES = 1 << 20
_MOST_PARTS, _DEEPEST = 1000, 8
_NESTED = frozenset({list, tuple, set, dict})
_PLAIN = frozenset({int, float, complex, str, bytes, bool, type(None)})
_WRITES = frozenset({"append", "add", "extend", "update", "insert", "setdefault", "pop"})
_DRAWING = ("numpy", "random")  # modules whose functions share a generator
_LIBRARIES = frozenset({*sys.stdlib_module_names, "numpy", "torch", "jax", "seqloom"})


class Read(NamedTuple):
    """A name, where it is looked up, and the attributes that are read of it."""

    names: Any  # a dict, or a cell
    name: str
    attributes: tuple[str, ...]
    needed: bool  # whether the step surely reads it


class Around:
    """What a function reads from around it.

    Args:
        function: The step.
        holders: The modules among its arguments, whose methods may read more.
    """

    def __init__(self, function: Any, holders: list[Any]) -> None:
        self._seen: set[Any] = set()
        self._reads: list[Read] = []
        self._sources: list[Any] = []
        self._follow(function, needed=True)
        kinds: dict[type, None] = {type(each): None for each in _parts(holders)}
        for kind in kinds:
            for base in kind.__mro__:
                for method in () if _is_of_library(base) else vars(base).values():
                    self._follow(method, needed=False)
        self._values: list[Any] = []
        self._state: tuple[Any, ...] = ()

    def state(self) -> tuple[Any, ...]:
        """What is there now, hashable."""
        values = [_value(read) for read in self._reads]
        before = self._values
        if len(before) != len(values) or any(
            one is not other or type(one) not in _PLAIN
            for one, other in zip(values, before, strict=True)
        ):
            pairs = zip(self._reads, values, strict=True)
            self._state = tuple([_frozen(value, read) for read, value in pairs])
            self._values = values
        return self._state

    def generators(self) -> list[tuple[Any, Any]]:
        """The generators of random numbers that it may draw from, and their states."""
        return generators([*self._values, *self._sources])

    def _follow(self, function: Any, *, needed: bool, owner: Any = None) -> None:
        """Collects what a function of the user's reads, and what those that it names do."""
        if isinstance(function, MethodType):
            function, owner = function.__func__, function.__self__
        function = getattr(function, "__wrapped__", function)
        known = (id(function), id(owner))
        if (
            not isinstance(function, FunctionType)
            or known in self._seen
            or _is_of_library(function)
        ):
            return
        is_step = not self._seen  # whose defaults are among its arguments
        self._seen.add(known)
        if needed:
            _require_unwritten(function)
        for read in _reads_of(function, owner, needed=needed):
            self._take(read)
        for read in () if is_step else _defaults(function, needed=needed):
            self._take(read)

    def _take(self, read: Read) -> None:
        """Notes one read; a function is followed too."""
        value = _value(read)
        self._sources.append(_source(read))
        if isinstance(value, ModuleType) or _is_of_library(value):
            return
        if read.needed and isinstance(value, Iterator) and not isinstance(value, IOBase):
            raise _moves_on(read)
        self._reads.append(read)
        self._follow(value, needed=read.needed)


def _require_unwritten(function: FunctionType) -> None:
    """Refuses a name around the step that it reads and writes, as ``calls += 1`` does."""
    own = function.__code__
    for code in _codes(own):
        lines = [(each.opname, each.argval) for each in dis.get_instructions(code)]
        written = {name for kind, name in lines if kind == "STORE_GLOBAL"}
        around = {name for kind, name in lines if kind == "STORE_DEREF"}
        written |= around & set(own.co_freevars)
        for kind, name in lines:
            if kind in ("LOAD_GLOBAL", "LOAD_DEREF") and name in written:
                raise CaptureError(
                    f"the compiled step reads and changes {name}, which stands around it; "
                    "that would happen once instead of at every call: pass it as an "
                    "argument, and change it outside of the step"
                )


def _moves_on(read: Read) -> CaptureError:
    """The error for an iterator, which a program would not move on."""
    return CaptureError(
        f"the compiled step reads the iterator {'.'.join((read.name, *read.attributes))} "
        "from around it; the program would hold what it gives now, the same at every call. "
        "Call next() before the step and pass what it gives"
    )


def _parts(holders: list[Any]) -> Iterator[Any]:
    """Modules and those below them."""
    for each in holders:
        yield each
        if hasattr(each, "named"):
            yield from (part for _, part in each.named())


def _reads_of(function: FunctionType, owner: Any, *, needed: bool) -> Iterator[Read]:
    """The names in a function's code, and in those of functions within it."""
    own = function.__code__
    cells = dict(zip(own.co_freevars, function.__closure__ or (), strict=True))
    for code in _codes(own):
        first = own.co_varnames[0] if code is own and owner is not None else None
        for name, attributes, is_global in _names(code, first):
            if is_global and name in function.__globals__:
                yield Read(function.__globals__, name, attributes, needed)
            elif not is_global and name in cells:
                yield Read(cells[name], name, attributes, needed)
            elif not is_global and name == first and attributes:
                yield Read({name: owner}, name, attributes, needed)


def _defaults(function: FunctionType, *, needed: bool) -> Iterator[Read]:
    """The defaults of a function's arguments."""
    given = function.__defaults__ or ()
    named = {f"default {place}": each for place, each in enumerate(given)}
    named |= function.__kwdefaults__ or {}
    for name in named:
        yield Read(named, name, (), needed)


def _codes(code: CodeType) -> Iterator[CodeType]:
    """A code and those of functions within it."""
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _codes(each)


def _names(
    code: CodeType, first: str | None
) -> Iterator[tuple[str, tuple[str, ...], bool]]:
    """The names that a code loads, with the attributes behind each; not those it stores."""
    lines = [each for each in dis.get_instructions(code) if each.opname != "CACHE"]
    stored = {
        each.argval for each in lines if each.opname in ("STORE_GLOBAL", "STORE_DEREF")
    }
    for place, each in enumerate(lines):
        given: Any = each.argval
        name = cast("str", given[-1] if type(given) is tuple and given else given)
        is_global = each.opname in ("LOAD_GLOBAL", "LOAD_NAME")
        is_first = each.opname.startswith("LOAD_FAST") and name == first
        if name in stored or not (is_global or is_first or "DEREF" in each.opname):
            continue
        attributes: list[str] = []
        for after in lines[place + 1 :]:
            if after.opname not in ("LOAD_ATTR", "LOAD_METHOD"):
                break
            attributes.append(after.argval)
        yield name, tuple(attributes), is_global


class _Nothing:
    """Stands for a name that has no value yet."""


def _value(read: Read) -> Any:
    """What is under a name now; it ends at what is no plain attribute."""
    value = _root(read)
    for name in read.attributes:
        if isinstance(value, HasLeaves) or _is_of_library(value):
            break
        if type(value) in (list, dict, set) and name in _WRITES:
            return _Nothing  # written, not read
        found = _attribute(value, name)
        if found is _Nothing or isinstance(found, BuiltinMethodType):
            break
        value = found
    return value


def _source(read: Read) -> Any:
    """The library's own generator that a function such as ``np.random.normal`` is of."""
    found = _root(read)
    for name in read.attributes:
        if not isinstance(found, ModuleType) or not found.__name__.startswith(_DRAWING):
            break
        found = getattr(found, name, None)
    is_method = isinstance(found, (MethodType, BuiltinMethodType))
    return found.__self__ if is_method else None


def _root(read: Read) -> Any:
    """What is under the name itself."""
    if type(read.names) is dict:
        return cast("dict[str, Any]", read.names).get(read.name, _Nothing)
    try:
        return read.names.cell_contents
    except ValueError:  # not yet filled
        return _Nothing


def _attribute(value: Any, name: str) -> Any:
    """An attribute that is stored, or a method; never what a property computes."""
    held = getattr(value, "__dict__", {})
    if name in held:
        return held[name]
    found = getattr(cast("Any", type(value)), name, _Nothing)
    if isinstance(found, FunctionType) and not isinstance(value, type):
        return MethodType(found, value)
    is_slot = type(found).__name__ in ("member_descriptor", "getset_descriptor")
    plain = is_slot or type(found) in _PLAIN or isinstance(found, (list, dict, np.ndarray))
    return getattr(value, name, _Nothing) if plain else _Nothing


def _frozen(value: Any, read: Read, depth: int = 0) -> Any:
    """A value in a form that can be compared with what is there at the next call."""
    kind: Any = type(value)  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, np.ndarray):
        found = _array(value, read)
    elif (
        kind in (list, tuple, set, dict) and len(value) <= _MOST_PARTS and depth < _DEEPEST
    ):
        found = _parts_frozen(value, read, depth + 1)
    elif isinstance(value, MethodType):
        found = (itself(value.__func__), itself(value.__self__))
    elif isinstance(value, (float, complex, np.generic)):
        found = (kind, repr(cast("Any", value)))  # NaN is itself
    elif kind in _PLAIN:
        found = frozen(value)
    else:
        version = getattr(value, "_version", None)  # torch's arrays count their writes
        found = (itself(value), version if type(version) is int else None)
    return found


def _parts_frozen(value: Any, read: Read, depth: int) -> Any:
    """A container's parts."""
    if isinstance(value, dict):
        named = cast("dict[Any, Any]", value).items()
        return (dict, *((frozen(key), _frozen(each, read, depth)) for key, each in named))
    return (type(value), *(_frozen(each, read, depth) for each in value))


def _array(value: Any, read: Read) -> Any:
    """An array by its contents; a large one is refused where the step reads it."""
    if value.nbytes <= _MOST_BYTES and not value.dtype.hasobject:
        return (np.ndarray, value.shape, value.dtype.str, zlib.crc32(value.tobytes()))
    if not read.needed:
        return itself(value)
    raise CaptureError(
        f"the compiled step reads the array {'.'.join((read.name, *read.attributes))} of "
        f"{value.nbytes / 1e6:.0f} MB from around it, which may change between two calls; "
        "pass it as an argument of the step"
    )


def _is_of_library(value: Any) -> bool:
    """Whether a module, a class or a function is of a library: its names do not change."""
    if isinstance(value, ModuleType):
        return value.__name__.partition(".")[0] in _LIBRARIES
    if isinstance(value, FunctionType):
        filename = value.__code__.co_filename
        return is_machinery(filename) or "site-packages" in filename
    if isinstance(value, type):
        return value.__module__.partition(".")[0] in _LIBRARIES | {"builtins"}
    return False
