"""`Resumable`, the base class of streams that resume from saved states."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from seqloom.data._position import STATE_FORMAT, Epoch, check_state

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(slots=True)
class Cursor:
    """A position in an epoch."""

    epoch: int = 0
    position: int = 0  # number of yielded records
    is_done: bool = False


class Resumable(ABC):
    """Base class of streams whose epochs can resume from a saved state."""

    def __init__(self) -> None:
        self._epoch = Epoch()
        self._cursor = Cursor()
        self._resume = 0

    def _begin(self) -> Cursor:
        """Begin an epoch, or resume at a loaded state."""
        self._cursor = Cursor(self._epoch.next(), self._resume)
        self._resume = 0
        return self._cursor

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch of the next pass, also in all worker processes.

        Args:
            epoch: The epoch, counted from 0.

        Raises:
            ArgumentError: The epoch is negative.

        Examples:
            >>> from pathlib import Path
            >>> from seqloom.data import SequenceStream
            >>> _ = Path("a.fa").write_text(">x\\nACGT\\n")
            >>> SequenceStream("a.fa").set_epoch(2)
        """
        self._epoch.set(epoch)
        self._cursor, self._resume = Cursor(epoch), 0

    def state_dict(self) -> dict[str, Any]:
        """Return the current position as a dict of JSON values.

        Returns:
            The state, for ``load_state_dict``.

        Examples:
            >>> from pathlib import Path
            >>> from seqloom.data import SequenceStream
            >>> _ = Path("a.fa").write_text(">x\\nACGT\\n>y\\nGG\\n")
            >>> stream = SequenceStream("a.fa")
            >>> _ = next(iter(stream))
            >>> state = stream.state_dict()
            >>> state["epoch"], state["position"]
            (0, 1)
        """
        cursor = self._cursor
        if cursor.is_done:
            return self.state_at(cursor.epoch + 1, 0)
        return self.state_at(cursor.epoch, cursor.position)

    def state_at(self, epoch: int, position: int) -> dict[str, Any]:
        """Return the state after a number of records of an epoch.

        Args:
            epoch: The epoch.
            position: The number of records that have been yielded.

        Returns:
            The state, for ``load_state_dict``.

        Examples:
            >>> from pathlib import Path
            >>> from seqloom.data import SequenceStream
            >>> _ = Path("a.fa").write_text(">x\\nACGT\\n>y\\nGG\\n")
            >>> SequenceStream("a.fa").state_at(3, 1)["epoch"]
            3
        """
        return {
            "version": STATE_FORMAT,
            "epoch": epoch,
            "position": position,
            **self._identity(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Resume the next pass at a saved position.

        Args:
            state: A result of ``state_dict``, from any process.

        Raises:
            ArgumentError: The state is incomplete, or was saved with other files, another
                seed, another window or another shard.

        Examples:
            >>> from pathlib import Path
            >>> from seqloom.data import SequenceStream
            >>> _ = Path("a.fa").write_text(">x\\nACGT\\n>y\\nGG\\n")
            >>> stream = SequenceStream("a.fa")
            >>> stream.load_state_dict({**stream.state_dict(), "position": 1})
            >>> [item["id"] for item in stream]
            ['y']
        """
        check_state(state, self._identity(), owner="stream")
        self._epoch.set(int(state["epoch"]))
        self._resume = int(state["position"])
        self._cursor = Cursor(int(state["epoch"]), self._resume)

    @abstractmethod
    def __iter__(self) -> Iterator[dict[str, Any]]: ...

    @abstractmethod
    def shard(self, index: int, count: int) -> Resumable:
        """Return a shard of the stream."""

    @abstractmethod
    def _identity(self) -> dict[str, Any]:
        """Return the files and settings that must equal those of a saved state."""
