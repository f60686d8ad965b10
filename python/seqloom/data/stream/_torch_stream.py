"""A stream as PyTorch's loader wants it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seqloom.data._order import find_rank
from seqloom.errors import MissingExtraError

if TYPE_CHECKING:
    from seqloom.data.stream._stream import SequenceStream


def to_torch(stream: SequenceStream, rank: int | None, world_size: int | None) -> Any:
    """Makes a ``torch.utils.data.IterableDataset`` of a stream."""
    try:
        from seqloom.data.stream._torch_dataset import TorchStream
    except ImportError as error:
        raise MissingExtraError(
            "to_torch() needs torch: pip install seqloom[torch]"
        ) from error
    place = find_rank(rank, world_size, "pad")
    return TorchStream(stream, (place.number, place.world))
