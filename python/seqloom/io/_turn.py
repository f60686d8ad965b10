"""One thread at a time."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from seqloom.errors import ArgumentError

if TYPE_CHECKING:
    from types import TracebackType


class Turn:
    """Lets one thread in, and refuses another for as long: it does not wait.

    Args:
        name: What the file is called.

    Examples:
        >>> turn = Turn("a.fa")
        >>> with turn:
        ...     try:
        ...         turn.__enter__()
        ...     except ArgumentError as error:
        ...         print(str(error)[:40])
        a.fa: the reader is in use by another th
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        # Waiting would hide the mistake: two threads would share records out by chance.
        if not self._lock.acquire(blocking=False):
            raise ArgumentError(
                f"{self._name}: the reader is in use by another thread; a reader belongs "
                "to one thread at a time: open one for each"
            )

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._lock.release()
