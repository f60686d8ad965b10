"""Reading ahead in a thread."""

from __future__ import annotations

import queue
import threading
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

Item = TypeVar("Item")

_JOIN_SECONDS = 1.0
_END = object()


def read_ahead(items: Iterable[Item], most: int) -> Generator[Item]:
    """Takes up to `most` items ahead in a thread, which ends when this generator does."""
    done, waiting = threading.Event(), queue.Queue[tuple[Any, BaseException | None]](most)
    thread = threading.Thread(
        target=_read, args=(items, waiting, done), name="seqloom-reader", daemon=True
    )
    thread.start()
    try:
        while (found := waiting.get())[0] is not _END:
            yield found[0]
        if found[1] is not None:
            raise found[1]
    finally:
        done.set()
        _empty(waiting)
        # A thread that waits for a pipe ends when the pipe does: it is not waited for. The
        # garbage collector may close this generator in that very thread.
        if thread is not threading.current_thread():
            thread.join(_JOIN_SECONDS)


def _read(items: Iterable[Any], waiting: queue.Queue[Any], done: threading.Event) -> None:
    """Puts items into the queue until there are no more, or the consumer has stopped."""
    error = None
    try:
        for item in items:
            waiting.put((item, None))
            if done.is_set():
                return
    except BaseException as raised:  # noqa: BLE001 - raised again where items are taken
        error = raised
    waiting.put((_END, error))


def _empty(waiting: queue.Queue[Any]) -> None:
    """Makes room for a thread that waits to put an item into the queue."""
    while True:
        try:
            waiting.get_nowait()
        except queue.Empty:
            return
