"""Locks of leaves and of compiled steps; a forked process begins with new ones."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, WeakSet

if TYPE_CHECKING:
    from seqloom.tensor._leaves import Leaf

_of_leaves: WeakKeyDictionary[Leaf, threading.Lock] = WeakKeyDictionary()
# What has a `renew_lock`.
renewed: WeakSet[Any] = WeakSet()


def lock_of(leaf: Leaf) -> threading.Lock:
    """The lock of a leaf, made when it is first asked for.

    Args:
        leaf: A leaf that is about to be written.

    Returns:
        A lock that stays the same for as long as the leaf lives.
    """
    lock = _of_leaves.get(leaf)
    return lock or _of_leaves.setdefault(leaf, threading.Lock())


def _renew() -> None:
    """Another thread may have held a lock when the process was forked: it is not here."""
    _of_leaves.clear()
    for each in list(renewed):
        each.renew_lock()


os.register_at_fork(after_in_child=_renew)
