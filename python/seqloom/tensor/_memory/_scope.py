"""Scopes: what is made inside one is released when it ends, whoever still holds it."""

from __future__ import annotations

import weakref
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from seqloom.tensor._memory._leak import report_leaks
from seqloom.tensor._memory._opener import may_stop, nearest, opener
from seqloom.tensor._memory._origin import caller, line_of
from seqloom.tensor._memory._released import Released

if TYPE_CHECKING:
    from collections.abc import Generator
    from types import FrameType

    from seqloom.tensor._tensor import Tensor

# How many dead references a scope may hold before it looks which are.
_CROWD = 1024

_Made = list["weakref.ref[Tensor]"]


class Scope:
    """What was made since it was opened, on this thread.

    A generator or a coroutine that stops inside leaves its scope open, and others run: such
    a scope, and each that is opened inside one, asks of every tensor whether the code that
    opened it is running.

    Attributes:
        outer: The scope around it.
        opener: The frame that opened it, where that must be asked.
        made: Weak references to the tensors made inside.
        crowd: At how many references those to dead tensors are dropped.
        limit: The same, or 0 where each tensor is asked about; below 0 once the scope has
            ended, so that whoever still enters a tensor comes to `thin`.
    """

    __slots__ = ("crowd", "limit", "made", "opener", "outer")

    def __init__(self, outer: Scope | None, opener: FrameType | None = None) -> None:
        asks = outer is not None and outer.opener is not None
        self.outer = outer
        self.opener = opener if opener is not None and (asks or may_stop(opener)) else None
        self.made: _Made = []
        self.crowd = _CROWD
        self.limit = _CROWD if self.opener is None else 0

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
        """Forgets the tensors that are gone; sends on what was made by somebody else."""
        if self.has_ended:
            self._hand_over()
        elif self.opener is not None:
            self._send_on(self.made.pop())
        else:
            self.limit = self._forget()

    def close(self) -> None:
        """Ends it."""
        self.limit, self.opener = -1, None

    def _forget(self) -> int:
        """Forgets the tensors that are gone; gives the next number that is many."""
        self.made[:] = [each for each in self.made if each() is not None]
        self.crowd = max(_CROWD, 2 * len(self.made))
        return self.crowd

    def _send_on(self, reference: weakref.ref[Tensor]) -> None:
        """Enters the newest tensor where it was made."""
        found = running(self)
        if found is not None:
            found.made.append(reference)
            if len(found.made) > found.crowd:
                found._forget()  # noqa: SLF001

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


def running(scope: Scope | None) -> Scope | None:
    """Of a scope and those around it, the nearest whose opener runs."""
    around: list[Scope] = []
    while (scope := _open(scope)) is not None:
        around.append(scope)
        scope = scope.outer
    asked = [each for each in around if each.opener is not None]
    frame = nearest([each.opener for each in asked]) if asked else None
    chosen = (each for each in around if each.opener is frame)
    return next(chosen, None)


@contextmanager
def scope() -> Generator[None]:
    """Releases every tensor that is made inside when it ends.

    The memory is given back at that moment, whoever still holds such a tensor; whoever
    uses it afterwards gets a `ReleasedError` that names the line that made it. A tensor
    that something outside still holds (a list, a dict, an attribute; a local variable is
    no such thing) is reported once for its line, as a `LeakWarning`. Scopes may be nested.

    What leaves a scope: what `Tensor.keep` names, the numbers of parameters, buffers and
    optimisers, and what was exported (``.numpy()``, ``np.asarray``, DLPack). A scope
    belongs to the thread that opened it, and where a generator or a coroutine opened it, to
    that one: what others make while it waits is not inside. Only a context that is copied
    by hand (``contextvars.copy_context``) takes a function's scope along. One that is left
    before those inside it releases its own tensors alone; they go on until they are left.

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
    opened = Scope(_open(innermost.get()), opener(caller(0)))
    innermost.set(opened)
    try:
        yield
        report_leaks(opened.alive())
    finally:
        # No token is reset: scopes may be left in any order, and by another thread.
        opened.close()
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
    around = None if found is None else running(found.outer)
    if around is not None:
        around.made.append(reference)
