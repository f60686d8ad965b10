"""What stands for a leaf while a step is captured: seen by the capture, and by it alone.

Other threads go on reading and writing the leaf's own array. For as long as a capture lasts
the leaf is of a class that asks who reads; at all other times its attributes are plain.
"""

from __future__ import annotations

import os
import threading
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from seqloom.tensor._compile._context import capturing

if TYPE_CHECKING:
    from collections.abc import Callable

    from seqloom.tensor._backend import Array, Backend
    from seqloom.tensor._leaves import Leaf

_SEEN = ("array", "backend", "lent", "version")
_STANDS = "_stands"  # by the capture: what stands for the attributes above
_CLASS = "_class_between_captures"


class _Swapping:
    """The lock under which classes change; a forked process has one of its own."""

    lock = threading.Lock()

    @classmethod
    def renew(cls) -> None:
        """Another thread may have held it."""
        cls.lock = threading.Lock()


os.register_at_fork(after_in_child=_Swapping.renew)


def stand_in(leaf: Leaf, array: Array, capture: Backend) -> Callable[[], None]:
    """Lets a capture see another array in a leaf, until the result is called.

    Args:
        leaf: The leaf.
        array: What the capture sees.
        capture: The backend of that array.

    Returns:
        What ends it.
    """
    before = {
        key: value for key, value in vars(leaf).items() if key not in (*_SEEN, _STANDS)
    }
    seen = {"array": array, "backend": capture, "lent": False, "version": leaf.version}
    with _Swapping.lock:
        if _STANDS not in vars(leaf):
            vars(leaf)[_STANDS] = {}
            leaf.__class__ = _asking(type(leaf))
        vars(leaf)[_STANDS][capture] = seen
    return partial(_restore, leaf, capture, before)


def _restore(leaf: Leaf, capture: Backend, before: dict[str, Any]) -> None:
    """Ends what a capture saw; after the last one the leaf is as it was."""
    with _Swapping.lock:
        stands = vars(leaf)[_STANDS]
        del stands[capture]
        vars(leaf).update(before)
        if not stands:
            leaf.__class__ = getattr(leaf, _CLASS)
            del vars(leaf)[_STANDS]


@cache
def _asking(kind: type[Leaf]) -> Any:
    """A class like that of a leaf, whose attributes depend on who reads them."""
    ways: dict[str, Any] = {name: _way(name) for name in _SEEN}
    ways |= {"__reduce_ex__": _reduced, "__module__": kind.__module__, _CLASS: kind}
    return type(kind.__name__, (kind,), ways)


def _way(name: str) -> property:
    """An attribute that is looked up where this thread's capture has put it."""

    def read(leaf: Any) -> Any:
        return _of_this_thread(leaf)[name]

    def write(leaf: Any, value: Any) -> None:
        _of_this_thread(leaf)[name] = value

    return property(read, write)


def _of_this_thread(leaf: Leaf) -> dict[str, Any]:
    """The attributes that the running capture sees; without one, the leaf's own."""
    # Few calls: while a step is captured each costs an event of the profiling hook.
    own = leaf.__dict__
    capture = capturing.get()
    if capture is None:
        return own
    try:
        return own[_STANDS][capture]
    except KeyError:
        return own


def _reduced(leaf: Leaf, protocol: int) -> Any:
    """A copy or a pickle that another thread makes is of the leaf itself."""
    del protocol
    own = {key: each for key, each in vars(leaf).items() if key not in (_STANDS, "owner")}
    return object.__new__, (getattr(leaf, _CLASS),), own
