"""Finds the names that a function's code reads: globals, closures, defaults, attributes."""

from __future__ import annotations

import dis
import sys
from types import (
    BuiltinMethodType,
    CellType,
    CodeType,
    FunctionType,
    MethodType,
    ModuleType,
)
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from seqloom.errors import CaptureError
from seqloom.tensor._leaves import HasLeaves
from seqloom.tensor._scope._origin import is_internal

if TYPE_CHECKING:
    from collections.abc import Iterator

PLAIN = frozenset({int, float, complex, str, bytes, bool, type(None)})
_WRITES = frozenset({"append", "add", "extend", "update", "insert", "setdefault", "pop"})
_RANDOM_MODULES = ("numpy", "random")  # their functions share a generator
_LIBRARIES = frozenset({*sys.stdlib_module_names, "numpy", "torch", "jax", "seqloom"})


class _Nothing:
    """Marks a name that has no value yet."""


class Read(NamedTuple):
    """A name, where it is looked up, and the attributes that are read of it."""

    names: dict[str, Any] | CellType
    name: str
    attributes: tuple[str, ...]
    needed: bool  # whether the step surely reads it

    def value(self) -> Any:
        """Returns the current value; stops at what is not a stored attribute."""
        value = self._find_root()
        for name in self.attributes:
            if isinstance(value, HasLeaves) or is_of_library(value):
                break
            if type(value) in (list, dict, set) and name in _WRITES:
                return _Nothing  # written, not read
            found = _find_attribute(value, name)
            if found is _Nothing or isinstance(found, BuiltinMethodType):
                break
            value = found
        return value

    def generator(self) -> object:
        """Returns the library's own generator behind a function like np.random.normal."""
        found = self._find_root()
        for name in self.attributes:
            if not isinstance(found, ModuleType):
                break
            if not found.__name__.startswith(_RANDOM_MODULES):
                break
            found = getattr(found, name, None)
        is_method = isinstance(found, (MethodType, BuiltinMethodType))
        return found.__self__ if is_method else None

    def _find_root(self) -> Any:
        """Returns the value of the name itself."""
        if isinstance(self.names, dict):
            return self.names.get(self.name, _Nothing)
        try:
            return self.names.cell_contents
        except ValueError:  # not yet filled
            return _Nothing

    def __str__(self) -> str:
        return ".".join((self.name, *self.attributes))


def find_reads(function: FunctionType, owner: object, *, needed: bool) -> Iterator[Read]:
    """Yields what a function's code reads, and the code of the functions inside it."""
    own = function.__code__
    cells = dict(zip(own.co_freevars, function.__closure__ or (), strict=True))
    for code in _find_codes(own):
        first = own.co_varnames[0] if code is own and owner is not None else None
        for name, attributes, is_global in _find_names(code, first):
            if is_global and name in function.__globals__:
                yield Read(function.__globals__, name, attributes, needed)
            elif not is_global and name in cells:
                yield Read(cells[name], name, attributes, needed)
            elif not is_global and name == first and attributes:
                yield Read({name: owner}, name, attributes, needed)


def find_defaults(function: FunctionType, *, needed: bool) -> Iterator[Read]:
    """Yields the defaults of a function's arguments."""
    defaults = function.__defaults__ or ()
    named = {f"default {index}": value for index, value in enumerate(defaults)}
    named |= function.__kwdefaults__ or {}
    for name in named:
        yield Read(named, name, (), needed)


def require_unwritten(function: FunctionType) -> None:
    """Refuses an outer name that the step reads and writes, as ``calls += 1`` does."""
    own = function.__code__
    for code in _find_codes(own):
        lines = [(line.opname, line.argval) for line in dis.get_instructions(code)]
        written = {name for kind, name in lines if kind == "STORE_GLOBAL"}
        cells = {name for kind, name in lines if kind == "STORE_DEREF"}
        written |= cells & set(own.co_freevars)
        for kind, name in lines:
            if kind in ("LOAD_GLOBAL", "LOAD_DEREF") and name in written:
                raise CaptureError(
                    f"the compiled step reads and changes {name}, a variable outside of "
                    "it; the change would happen once instead of at every call. Pass it as "
                    "an argument, and change it outside of the step"
                )


def _find_codes(code: CodeType) -> Iterator[CodeType]:
    """Yields a code and those of the functions inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _find_codes(constant)


def _find_names(
    code: CodeType, first: str | None
) -> Iterator[tuple[str, tuple[str, ...], bool]]:
    """Yields the names that a code loads and does not store, with their attributes."""
    lines = [line for line in dis.get_instructions(code) if line.opname != "CACHE"]
    stores = ("STORE_GLOBAL", "STORE_DEREF")
    stored = {line.argval for line in lines if line.opname in stores}
    for position, line in enumerate(lines):
        value: Any = line.argval
        name = cast("str", value[-1] if type(value) is tuple and value else value)
        is_global = line.opname in ("LOAD_GLOBAL", "LOAD_NAME")
        is_first = line.opname.startswith("LOAD_FAST") and name == first
        if name in stored or not (is_global or is_first or "DEREF" in line.opname):
            continue
        attributes: list[str] = []
        for following in lines[position + 1 :]:
            if following.opname not in ("LOAD_ATTR", "LOAD_METHOD"):
                break
            attributes.append(following.argval)
        yield name, tuple(attributes), is_global


def _find_attribute(value: object, name: str) -> Any:
    """Returns a stored attribute or a method; never what a property computes."""
    stored = getattr(value, "__dict__", {})
    if name in stored:
        return stored[name]
    found = getattr(cast("Any", type(value)), name, _Nothing)
    if isinstance(found, FunctionType) and not isinstance(value, type):
        return MethodType(found, value)
    is_slot = type(found).__name__ in ("member_descriptor", "getset_descriptor")
    is_plain = type(found) in PLAIN or isinstance(found, (list, dict, np.ndarray))
    return getattr(value, name, _Nothing) if is_slot or is_plain else _Nothing


def is_of_library(value: object) -> bool:
    """Returns True for a module, class or function whose code is a library's."""
    if isinstance(value, ModuleType):
        return value.__name__.partition(".")[0] in _LIBRARIES
    if isinstance(value, FunctionType):
        filename = value.__code__.co_filename
        return is_internal(filename) or "site-packages" in filename
    if isinstance(value, type):
        return value.__module__.partition(".")[0] in _LIBRARIES | {"builtins"}
    return False
