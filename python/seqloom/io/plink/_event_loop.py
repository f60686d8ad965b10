"""A loop of events, on a thread of its own, in which requests wait.

Whoever calls may run a loop already (a notebook does) and may press Ctrl-C: it waits for a
future, and what it gives up is cancelled.
"""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from concurrent.futures import Future
    from typing import Any

T = TypeVar("T")

_turn = threading.Lock()
_loops: list[asyncio.AbstractEventLoop] = []


def begin(work: Coroutine[Any, Any, T]) -> Future[T]:
    """Begins a piece of work beside the caller."""
    return asyncio.run_coroutine_threadsafe(work, _loop())


def _loop() -> asyncio.AbstractEventLoop:
    """Gives the loop of this process, and begins it the first time."""
    with _turn:
        if not _loops:
            _loops.append(asyncio.new_event_loop())
            run = _loops[0].run_forever
            threading.Thread(target=run, name="seqloom-requests", daemon=True).start()
    return _loops[0]
