"""Find the line of code that created a tensor, and release tensors at the end of scopes.

A tensor stores a code object and the offset of an instruction. Messages compute the
line number from the code object and the offset. Stack frames inside this package's
tensors, layers and optimisers are skipped.
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


# Returns the stack frame of a caller, faster than by raising an exception.
frame_at = sys._getframe  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]

PACKAGE_FOLDER = Path(__file__).parents[1]
_INTERNAL_PATHS = (
    *(f"{PACKAGE_FOLDER / folder}/" for folder in ("tensor", "nn", "optim", "export")),
    contextlib.__file__,
)

# flags of code that may pause while other code runs
_PAUSING_CODE = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR

# File names of user code and of internal code; each name is classified once.
user_files: set[str] = set()
_internal_files: set[str] = set()


def find_user_frame(frame: FrameType) -> FrameType:
    """Return the innermost stack frame of user code, starting at the given frame."""
    while (filename := frame.f_code.co_filename) not in user_files:
        if filename not in _internal_files and not is_internal(filename):
            return frame
        if (outer := frame.f_back) is None:
            return frame
        frame = outer
    return frame


def is_internal(filename: str) -> bool:
    """Return whether a file belongs to this package's tensors, layers or optimisers."""
    verdict = filename.startswith(_INTERNAL_PATHS)
    (_internal_files if verdict else user_files).add(filename)
    return verdict


def find_line(tensor: Any) -> str:
    """Return the line that created a tensor, as ``file:line``."""
    code, offset = tensor._code, tensor._offset  # noqa: SLF001
    lines = (
        line
        for start, end, line in code.co_lines()
        if start <= offset < end and line is not None
    )
    return f"{code.co_filename}:{next(lines, code.co_firstlineno)}"


def current_line() -> str:
    """Return the line of user code that is being executed, as ``file:line``."""
    frame = find_user_frame(frame_at(1))
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def find_opening_frame(frame: FrameType) -> FrameType | None:
    """Return the stack frame of the ``with`` statement that opens a scope."""
    # Frames of `contextlib` are skipped, because a scope may be opened inside another
    # context manager.
    found: FrameType | None = frame
    while found is not None and (_is_contextlib(found.f_back) or _is_contextlib(found)):
        found = found.f_back
    return found


def can_pause(frame: FrameType) -> bool:
    """Return whether a stack frame belongs to a generator or coroutine, which can pause."""
    return bool(frame.f_code.co_flags & _PAUSING_CODE)


def find_running_frame(frames: Sequence[FrameType | None]) -> FrameType | None:
    """Return the innermost of the given frames that is on this thread's stack, or None."""
    frame: FrameType | None = frame_at(1)
    while frame is not None and frame not in frames:
        frame = frame.f_back
    return frame


def _is_contextlib(frame: FrameType | None) -> bool:
    """Return whether a stack frame belongs to `contextlib`."""
    return frame is not None and frame.f_code.co_filename == contextlib.__file__


# Minimum number of references at which a scope deletes references to dead tensors.
_MAX_DEAD_REFERENCES = 1024


class ReleasedArray:
    """Placeholder for the array of a released tensor; any use raises an error."""

    __slots__ = ("line",)

    def __init__(self, line: str) -> None:
        self.line = line  # line that created the tensor

    def raise_released(self, *_: Any, **__: Any) -> NoReturn:
        """Raise an error that explains why the tensor was released, and how to keep it."""
        raise ReleasedError(
            f"the tensor created at {self.line} was released when its scope ended; "
            "call .keep() on it inside the scope, or take .numpy() there"
        )

    def __getattr__(self, name: str) -> NoReturn:
        # hasattr() probes private names when it looks for protocols.
        if name.startswith("_"):
            raise AttributeError(name)
        self.raise_released()

    # NumPy, PyTorch and JAX call these methods before they use a foreign object.
    __array__ = __array_ufunc__ = __array_function__ = raise_released
    __torch_function__ = __jax_array__ = __dlpack__ = __getitem__ = raise_released
    __len__ = __bool__ = __iter__ = raise_released


