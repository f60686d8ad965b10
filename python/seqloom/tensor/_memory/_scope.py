"""Scopes: what is made inside one is released when it ends, whoever still holds it."""

from __future__ import annotations

import weakref
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from seqloom.tensor._memory._leak import report_leaks
from seqloom.tensor._memory._origin import line_of
from seqloom.tensor._memory._released import Released

if TYPE_CHECKING:
    from collections.abc import Generator

    from seqloom.tensor._tensor import Tensor

# How many dead references a scope may hold before it looks which are.
_CROWD = 1024

_Made = list["weakref.ref[Tensor]"]


class Scope:
    """What was made since it was opened, on this thread.

    Attributes:
        outer: The scope around it.
        made: Weak references to the tensors made inside.
        limit: At how many references those to dead tensors are dropped; below 0 once the
            scope has ended, so that whoever still enters a tensor comes to `thin`.
    """

    __slots__ = ("limit", "made", "outer")

    def __init__(self, outer: Scope | None) -> None:
        self.outer = outer
        self.made: _Made = []
        self.limit = _CROWD

    @property
    def has_ended(self) -> bool:
        """Whether it was left."""
        return self.limit < 0

    def alive(self) -> list[Tensor]:
        """The tensors made inside that somebody still holds."""
        found = (reference() for reference in self.made)
        return [each for each in found if each is not None]

    def let_go(self, reference: weakref.ref[Tensor]) -> bool:
        """Forgets one tensor; says whether it was made inside."""
        # Newest first, and by identity: equal references would be of equal tensors.
        for place in range(len(self.made) - 1, -1, -1):
            if self.made[place] is reference:
                del self.made[place]
                return True
        return False

    def thin(self) -> None:
        """Forgets the tensors that are gone."""
        if self.has_ended:
            self._hand_over()
            return
        self.made[:] = [each for each in self.made if each() is not None]
        self.limit = max(_CROWD, 2 * len(self.made))

    def _hand_over(self) -> None:
        """Gives what was entered after the end to the scope around, if one is open."""
        around = _open(self)
        if innermost.get() is self:
            innermost.set(around)
        if around is not None:
            around.made.extend(self.made)
        self.made.clear()


# The scope that is open on this thread, or in this task.
innermost: ContextVar[Scope | None] = ContextVar("innermost", default=None)


def _open(scope: Scope | None) -> Scope | None:
    """The scope itself where it is open, else the first around it that is."""
    while scope is not None and scope.has_ended:
        scope = scope.outer
    return scope


@contextmanager
def scope() -> Generator[None]:
    """Releases every tensor that is made inside when it ends.

    The memory is given back at that moment, whoever still holds such a tensor; whoever
    uses it afterwards gets a `ReleasedError` that names the line that made it. A tensor
    that something outside still holds (a list, a dict, an attribute; a local variable is
    no such thing) is reported once for its line, as a `LeakWarning`. Scopes may be nested.

    What leaves a scope: what `Tensor.keep` names, the numbers of parameters, buffers and
    optimisers, and what was exported (``.numpy()``, ``np.asarray``, DLPack). A scope
    belongs to the thread that opened it. One that is left before those inside it releases
    its own tensors alone; they go on until they are left.

    Returns:
        A context manager.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([1.0, 2.0])
        >>> with sl.tensor.scope():
        ...     doubled = x * 2
        ...     total = doubled.sum().keep()
        >>> total.item()
        6.0
        >>> doubled.shape  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ...
        seqloom.errors.ReleasedError: the tensor made at ... was released ...
    """
    opened = Scope(_open(innermost.get()))
    innermost.set(opened)
    try:
        yield
        report_leaks(opened.alive())
    finally:
        # No token is reset: scopes may be left in any order, and by another thread.
        opened.limit = -1
        innermost.set(_open(innermost.get()))
        release(opened)


@contextmanager
def unscoped() -> Generator[None]:
    """Nothing that is made inside belongs to a scope."""
    token = innermost.set(None)
    try:
        yield
    finally:
        innermost.reset(token)


def release(ended: Scope) -> None:
    """Takes the arrays out of the tensors that are left."""
    for reference in ended.made:
        tensor = reference()
        if tensor is not None:
            tensor._put(Released(line_of(tensor)))  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    ended.made.clear()


def keep(tensor: Tensor) -> None:
    """Moves a tensor out of the scope that it was made in, into the one around it."""
    reference = weakref.ref(tensor)
    found = innermost.get()
    while found is not None and not found.let_go(reference):
        found = found.outer
    around = None if found is None else _open(found.outer)
    if around is not None:
        around.made.append(reference)
