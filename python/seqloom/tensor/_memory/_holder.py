"""Who holds an object: its type, and the name of a variable or an attribute."""

from __future__ import annotations

import gc
import sys
from types import FrameType, ModuleType
from typing import TYPE_CHECKING, Any, cast

from seqloom.tensor._memory._origin import caller, is_machinery

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType

_OPTIMIZED = 0x1  # the flag of functions, whose locals are no dict
# A dict that only its frame, a variable and the call's argument refer to.
_ALONE = 3


def described(holder: Any, held: Any) -> str:
    """A holder in words.

    Args:
        holder: What holds.
        held: What it holds.

    Returns:
        Such as ``attribute 'last' of a Logger``, or ``a list: the variable 'seen' of fit``.
    """
    place = _namespace(holder, held)
    if place:
        return place
    name = _variable(holder) or _owner(holder)
    kind = f"a {type(holder).__qualname__}"
    return f"{kind}: {name}" if name else kind


def is_function(code: CodeType) -> bool:
    """Says whether a frame of this code keeps its variables outside a dict."""
    return bool(code.co_flags & _OPTIMIZED)


def _namespace(holder: Any, held: Any) -> str | None:
    """The name under which a module or an instance holds something."""
    if type(holder) is not dict:
        name = _attribute(holder, held)
        return name and f"attribute {name!r} of a {type(holder).__qualname__}"
    names = cast("dict[str, Any]", holder)
    name = next((name for name, value in names.items() if value is held), None)
    for owner in gc.get_referrers(names):
        if isinstance(owner, ModuleType) and vars(owner) is names:
            return f"the global {name!r} of {owner.__name__}"
        if getattr(owner, "__dict__", None) is names:
            return f"attribute {name!r} of a {type(owner).__qualname__}"
    return None


def _attribute(holder: Any, held: Any) -> str | None:
    """The attribute of an instance that is this object."""
    slots = (getattr(each, "__slots__", ()) for each in type(holder).__mro__)
    names = [*getattr(holder, "__dict__", ()), *(name for some in slots for name in some)]
    return next((name for name in names if getattr(holder, name, None) is held), None)


def _variable(thing: Any) -> str | None:
    """The local variable of a running function that is this object."""
    frame: FrameType | None = caller(1)
    while frame is not None:
        code = frame.f_code
        users = not is_machinery(code.co_filename) and is_function(code)
        for name, value in _locals(frame) if users else ():
            if value is thing:
                return f"the variable {name!r} of {code.co_name}"
        frame = frame.f_back
    return None


def _locals(frame: FrameType) -> Iterator[tuple[str, Any]]:
    """The variables of a function that runs."""
    values: Any = frame.f_locals
    yield from list(values.items())
    # Before Python 3.13 this dict stays with the frame, and would keep its values alive.
    if type(values) is dict and sys.getrefcount(values) <= _ALONE:
        values.clear()


def _owner(thing: Any) -> str | None:
    """The module or the instance that has this object."""
    for referrer in gc.get_referrers(thing):
        if not isinstance(referrer, FrameType) and (place := _namespace(referrer, thing)):
            return place
    return None
