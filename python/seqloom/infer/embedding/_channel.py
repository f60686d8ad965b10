"""A channel of a few values from one thread to another, which ends when either fails."""

from __future__ import annotations

import threading
from collections import deque
from concurrent.futures import CancelledError
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Value = TypeVar("Value")


class Channel(Generic[Value]):
    """At most so many values that one thread has made and another has not taken."""

    def __init__(self, capacity: int) -> None:
        self._values: deque[Value] = deque()
        self._capacity = capacity
        self._changed = threading.Condition()
        self._is_over = False
        self._error: BaseException | None = None

    def put(self, value: Value) -> None:
        """Hands a value over; waits while the channel is full."""
        # A thread whose other side has ended has nothing left to do: that is no error.
        with self._changed:
            self._changed.wait_for(lambda: self._is_over or self._has_room())
            if self._is_over:
                raise CancelledError
            self._values.append(value)
            self._changed.notify_all()

    def __iter__(self) -> Iterator[Value]:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._is_over or self._values)
                if not self._values:
                    break
                value = self._values.popleft()
                self._changed.notify_all()
            yield value
        self.check()

    def check(self) -> None:
        """Raises the error that ended the channel, if one did."""
        if self._error is not None:
            raise self._error

    def close(self, error: BaseException | None = None) -> None:
        """Ends the channel: its values can still be taken; then the error is raised."""
        with self._changed:
            self._is_over = True
            self._error = self._error or error
            self._changed.notify_all()

    def _has_room(self) -> bool:
        """Says whether a value fits."""
        return len(self._values) < self._capacity


def start(name: str, work: Callable[[], Any], *channels: Channel[Any]) -> threading.Thread:
    """Runs work on a thread; its end, or its error, closes the channels."""

    def run() -> None:
        error: BaseException | None = None
        try:
            work()
        except CancelledError:
            pass
        except BaseException as failure:  # noqa: BLE001 - raised by whoever reads
            error = failure
        for channel in channels:
            channel.close(error)

    thread = threading.Thread(target=run, name=f"seqloom-{name}", daemon=True)
    thread.start()
    return thread
