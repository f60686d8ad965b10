"""The epoch that a dataset is in, for who asks by plain numbers."""

from __future__ import annotations

from typing import Any

from seqloom.data._state import check_integer


class Epoch:
    """A number that the processes of a loader share, so that setting it reaches them all.

    It lives in shared memory, which a forked process inherits; into a pickle it goes only
    while a process is being spawned, else the pickle holds its value.
    """

    def __init__(self, shared: Any = None) -> None:
        self._shared: Any = _cells() if shared is None else shared
        self._seen = 0
        self._made = 0

    def get(self) -> int:
        """Tells the epoch that was set last."""
        return self._shared[1]

    def set(self, epoch: int) -> None:
        """Sets it, here and in all processes that came from this one."""
        check_integer("epoch", epoch)
        self._shared[1] = epoch
        self._shared[0] += 1

    def next(self) -> int:
        """Counts on from the epoch that was set last: each call is one epoch later."""
        times, epoch = self._shared[:]
        if times != self._seen:
            self._seen, self._made = times, 0
        self._made += 1
        return epoch + self._made - 1

    def apart(self) -> Epoch:
        """Counts apart, from the same epoch that is set for all."""
        return Epoch(self._shared)

    def __getstate__(self) -> dict[str, Any]:
        from multiprocessing.context import get_spawning_popen

        if get_spawning_popen() is not None:
            return self.__dict__
        return {**self.__dict__, "_shared": self._shared[:]}

    def __setstate__(self, state: dict[str, Any]) -> None:
        shared = state["_shared"]
        if isinstance(shared, list):
            cells = _cells()
            cells[:] = shared
            state = {**state, "_shared": cells}
        self.__dict__.update(state)


def _cells() -> Any:
    """Makes two integers in shared memory: how often it was set, and the epoch."""
    from multiprocessing import sharedctypes  # takes 20 ms, which most programs never need

    return sharedctypes.RawArray("q", 2)
