"""Who refers to an object: its type, and the name of a variable or an attribute."""

from __future__ import annotations

import gc
import sys
from types import FrameType, ModuleType
from typing import TYPE_CHECKING, Any, cast

from seqloom.tensor._scope._origin import caller, is_internal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType

_OPTIMIZED = 0x1  # the flag of functions, whose locals are no dict
# A dict that only its frame, a variable and the call's argument refer to.
_ALONE = 3


def describe_referrer(referrer: object, target: object) -> str:
    """Says who refers to an object, such as ``attribute 'last' of a Logger``."""
    found = _namespace(referrer, target)
    if found:
        return found
    name = _variable(referrer) or _owner(referrer)
    kind = f"a {type(referrer).__qualname__}"
    return f"{kind}: {name}" if name else kind


def is_function(code: CodeType) -> bool:
    """Whether a frame of this code keeps its variables outside a dict."""
    return bool(code.co_flags & _OPTIMIZED)


def _namespace(referrer: object, target: object) -> str | None:
    """Returns the name by which a module or an instance refers to an object."""
    if type(referrer) is not dict:
        name = _attribute(referrer, target)
        return name and f"attribute {name!r} of a {type(referrer).__qualname__}"
    names = cast("dict[str, Any]", referrer)
    name = next((name for name, value in names.items() if value is target), None)
    for owner in gc.get_referrers(names):
        if isinstance(owner, ModuleType) and vars(owner) is names:
            return f"the global {name!r} of {owner.__name__}"
        if getattr(owner, "__dict__", None) is names:
            return f"attribute {name!r} of a {type(owner).__qualname__}"
    return None


def _attribute(instance: object, target: object) -> str | None:
    """Returns the attribute of an instance that is this object."""
    slots = (getattr(kind, "__slots__", ()) for kind in type(instance).__mro__)
    names = [*getattr(instance, "__dict__", ()), *(name for some in slots for name in some)]
    return next((name for name in names if getattr(instance, name, None) is target), None)


def _variable(target: object) -> str | None:
    """Returns the local variable of a running function that is this object."""
    frame: FrameType | None = caller(1)
    while frame is not None:
        code = frame.f_code
        is_users = not is_internal(code.co_filename) and is_function(code)
        for name, value in _locals(frame) if is_users else ():
            if value is target:
                return f"the variable {name!r} of {code.co_name}"
        frame = frame.f_back
    return None


def _locals(frame: FrameType) -> Iterator[tuple[str, Any]]:
    """Yields the variables of a running function."""
    values: Any = frame.f_locals
    yield from list(values.items())
    # Before Python 3.13 this dict stays with the frame, and would keep its values alive.
    if type(values) is dict and sys.getrefcount(values) <= _ALONE:
        values.clear()


def _owner(target: object) -> str | None:
    """Returns the module or the instance that has this object."""
    for referrer in gc.get_referrers(target):
        if not isinstance(referrer, FrameType) and (name := _namespace(referrer, target)):
            return name
    return None
