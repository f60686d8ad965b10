"""The part that each of several processes reads of each batch."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from seqloom.data import DataLoader
from seqloom.train._ranks import Ranks


@dataclass(slots=True)
class Shares:
    """The batches of a loader, of which a process takes every so-many-th record."""

    # All batches together are those of one process: a run goes on with another number of
    # processes, from any step.
    whole: DataLoader
    ranks: Ranks

    def __len__(self) -> int:
        return len(self.whole)

    def __iter__(self) -> Iterator[list[Any]]:
        for rows in self.whole.batch_sampler:
            # Each process makes each step: one without a record takes another's, which
            # does not count.
            yield rows[self.ranks.number :: self.ranks.world] or rows[:1]

    def set_epoch(self, epoch: int) -> None:
        """Makes the next pass this epoch."""
        self.whole.set_epoch(epoch)


def share_out(whole: DataLoader, ranks: Ranks) -> DataLoader:
    """Makes the loader of one process among several."""
    if not ranks.are_several:
        return whole
    return DataLoader(
        whole.dataset, batch_sampler=Shares(whole, ranks), collate_fn=whole.collate_fn
    )
