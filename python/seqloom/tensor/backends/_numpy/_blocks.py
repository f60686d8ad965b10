"""Large arrays whose memory comes back when the last view of them has died."""

# New memory costs a page fault for every 4 KiB at its first writing, several times what
# the writing costs; and the C library gives large pieces back to the system each time.

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.tensor._memory._reserve import reserves

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Bytes = NDArray[np.uint8]

_LINE = 64  # bytes: a line of the cache
_LARGE = 262_144  # bytes from which on memory is kept
_STEPS = 8  # sizes between two powers of two


class Blocks:
    """Pieces of memory that are lent as arrays, and lent again.

    As much is kept as was once in use at a time, and no more: what does not fit any more
    is let go before new memory is taken.

    Attributes:
        live: Bytes that are lent.
        idle: Bytes that wait to be lent again.
    """

    def __init__(self) -> None:
        self.live = 0
        self.idle = 0
        self._peak = 0
        self._waiting: dict[int, list[_Block]] = {}
        self._lock = Lock()

    def fresh(self, shape: tuple[int, ...] | int, dtype: Any) -> NDArray[Any]:
        """An array that holds anything, in memory that was used before where there is some.

        Args:
            shape: Its axes.
            dtype: Its element type.

        Returns:
            An array without gaps.
        """
        dtype = np.dtype(dtype)
        count = 1
        for size in shape if isinstance(shape, tuple) else (shape,):
            count *= size
        nbytes = count * dtype.itemsize
        if nbytes < _LARGE:
            return np.empty(shape, dtype)
        block = self._taken(_rounded(nbytes))
        lent = np.asarray(_Lease(block, self))
        return lent[:nbytes].view(dtype).reshape(shape)

    def _taken(self, size: int) -> _Block:
        """A block of that size: one that waits, or a new one."""
        # A lock that cannot be had at once may be one that a fork left closed.
        if not self._lock.acquire(timeout=0.01):
            return _Block(size)
        try:
            waiting = self._waiting.get(size)
            block = waiting.pop() if waiting else None
            self.live += size
            self._peak = max(self._peak, self.live)
            self.idle -= size if block else 0
            self._let_go()
        finally:
            self._lock.release()
        return block or _Block(size)

    def _let_go(self) -> None:
        """Drops blocks that wait, oldest sizes first, while more is kept than was used."""
        for size in list(self._waiting):
            waiting = self._waiting[size]
            while waiting and self.live + self.idle > self._peak:
                waiting.pop()
                self.idle -= size
            if not waiting:
                del self._waiting[size]

    def give_back(self, block: _Block) -> None:
        """Keeps a block that nobody uses any more; drops it where that would wait."""
        if not self._lock.acquire(blocking=False):
            self.live -= block.size
            return
        try:
            self.live -= block.size
            self.idle += block.size
            self._waiting.setdefault(block.size, []).append(block)
        finally:
            self._lock.release()

    def drain(self) -> None:
        """Lets go of all that waits."""
        with self._lock:
            self._waiting.clear()
            self.idle, self._peak = 0, self.live


class _Block:
    """Memory of NumPy's, so that tracemalloc knows of it."""

    __slots__ = ("interface", "memory", "size")

    def __init__(self, size: int) -> None:
        self.size = size
        self.memory: Bytes = np.empty(size + _LINE, np.uint8)
        start: int = self.memory.ctypes.data
        self.interface = {
            "data": (start + -start % _LINE, False),
            "shape": (size,),
            "typestr": "|u1",
            "version": 3,
        }


class _Lease:
    """What an array over a block, and every view of it, keeps alive."""

    __slots__ = ("__array_interface__", "_block", "_owner")

    def __init__(self, block: _Block, owner: Blocks) -> None:
        self.__array_interface__ = block.interface
        self._block, self._owner = block, owner

    def __del__(self) -> None:
        self._owner.give_back(self._block)


def _rounded(nbytes: int) -> int:
    """The next of eight sizes between two powers of two, so that similar arrays share."""
    step = 1 << max((nbytes - 1).bit_length() - _STEPS.bit_length(), 0)
    return -(-nbytes // step) * step


BLOCKS = Blocks()
reserves.append(lambda: BLOCKS.idle)
fresh = BLOCKS.fresh
