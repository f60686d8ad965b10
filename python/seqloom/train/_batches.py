"""The training batches of each epoch, from the first one or from where a run is resumed."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from seqloom.data import DataLoader, PadCollator
from seqloom.models import Examples
from seqloom.models._examples import count_positions
from seqloom.train._arrays import Arrays, LoaderBatches
from seqloom.train._ranks import Ranks
from seqloom.train._settings import Settings
from seqloom.train._shares import share_out


def make_loader(train: Any, settings: Settings, ranks: Ranks) -> DataLoader | LoaderBatches:
    """Makes the loader, whose order depends on the seed and the epoch alone."""
    if isinstance(train, LoaderBatches):
        return train
    # Not sorted by length: where lengths tell classes apart, such batches are of one class,
    # and batch normalisation then learns other averages than evaluation uses.
    whole = DataLoader(
        train,
        batch_size=settings.batch_size,
        shuffle=True,
        drop_last=settings.drop_last,
        seed=settings.seed,
        collate_fn=_collator_of(train),
        rank=0,
        world_size=1,
    )
    return share_out(whole, ranks)


def _collator_of(part: Examples) -> Callable[[Any], Any] | None:
    """Chooses how records become a batch: padded, where they differ in length."""
    if isinstance(part, Arrays):
        return _keep_rows
    is_last = getattr(part.encoder, "channels", None) == "last"
    axis = 0 if is_last else -1  # of the positions in one record
    return PadCollator(axis=axis) if np.ptp(count_positions(part)) else None


def _keep_rows(rows: dict[str, Any]) -> dict[str, Any]:
    """Returns rows of arrays as they are, because they are a batch already."""
    return rows


def read_batches(
    loader: DataLoader | LoaderBatches,
    settings: Settings,
    ranks: Ranks,
    *,
    epoch: int,
    done: int,
) -> Iterator[dict[str, Any]]:
    """Reads the batches of an epoch after the first `done` ones."""
    if isinstance(loader, LoaderBatches):
        return loader.epoch(epoch, done=done)
    loader.set_epoch(epoch)
    if done >= len(loader):
        return iter(())
    if done:
        # The position in a loader is a number of records; among several processes the
        # loader has a batch sampler, and its position is a number of batches.
        records = min(done * settings.batch_size, len(loader.dataset))
        position = done if ranks.are_several else records
        loader.load_state_dict({**loader.state_dict(), "position": position})
    return iter(loader)