class Scope:
    """Tensors that were created on one thread since the scope was opened."""

    # A generator or coroutine may pause inside its scope while other code runs. The
    # scope of a generator, and each scope inside it, checks for every new tensor
    # whether the code that opened the scope is running.

    __slots__ = (
        "limit",  # `prune` runs if `made` is longer; -1 means that the scope ended
        "made",  # weak references to the tensors of the scope
        "opener",  # stack frame of the generator or coroutine that opened the scope, if any
        "outer",  # the enclosing scope
        "prune_at",  # number of references at which references to dead tensors are deleted
    )

    def __init__(self, outer: Scope | None, opener: FrameType | None = None) -> None:
        is_inside_one = outer is not None and outer.opener is not None
        self.outer = outer
        self.opener = (
            opener if opener is not None and (is_inside_one or can_pause(opener)) else None
        )
        self.made: list[weakref.ref[Any]] = []
        self.prune_at = _MAX_DEAD_REFERENCES
        self.limit = _MAX_DEAD_REFERENCES if self.opener is None else 0

    @property
    def has_ended(self) -> bool:
        """True if the block has ended."""
        return self.limit < 0

    def remove(self, reference: weakref.ref[Any]) -> bool:
        """Remove a tensor from the scope; return whether it was in the scope."""
        # Search from the newest tensor. Use `is`, because `==` would compare the
        # tensors.
        for position in range(len(self.made) - 1, -1, -1):
            if self.made[position] is reference:
                del self.made[position]
                return True
        return False

    def prune(self) -> None:
        """Delete references to dead tensors, or move tensors to the correct scope."""
        if self.has_ended:
            # Tensors that were added after the scope's end belong to the enclosing open
            # scope.
            around = _find_open_scope(self)
            if innermost.get() is self:
                innermost.set(around)
            if around is not None:
                around.made.extend(self.made)
            self.made.clear()
        elif self.opener is not None:
            reference, found = self.made.pop(), _find_running_scope(self)
            if found is not None:
                found.made.append(reference)
                if len(found.made) > found.prune_at:
                    found._drop_dead()  # noqa: SLF001
        else:
            self.limit = self._drop_dead()

    def close(self) -> None:
        """Mark the scope as ended."""
        self.limit, self.opener = -1, None

    def _drop_dead(self) -> int:
        """Delete references to dead tensors; return the length for the next deletion."""
        self.made[:] = [reference for reference in self.made if reference() is not None]
        self.prune_at = max(_MAX_DEAD_REFERENCES, 2 * len(self.made))
        return self.prune_at


# The innermost open scope of this thread or task.
innermost: ContextVar[Scope | None] = ContextVar("innermost", default=None)


def _find_open_scope(scope: Scope | None) -> Scope | None:
    """Return a scope if it is open, otherwise the innermost open scope around it."""
    while scope is not None and scope.has_ended:
        scope = scope.outer
    return scope


def _find_running_scope(scope: Scope | None) -> Scope | None:
    """Return the innermost open scope that the running code has opened."""
    around: list[Scope] = []
    while (scope := _find_open_scope(scope)) is not None:
        around.append(scope)
        scope = scope.outer
    openers = [scope.opener for scope in around if scope.opener is not None]
    frame = find_running_frame(openers) if openers else None
    return next((scope for scope in around if scope.opener is frame), None)


@contextmanager
def scope() -> Generator[None]:
    """Release every tensor created inside the block when the block ends.

    Memory is freed at the end of the block, even if a variable still refers to the
    tensor. A later use of the tensor raises `ReleasedError` with the line that created
    the tensor. Scopes may be nested.

    A scope does not release tensors on which `Tensor.keep` was called, the arrays of
    parameters, buffers and optimisers, or exported values (``.numpy()``,
    ``np.asarray``, DLPack). A scope belongs to the thread that opened it. If a
    generator or coroutine is suspended inside its scope, tensors that other code
    creates do not belong to the scope. A scope applies in another `contextvars` context
    only if that is a copy of the current context. A scope that ends before its inner
    scopes releases only its own tensors.

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
        seqloom.errors.ReleasedError: the tensor created at ... was released ...
    """
    opened = Scope(_find_open_scope(innermost.get()), find_opening_frame(frame_at(0)))
    innermost.set(opened)
    try:
        yield
    finally:
        # Do not reset a token, because scopes may end in any order and on any thread.
        opened.close()
        innermost.set(_find_open_scope(innermost.get()))
        for reference in opened.made:
            tensor = reference()
            if tensor is not None:
                tensor._replace(ReleasedArray(find_line(tensor)))
        opened.made.clear()


@contextmanager
def suspend_scopes() -> Generator[None]:
    """Disable scopes within a block, so that no scope releases the block's tensors."""
    token = innermost.set(None)
    try:
        yield
    finally:
        innermost.reset(token)


def move_to_outer_scope(tensor: Any) -> None:
    """Move a tensor from its scope to the enclosing scope."""
    reference = weakref.ref(tensor)
    found = innermost.get()
    while found is not None and not found.remove(reference):
        found = found.outer
    around = None if found is None else _find_running_scope(found.outer)
    if around is not None:
        around.made.append(reference)
