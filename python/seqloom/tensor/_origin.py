"""The user's code: the line that made a tensor, and the frame that opened a scope.

A tensor keeps a code object and an offset of an instruction in it; the line is looked up
when a message needs it. Frames of this package's tensors, layers and optimisers are
skipped.
"""

from __future__ import annotations

import contextlib
import inspect
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence
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
    """Returns the first frame of the user's code, from one on outwards."""
    while (filename := frame.f_code.co_filename) not in user_files:
        if filename not in _internal_files and not is_internal(filename):
            return frame
        if (outer := frame.f_back) is None:
            return frame
        frame = outer
    return frame


def is_internal(filename: str) -> bool:
    """Whether a file is part of this package's tensors, layers or optimisers."""
    verdict = filename.startswith(_INTERNAL)
    (_internal_files if verdict else user_files).add(filename)
    return verdict


def line_of(tensor: Any) -> str:
    """Returns the line that made a tensor, as ``file:line``."""
    code, offset = tensor._code, tensor._offset  # noqa: SLF001
    lines = (
        line
        for start, end, line in code.co_lines()
        if start <= offset < end and line is not None
    )
    return f"{code.co_filename}:{next(lines, code.co_firstlineno)}"


def current_line() -> str:
    """Returns the line of the user's code that is running now, as ``file:line``."""
    frame = user_frame(caller(1))
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def find_opener(frame: FrameType) -> FrameType | None:
    """Returns the user's frame that opens a scope, from that of the context manager."""
    # A generator that `contextlib` makes a context manager of opens the scope for the code
    # of the ``with`` statement.
    found: FrameType | None = frame
    while found is not None and (_of_contextlib(found.f_back) or _of_contextlib(found)):
        found = found.f_back
    return found


def may_stop(frame: FrameType) -> bool:
    """Whether the code of a frame may stop in its middle while other code runs."""
    return bool(frame.f_code.co_flags & _MAY_STOP)


def nearest_running(frames: Sequence[FrameType | None]) -> FrameType | None:
    """Returns the innermost of some frames that runs on this thread, or None."""
    frame: FrameType | None = caller(1)
    while frame is not None and frame not in frames:
        frame = frame.f_back
    return frame


def _of_contextlib(frame: FrameType | None) -> bool:
    """Whether a frame belongs to Python's context managers."""
    return frame is not None and frame.f_code.co_filename == contextlib.__file__
