"""The user's code: the line that made a tensor, and scopes that free their tensors.

A tensor keeps a code object and an offset of an instruction in it; the line is looked up
when a message needs it. Frames of this package's tensors, layers and optimisers are
skipped.
"""

from __future__ import annotations

import contextlib
import inspect
import sys
import weakref
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from seqloom.errors import ReleasedError

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
    from types import FrameType


# The frame of a caller; the only way to a line without raising an exception.
caller = sys._getframe  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]

PACKAGE = Path(__file__).parents[1]
_INTERNAL = (
    *(f"{PACKAGE / folder}/" for folder in ("tensor", "nn", "optim", "export")),
    contextlib.__file__,
)

# Code that may stop in its middle while other code runs.
_MAY_STOP = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR

# The files of the user's frames and of internal ones; each is classified once.
user_files: set[str] = set()
_internal_files: set[str] = set()


def user_frame(frame: FrameType) -> FrameType:
    """Return the first frame of the user's code, from one on outwards."""
    while (filename := frame.f_code.co_filename) not in user_files:
        if filename not in _internal_files and not is_internal(filename):
            return frame
        if (outer := frame.f_back) is None:
            return frame
        frame = outer
    return frame


def is_internal(filename: str) -> bool:
    """Return whether a file is part of this package's tensors, layers or optimisers."""
    verdict = filename.startswith(_INTERNAL)
    (_internal_files if verdict else user_files).add(filename)
    return verdict


def line_of(tensor: Any) -> str:
    """Return the line that made a tensor, as ``file:line``."""
    code, offset = tensor._code, tensor._offset  # noqa: SLF001
    lines = (
        line
        for start, end, line in code.co_lines()
        if start <= offset < end and line is not None
    )
    return f"{code.co_filename}:{next(lines, code.co_firstlineno)}"


def current_line() -> str:
    """Return the line of the user's code that is running now, as ``file:line``."""
    frame = user_frame(caller(1))
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def find_opener(frame: FrameType) -> FrameType | None:
    """Return the user's frame that opens a scope, from that of the context manager."""
    # A generator that `contextlib` makes a context manager of opens the scope for the code
    # of the ``with`` statement.
    found: FrameType | None = frame
    while found is not None and (_of_contextlib(found.f_back) or _of_contextlib(found)):
        found = found.f_back
    return found


def may_stop(frame: FrameType) -> bool:
    """Return whether the code of a frame may stop in its middle while other code runs."""
    return bool(frame.f_code.co_flags & _MAY_STOP)


def nearest_running(frames: Sequence[FrameType | None]) -> FrameType | None:
    """Return the innermost of some frames that runs on this thread, or None."""
    frame: FrameType | None = caller(1)
    while frame is not None and frame not in frames:
        frame = frame.f_back
    return frame


def _of_contextlib(frame: FrameType | None) -> bool:
    """Return whether a frame belongs to Python's context managers."""
    return frame is not None and frame.f_code.co_filename == contextlib.__file__


# How many references to dead tensors a scope may have before it drops them.
_DEAD_LIMIT = 1024


class Released:
    """Replaces the array of a released tensor: any use raises an error."""

    __slots__ = ("line",)

    def __init__(self, line: str) -> None:
        self.line = line  # that made the tensor

    def refuse(self, *_: Any, **__: Any) -> NoReturn:
        """Raise the error that says what happened, and how to keep such a tensor."""
        raise ReleasedError(
            f"the tensor made at {self.line} was released when its scope ended; "
            "call .keep() on it inside the scope, or take .numpy() there"
        )

    def __getattr__(self, name: str) -> NoReturn:
        # A private name is only probed for, as hasattr does for protocols.
        if name.startswith("_"):
            raise AttributeError(name)
        self.refuse()

    # NumPy, PyTorch and JAX call these before they use an object that is not theirs.
    __array__ = __array_ufunc__ = __array_function__ = refuse
    __torch_function__ = __jax_array__ = __dlpack__ = __getitem__ = refuse
    __len__ = __bool__ = __iter__ = refuse


