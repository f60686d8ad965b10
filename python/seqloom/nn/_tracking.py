"""Which parameters record gradients now, on which thread."""

from __future__ import annotations

import threading
from contextvars import ContextVar
from typing import TYPE_CHECKING, NamedTuple

from seqloom.errors import CaptureError, GradientError
from seqloom.tensor._compile._symbol import capturing

if TYPE_CHECKING:
    from seqloom.tensor import Tensor

# The parameters, by id, whose gradients the running `value_and_grad` of this thread takes.
tracked: ContextVar[dict[int, Tensor] | None] = ContextVar("tracked", default=None)


class Tracking(NamedTuple):
    """A call of `value_and_grad`, for other threads that compute a part of its loss."""

    params: dict[int, Tensor]  # by the parameter's id
    owner: int  # the thread of the call
    # In a compiled step: the threads that ran before. A later one computes a part of it.
    before: frozenset[int] | None


trackings: dict[int, Tracking] = {}  # the calls that run now on any thread, by their id


def find_tracked(param: int, path: str) -> Tensor | None:
    """Returns what records the gradient of a parameter on this thread, if anything."""
    known = tracked.get()
    if known is not None:
        return known.get(param)
    # A thread that runs no `value_and_grad` records for the call on another thread.
    if not trackings or capturing.get() is not None:
        return None
    running = [one for one in list(trackings.values()) if param in one.params]
    if not running:
        return None
    thread = threading.get_ident()
    if any(one.before is not None and thread not in one.before for one in running):
        raise CaptureError(
            f"{path} is read in a thread that the compiled step started, and the "
            "program would not compute that part; compute it on the thread of the step, or "
            "switch compiling off: sl.tensor.compile(step, enabled=False)"
        )
    eager = [one for one in running if one.before is None]
    if len({one.owner for one in eager}) > 1:
        raise GradientError(
            f"{path} is read in a thread of its own while value_and_grad runs on "
            f"{len(eager)} other threads with this parameter, so it is unclear which of "
            "them needs the gradient; call value_and_grad in this thread, or give each "
            "thread a copy of the module"
        )
    return eager[-1].params[param] if eager else None
