"""Substitutes the array of a leaf while a step is captured, for the capture alone.

Other threads go on reading and writing the leaf's own array. During a capture the leaf has
a class whose attributes depend on who reads them; at all other times they are plain.
"""

from __future__ import annotations

import threading
from contextvars import ContextVar
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from seqloom._system import after_fork
from seqloom.errors import CaptureError
from seqloom.tensor._origin import current_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from seqloom.tensor._backend import Array, Backend
    from seqloom.tensor._leaves import Leaf

# The capture that runs on this thread.
capturing: ContextVar[Backend | None] = ContextVar("capturing", default=None)

_SUBSTITUTED = ("array", "backend", "is_shared", "version")
_SUBSTITUTES = "_substitutes"  # by capture: values of the attributes above
_CLASS = "_class_between_captures"


class _ClassLock:
    """The lock under which classes change; a forked process gets a new one."""

    lock = threading.Lock()

    @classmethod
    def renew(cls) -> None:
        """Replaces the lock, which another thread may have held at the fork."""
        cls.lock = threading.Lock()


after_fork(_ClassLock.renew)


def check_declared(stored: Any) -> None:
    """Refuses a parameter that the captured step reads, but that is in no argument."""
    capture = capturing.get()
    if capture is not None and stored.backend is not capture:
        raise CaptureError(
            f"{current_line()} reads {stored.path or stored!r}, which belongs to no "
            "argument of the compiled step, so the program would never see it change",
            advice="; pass the module as an argument of the step",
        )


def substitute(leaf: Leaf, array: Array, capture: Backend) -> Callable[[], None]:
    """Shows a capture another array in a leaf, until the returned function is called."""
    hidden = (*_SUBSTITUTED, _SUBSTITUTES)
    before = {key: value for key, value in vars(leaf).items() if key not in hidden}
    values = {
        "array": array,
        "backend": capture,
        "is_shared": False,
        "version": leaf.version,
    }
    with _ClassLock.lock:
        if _SUBSTITUTES not in vars(leaf):
            vars(leaf)[_SUBSTITUTES] = {}
            leaf.__class__ = _make_class(type(leaf))
        vars(leaf)[_SUBSTITUTES][capture] = values
    return partial(_restore, leaf, capture, before)


def _restore(leaf: Leaf, capture: Backend, before: dict[str, Any]) -> None:
    """Ends one substitution; after the last one the leaf has its own class again."""
    with _ClassLock.lock:
        substitutes = vars(leaf)[_SUBSTITUTES]
        del substitutes[capture]
        vars(leaf).update(before)
        if not substitutes:
            leaf.__class__ = getattr(leaf, _CLASS)
            del vars(leaf)[_SUBSTITUTES]


@cache
def _make_class(kind: type[Leaf]) -> Any:
    """Makes a class like that of a leaf, whose attributes depend on who reads them."""
    members: dict[str, Any] = {name: _make_property(name) for name in _SUBSTITUTED}
    members |= {"__reduce_ex__": _reduce, "__module__": kind.__module__, _CLASS: kind}
    return type(kind.__name__, (kind,), members)


def _make_property(name: str) -> property:
    """Makes an attribute that this thread's capture may have substituted."""

    def read(leaf: Leaf) -> Any:
        return _attributes(leaf)[name]

    def write(leaf: Leaf, value: object) -> None:
        _attributes(leaf)[name] = value

    return property(read, write)


def _attributes(leaf: Leaf) -> dict[str, Any]:
    """Returns the attributes that this thread sees: the capture's, or the leaf's own."""
    # Few calls: while a step is captured each costs an event of the profiling hook.
    own = leaf.__dict__
    capture = capturing.get()
    if capture is None:
        return own
    try:
        return own[_SUBSTITUTES][capture]
    except KeyError:
        return own


def _reduce(leaf: Leaf, protocol: int) -> Any:
    """Lets another thread copy or pickle the leaf itself."""
    del protocol
    hidden = (_SUBSTITUTES, "owner")
    own = {key: value for key, value in vars(leaf).items() if key not in hidden}
    return object.__new__, (getattr(leaf, _CLASS),), own
