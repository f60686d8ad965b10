"""Which code opened a scope, and whether it runs: generators and coroutines may stop."""

from __future__ import annotations

import contextlib
import inspect
from typing import TYPE_CHECKING

from seqloom.tensor._memory._origin import caller

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType

_MAY_STOP = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


def opener(frame: FrameType) -> FrameType | None:
    """The frame that opens a scope.

    A generator that `contextlib` makes a context manager of opens it for the code of the
    ``with`` statement.

    Args:
        frame: The frame of the innermost context manager.

    Returns:
        A frame of the user's.
    """
    found: FrameType | None = frame
    while found is not None and (_of_contextlib(found.f_back) or _of_contextlib(found)):
        found = found.f_back
    return found


def may_stop(frame: FrameType) -> bool:
    """Says whether the code of a frame may stop in its middle, and others go on."""
    return bool(frame.f_code.co_flags & _MAY_STOP)


def nearest(frames: Sequence[FrameType | None]) -> FrameType | None:
    """Of some frames, the innermost that runs on this thread.

    Args:
        frames: Frames, those of suspended code too.

    Returns:
        One of them; None where none of them runs.
    """
    frame: FrameType | None = caller(1)
    while frame is not None and frame not in frames:
        frame = frame.f_back
    return frame


def _of_contextlib(frame: FrameType | None) -> bool:
    """Whether a frame is of the machinery of context managers."""
    return frame is not None and frame.f_code.co_filename == contextlib.__file__