class Scope:
    """The tensors made since it was opened, on this thread."""

    # A generator or a coroutine that stops inside leaves its scope open while other code
    # runs. So such a scope, and each opened inside one, checks for every tensor whether the
    # code that opened it is running.

    __slots__ = (
        "crowd",  # at how many references those to dead tensors are dropped
        "limit",  # the same; 0: check each tensor; below 0: ended, so that `thin` is called
        "made",  # weak references to the tensors made inside
        "opener",  # the frame that opened it, if it may stop
        "outer",  # the scope around it
    )

    def __init__(self, outer: Scope | None, opener: FrameType | None = None) -> None:
        is_inside_one = outer is not None and outer.opener is not None
        self.outer = outer
        self.opener = (
            opener if opener is not None and (is_inside_one or may_stop(opener)) else None
        )
        self.made: list[weakref.ref[Any]] = []
        self.crowd = _DEAD_LIMIT
        self.limit = _DEAD_LIMIT if self.opener is None else 0

    @property
    def has_ended(self) -> bool:
        """Whether its block was left."""
        return self.limit < 0

    def remove(self, reference: weakref.ref[Any]) -> bool:
        """Remove one tensor; returns whether it was made inside."""
        # Newest first, and by identity: equal references would be of equal tensors.
        for position in range(len(self.made) - 1, -1, -1):
            if self.made[position] is reference:
                del self.made[position]
                return True
        return False

    def thin(self) -> None:
        """Drop dead references; passes on a tensor that other code made."""
        if self.has_ended:
            # Moves tensors entered after the end to the scope around, if one is open.
            around = _first_open(self)
            if innermost.get() is self:
                innermost.set(around)
            if around is not None:
                around.made.extend(self.made)
            self.made.clear()
        elif self.opener is not None:
            reference, found = self.made.pop(), _running(self)
            if found is not None:
                found.made.append(reference)
                if len(found.made) > found.crowd:
                    found._drop_dead()  # noqa: SLF001
        else:
            self.limit = self._drop_dead()

    def close(self) -> None:
        """Mark the scope as ended."""
        self.limit, self.opener = -1, None

    def _drop_dead(self) -> int:
        """Drop references to dead tensors; returns when to do so next."""
        self.made[:] = [reference for reference in self.made if reference() is not None]
        self.crowd = max(_DEAD_LIMIT, 2 * len(self.made))
        return self.crowd


# The scope that is open on this thread, or in this task.
innermost: ContextVar[Scope | None] = ContextVar("innermost", default=None)


def _first_open(scope: Scope | None) -> Scope | None:
    """Return the scope itself if it is open, else the first around it that is."""
    while scope is not None and scope.has_ended:
        scope = scope.outer
    return scope


def _running(scope: Scope | None) -> Scope | None:
    """Return the nearest, of a scope and those around it, whose opener runs."""
    around: list[Scope] = []
    while (scope := _first_open(scope)) is not None:
        around.append(scope)
        scope = scope.outer
    openers = [scope.opener for scope in around if scope.opener is not None]
    frame = nearest_running(openers) if openers else None
    return next((scope for scope in around if scope.opener is frame), None)


@contextmanager
def scope() -> Generator[None]:
    """Release every tensor that is made inside when it ends.

    The memory is freed at that moment, even if something still refers to such a tensor; a
    later use of it raises a `ReleasedError` that names the line that made it. Scopes may be
    nested.

    These outlive a scope: tensors on which `Tensor.keep` was called, the arrays of
    parameters, buffers and optimisers, and exported values (``.numpy()``, ``np.asarray``,
    DLPack). A scope belongs to the thread that opened it. If a generator or a coroutine
    opened it, it contains only what that one makes, not what other code makes while it
    waits. Only a copied context (``contextvars.copy_context``) takes a function's scope
    along. A scope that ends before those inside it releases its own tensors only; the
    inner ones continue until they end.

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
    opened = Scope(_first_open(innermost.get()), find_opener(caller(0)))
    innermost.set(opened)
    try:
        yield
    finally:
        # No token is reset: scopes may be left in any order, and by another thread.
        opened.close()
        innermost.set(_first_open(innermost.get()))
        for reference in opened.made:
            tensor = reference()
            if tensor is not None:
                tensor._replace(Released(line_of(tensor)))
        opened.made.clear()


@contextmanager
def suspend_scopes() -> Generator[None]:
    """Run a block outside of all scopes: none releases what is made in it."""
    token = innermost.set(None)
    try:
        yield
    finally:
        innermost.reset(token)


def move_outwards(tensor: Any) -> None:
    """Move a tensor from the scope that it was made in to the one around it."""
    reference = weakref.ref(tensor)
    found = innermost.get()
    while found is not None and not found.remove(reference):
        found = found.outer
    around = None if found is None else _running(found.outer)
    if around is not None:
        around.made.append(reference)
