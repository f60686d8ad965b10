"""Which code opened a scope, and whether it runs: generators and coroutines may stop."""

from __future__ import annotations

import contextlib
import inspect
from typing import TYPE_CHECKING

from seqloom.tensor._scope._origin import caller

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType

_MAY_STOP = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


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
