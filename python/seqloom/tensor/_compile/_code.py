"""Code: the variables that a function reads, and whether it is a library's."""

from __future__ import annotations

import builtins
import dis
import sys
import sysconfig
from functools import lru_cache
from importlib.util import resolve_name
from types import CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from seqloom.tensor._leaves import identity_of
from seqloom.tensor._origin import PACKAGE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_LIBRARIES = frozenset({*sys.stdlib_module_names, "numpy", "torch", "jax", "seqloom"})
STDLIB_FOLDERS = tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib")})


class Missing:
    """Marks a name that has no value yet."""


class Node(NamedTuple):
    """One value: its form, how to read its contents again, and its contents."""

    form: object
    read: Callable[[Any], list[Any]] | None = None  # compared by identity
    parts: Sequence[tuple[str, Any]] = ()  # contents: the end of the path, and the value
    digest: Callable[[Any], object] | None = None  # compared by equality
    problem: str = ""  # why it cannot be compared


def list_attributes(value: object) -> list[tuple[str, Any]]:
    """Returns the attributes of an object, each with its name after a dot."""
    return [(f".{name}", item) for name, item in getattr(value, "__dict__", {}).items()]


def describe_function(function: FunctionType, *, with_defaults: bool = True) -> Node:
    """Describes a function by its code, the variables that it names and its imports."""
    read, names = _make_reader(function)
    parts: list[tuple[str, Any]] = list(zip(names, read(function), strict=False))
    # A module that the step is the first to import is a further part at the next call.
    imports = _list_imports(function)
    parts += [(name, sys.modules[name]) for name in imports if name in sys.modules]
    if with_defaults:
        parts += _list_defaults(function)
        parts += list_attributes(function)
    code = function.__code__
    return Node(
        (FunctionType, identity_of(code)), read if parts or imports else None, parts
    )


def _make_reader(function: FunctionType) -> tuple[Callable[[Any], list[Any]], list[str]]:
    """Returns a reader of a function's variables and defaults, and the variables' names."""
    cells, around = function.__closure__ or (), function.__globals__
    loads = () if is_of_library(function) else _find_globals(function.__code__)
    names = [name for name in loads if name in around or not hasattr(builtins, name)]
    get, modules, imports = around.get, sys.modules, _list_imports(function)

    def read(function: FunctionType) -> list[Any]:
        values = [read_cell(cell) for cell in cells]
        values += [get(name, Missing) for name in names]
        values += [modules.get(name, Missing) for name in imports]
        values += function.__defaults__ or ()
        values += [function.__code__, *(function.__kwdefaults__ or {}).values()]
        return [*values, *function.__dict__.values()] if function.__dict__ else values

    return read, [*function.__code__.co_freevars, *names]


def _list_imports(function: FunctionType) -> list[str]:
    """Returns the names of the modules that a function of the user's imports."""
    if is_of_library(function):
        return []
    package = function.__globals__.get("__package__")
    return [
        resolve_name("." * level + name, package) if level and package else name
        for level, name in _find_imports(function.__code__)
    ]


def _list_defaults(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """Yields the defaults of a function's arguments, with their names."""
    defaults, code = function.__defaults__ or (), function.__code__
    names = code.co_varnames[code.co_argcount - len(defaults) : code.co_argcount]
    by_name = dict(zip(names, defaults, strict=True)) | (function.__kwdefaults__ or {})
    yield from ((f"{function.__name__}({name})", by_name[name]) for name in by_name)


def read_cell(cell: Any) -> Any:
    """Returns the value of a closure's variable."""
    try:
        return cell.cell_contents
    except ValueError:  # not yet filled
        return Missing


@lru_cache(4096)
def _find_globals(code: CodeType) -> tuple[str, ...]:
    """Returns the global names that a code and the functions in it load."""
    lines = (line for part in list_codes(code) for line in dis.get_instructions(part))
    loads = (line for line in lines if line.opname in ("LOAD_GLOBAL", "LOAD_NAME"))
    return tuple(dict.fromkeys(line.argval for line in loads))


@lru_cache(4096)
def _find_imports(code: CodeType) -> tuple[tuple[int, str], ...]:
    """Returns the imports in a code and the functions in it: level and module's name."""
    found: dict[tuple[int, str], None] = {}
    for part in list_codes(code):
        loads: list[Any] = []
        for line in dis.get_instructions(part):
            if line.opname == "IMPORT_NAME":  # its arguments: the level, and names
                found[loads[-2], line.argval] = None
            elif line.opname.startswith("LOAD"):
                loads.append(line.argval)
    return tuple(found)


@lru_cache(4096)
def find_names(code: CodeType) -> frozenset[str]:
    """Returns the names and texts in a code, among them the attributes that it reads."""
    codes = list(list_codes(code))
    texts = (item for part in codes for item in part.co_consts if isinstance(item, str))
    return frozenset(texts).union(*(part.co_names for part in codes))


def list_codes(code: CodeType) -> Iterator[CodeType]:
    """Yields a code and those of the functions inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from list_codes(constant)


@lru_cache(4096)
def _is_of_library(filename: str) -> bool:
    is_package = filename.startswith((str(PACKAGE), *STDLIB_FOLDERS))
    return is_package or "site-packages" in filename


def is_of_library(value: Any) -> bool:
    """Returns True for a module, class or function whose code is a library's."""
    if isinstance(value, FunctionType):
        return _is_of_library(value.__code__.co_filename)
    name: str = value.__name__ if isinstance(value, ModuleType) else value.__module__
    if name.partition(".")[0] in _LIBRARIES:
        return True
    module = value if isinstance(value, ModuleType) else sys.modules.get(name)
    return _is_of_library(getattr(module, "__file__", None) or "")
