"""`TorchStream`, a stream for PyTorch loaders; importing this file requires PyTorch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch.utils.data import IterableDataset, get_worker_info

if TYPE_CHECKING:
    from collections.abc import Iterator

    from seqloom.data.stream._resumable import Resumable


class TorchStream(IterableDataset[dict[str, Any]]):
    """A stream for PyTorch loaders; each worker of each rank reads a separate shard."""

    def __init__(self, stream: Resumable, rank: tuple[int, int]) -> None:
        super().__init__()
        self.stream = stream
        self.rank = rank
        self._parts: dict[tuple[int, int], Resumable] = {}

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self._worker_shard())

    def _worker_shard(self) -> Resumable:
        worker = get_worker_info()
        number = (0, 1) if worker is None else (worker.id, worker.num_workers)
        if number not in self._parts:
            self._parts[number] = self.stream.shard(*self.rank).shard(*number)
        return self._parts[number]

    def state_dict(self) -> dict[str, Any]:
        """Return the position of this worker's shard, for torchdata loaders."""
        return self._worker_shard().state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Resume this worker's shard at a saved position."""
        self._worker_shard().load_state_dict(state)

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch of the next pass, also in all worker processes."""
        self.stream.set_epoch(epoch)
