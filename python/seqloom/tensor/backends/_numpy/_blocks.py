"""Large arrays whose memory comes back when the last view of them has died."""

# New memory costs a page fault for every 4 KiB at its first writing, several times what
# the writing costs; and the C library gives large pieces back to the system each time.

from __future__ import annotations

from collections import deque
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._system import after_fork
from seqloom.tensor._memory import reserves

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Bytes = NDArray[np.uint8]

_LINE = 64  # bytes: a line of the cache
_LARGE = 262_144  # bytes from which on memory is kept
_STEPS = 8  # sizes between two powers of two
# Of what was in use at a time. Forward and backward use other sizes: with less room than
# this a step would take new memory each time, and be resident no less.
_KEPT = 1.5


class Blocks:
    """Pieces of memory that are lent as arrays, and lent again.

    Half as much again is kept as was once in use at a time, and no more: what does not fit
    any more is let go before new memory is taken.
    """

    def __init__(self) -> None:
        self._live = self._idle = self._peak = 0
        self._waiting: dict[int, list[_Block]] = {}
        self._returned: deque[_Block] = deque()
        self._lock = Lock()

    @property
    def live(self) -> int:
        """Bytes that are lent."""
        with self._lock:
            self._collect()
            return self._live

    @property
    def idle(self) -> int:
        """Bytes that wait to be lent again."""
        with self._lock:
            self._collect()
            return self._idle

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
        block = self._take(_round_up(nbytes))
        lent = np.asarray(_Lease(block, self))
        return lent[:nbytes].view(dtype).reshape(shape)

    def _take(self, size: int) -> _Block:
        """A block of that size: one that waits, or a new one."""
        with self._lock:
            self._collect()
            waiting = self._waiting.get(size)
            block = waiting.pop() if waiting else None
            self._live += size
            self._peak = max(self._peak, self._live)
            self._idle -= size if block else 0
            self._let_go()
        return block or _Block(size)

    def give_back(self, block: _Block) -> None:
        """Keeps a block that nobody uses any more."""
        # Called whenever an array dies, in the midst of `_take` too: it may not wait.
        self._returned.append(block)

    def _collect(self) -> None:
        """Sorts what came back, by its size."""
        while self._returned:
            block = self._returned.popleft()
            self._live -= block.size
            self._idle += block.size
            self._waiting.setdefault(block.size, []).append(block)

    def _let_go(self) -> None:
        """Drops blocks that wait, oldest sizes first, while too much is kept."""
        most = self._peak * _KEPT
        for size in list(self._waiting):
            waiting = self._waiting[size]
            while waiting and self._live + self._idle > most:
                waiting.pop()
                self._idle -= size
            if not waiting:
                del self._waiting[size]

    def drain(self) -> None:
        """Lets go of all that waits."""
        with self._lock:
            self._collect()
            self._waiting.clear()
            self._idle, self._peak = 0, self._live

    def unlock(self) -> None:
        """Opens a lock that another thread held when this process was forked."""
        self._lock = Lock()


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


def _round_up(nbytes: int) -> int:
    """The next of eight sizes between two powers of two, so that similar arrays share."""
    step = 1 << max((nbytes - 1).bit_length() - _STEPS.bit_length(), 0)
    return -(-nbytes // step) * step


BLOCKS = Blocks()
after_fork(BLOCKS.unlock)
reserves.append(lambda: BLOCKS.idle)
fresh = BLOCKS.fresh
