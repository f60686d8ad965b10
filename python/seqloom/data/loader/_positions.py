"""The order of a loader, as PyTorch's code asks it for: positions, or lists of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seqloom.data._position import Position, positions_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from seqloom.data.loader._loader import DataLoader
    from seqloom.data.loader._plan import Plan


class OrderView:
    """Shows what a loader's next pass asks its dataset for; looking does not begin it.

    Args:
        loader: The loader.
        plan: How its epochs are cut, into batches or single items.

    Examples:
        >>> from seqloom.data import DataLoader
        >>> loader = DataLoader(range(5), batch_size=2)
        >>> list(loader.batch_sampler), list(loader.sampler), len(loader.batch_sampler)
        ([[0, 1], [2, 3], [4]], [0, 1, 2, 3, 4], 3)
    """

    def __init__(self, loader: DataLoader[Any], plan: Plan) -> None:
        self._loader, self._plan = loader, plan

    def __len__(self) -> int:
        return len(self._plan)

    def __iter__(self) -> Iterator[Any]:
        epoch, start = self._loader.next_place
        for step in self._plan.steps(epoch, start):
            rows: Any = step.request.rows
            if self._plan.choice.is_batched:
                yield positions_in(epoch, rows.tolist())
            else:
                yield Position(int(rows), epoch=epoch)

    def set_epoch(self, epoch: int) -> None:
        """Makes the loader's next pass this epoch, unless it goes on in the middle of it.

        Args:
            epoch: Its number, from 0.

        Examples:
            >>> from seqloom.data import DataLoader
            >>> DataLoader(range(5)).sampler.set_epoch(3)
        """
        if epoch != self._loader.next_place[0]:
            self._loader.set_epoch(epoch)
