"""A backend's functions: which function of which module computes which operation."""

from __future__ import annotations

from inspect import isfunction, unwrap
from typing import TYPE_CHECKING, Any

from seqloom.errors import InternalError
from seqloom.tensor._backend import Backend
from seqloom.tensor._operations import OPERATIONS

if TYPE_CHECKING:
    from types import ModuleType

_OPERATIONS = frozenset(dir(Backend)) | Backend.required


def functions_of(*modules: ModuleType, prefix: str = "") -> dict[str, Any]:
    """Returns the operations that modules define, by name.

    A function implements the operation of its name after `prefix`; an underscore at the
    end (``max_``) keeps Python's own. It takes the backend first if it calls that parameter
    `b`. `LIBRARY` of a module names functions of the library, which are operations as they
    are.
    """
    found: dict[str, Any] = {}
    for module in modules:
        for name, value in vars(module).items():
            operation = name.removeprefix(prefix).removesuffix("_")
            is_own = isfunction(value) and value.__module__ == module.__name__
            if is_own and name.startswith(prefix) and operation in _OPERATIONS:
                function = unwrap(value)
                # Python's errors about arguments name the function by this.
                is_named = function.__name__.startswith(prefix)
                own_name = function.__name__ if is_named else operation
                function.__qualname__ = own_name.removeprefix(prefix)
                is_method = function.__code__.co_varnames[:1] == ("b",)
                found[operation] = value if is_method else staticmethod(value)
        for name, function in getattr(module, "LIBRARY", {}).items():
            found[name] = staticmethod(function)
    return found


def check_overrides(library: str, functions: dict[str, Any]) -> dict[str, Any]:
    """Returns the functions of a library; raises if the table lists others."""
    listed = {name for name, files in OPERATIONS.items() if library in files.overrides}
    if differing := sorted(listed ^ (functions.keys() & OPERATIONS.keys())):
        raise InternalError(
            f"the functions of the {library} backend and the table _operations.py "
            f"differ in {', '.join(differing)}: correct the function's name or the table"
        )
    return functions
