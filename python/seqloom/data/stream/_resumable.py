"""How far a stream is, and going on from there in another process."""

from __future__ import annotations

import hashlib
import os
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seqloom.data._epoch import Epoch
from seqloom.data._state import VERSION, check_state
from seqloom.io._origin import check_regular

_ENDS = 1 << 16  # bytes that are hashed at the beginning and at the end


@dataclass(slots=True)
class Cursor:
    """How far an epoch has been handed out.

    Args:
        epoch: Which one.
        place: How many records.
        is_done: Whether that was all.

    Examples:
        >>> Cursor(2).place
        0
    """

    epoch: int = 0
    place: int = 0
    is_done: bool = False


class Resumable(ABC):
    """Epochs that begin one after the other, or where a saved state says.

    Examples:
        >>> from pathlib import Path
        >>> from seqloom.data import SequenceStream
        >>> _ = Path("a.fa").write_text(">x\\nACGT\\n")
        >>> isinstance(SequenceStream("a.fa"), Resumable)
        True
    """

    def __init__(self) -> None:
        self._epoch = Epoch()
        self._cursor = Cursor()
        self._resume = 0

    def _begin(self) -> Cursor:
        """Begins an epoch, or goes on with the one that was loaded."""
        self._cursor = Cursor(self._epoch.next(), self._resume)
        self._resume = 0
        return self._cursor

    def set_epoch(self, epoch: int) -> None:
        """Makes the next ``iter`` this epoch, in all worker processes too.

        Args:
            epoch: Its number, from 0.

        Raises:
            ArgumentError: The number is below 0.

        Examples:
            >>> from pathlib import Path
            >>> from seqloom.data import SequenceStream
            >>> _ = Path("a.fa").write_text(">x\\nACGT\\n")
            >>> SequenceStream("a.fa").set_epoch(2)
        """
        self._epoch.set(epoch)
        self._cursor, self._resume = Cursor(epoch), 0

    def state_dict(self) -> dict[str, Any]:
        """Says which record comes next, in numbers that JSON can hold.

        Returns:
            What ``load_state_dict`` takes.

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
        return self.state_at(cursor.epoch, cursor.place)

    def state_at(self, epoch: int, place: int) -> dict[str, Any]:
        """Writes the state of a stream that has handed out so many records of an epoch.

        Args:
            epoch: The epoch.
            place: The number of records.

        Returns:
            What ``load_state_dict`` takes.

        Examples:
            >>> from pathlib import Path
            >>> from seqloom.data import SequenceStream
            >>> _ = Path("a.fa").write_text(">x\\nACGT\\n>y\\nGG\\n")
            >>> SequenceStream("a.fa").state_at(3, 1)["epoch"]
            3
        """
        return {"version": VERSION, "epoch": epoch, "position": place, **self._identity()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Makes the next ``iter`` go on where a state was taken.

        Args:
            state: What ``state_dict`` gave, here or in another process.

        Raises:
            ArgumentError: It is no whole state, or of other files, another seed, another
                window or another shard.

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
    def _identity(self) -> dict[str, Any]:
        """Names what a state belongs to."""


def file_digest(path: str) -> str:
    """Hashes the size, the beginning and the end of a file, to recognise it again."""
    check_regular(path)
    digest = hashlib.blake2b(digest_size=16)
    with Path(path).open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        digest.update(b"%d:" % size)
        digest.update(file.read(_ENDS))
        file.seek(max(size - _ENDS, 0))
        digest.update(file.read(_ENDS))
    return digest.hexdigest()
