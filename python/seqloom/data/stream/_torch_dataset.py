"""The one class that torch must be there for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch.utils.data import IterableDataset, get_worker_info

if TYPE_CHECKING:
    from collections.abc import Iterator

    from seqloom.data.stream._stream import SequenceStream


class TorchStream(IterableDataset[dict[str, Any]]):
    """Hands out a stream in torch's loader: each worker of each rank its shard.

    Args:
        stream: The stream.
        rank: Which of how many training processes.

    Examples:
        >>> from pathlib import Path
        >>> from seqloom.data import SequenceStream
        >>> _ = Path("a.fa").write_text(">x\\nACGT\\n")
        >>> [item["id"] for item in TorchStream(SequenceStream("a.fa"), (0, 1))]
        ['x']
    """

    def __init__(self, stream: SequenceStream, rank: tuple[int, int]) -> None:
        super().__init__()
        self.stream = stream
        self.rank = rank
        self._parts: dict[tuple[int, int], SequenceStream] = {}

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self._part())

    def _part(self) -> SequenceStream:
        """Finds the part of this worker."""
        worker = get_worker_info()
        number = (0, 1) if worker is None else (worker.id, worker.num_workers)
        if number not in self._parts:
            self._parts[number] = self.stream.shard(*self.rank).shard(*number)
        return self._parts[number]

    def state_dict(self) -> dict[str, Any]:
        """Says which record of this worker's part comes next, for torchdata's loader."""
        return self._part().state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Goes on in this worker's part where a state was taken."""
        self._part().load_state_dict(state)

    def set_epoch(self, epoch: int) -> None:
        """Makes the next pass this epoch, in all worker processes too."""
        self.stream.set_epoch(epoch)
