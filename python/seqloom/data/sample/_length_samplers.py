"""Samplers that group sequences of similar length."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._arguments import as_bool
from seqloom._key import Key
from seqloom.data._encoder import count_positions
from seqloom.data._position import check_integer, permutation
from seqloom.data.sample._samplers import Sampler
from seqloom.errors import ArgumentError, ShapeError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray


class LengthBucketSampler(Sampler):
    """Samples batches of sequences of similar length, to reduce padding.

    In each epoch, the items are shuffled, sorted by length within groups of ``window``
    batches and split into batches, and the batches are shuffled. Pass the sampler to a
    loader as ``batch_sampler``.

    Args:
        lengths: A dataset with ``lengths``, or the lengths themselves.
        batch_size: The number of items in a batch.
        window: The number of batches in a sorted group; larger groups reduce padding,
            smaller groups make the order more random.
        shuffle: If True, each epoch has a different random order.
        drop_last: If True, batches that are not full are dropped.
        **options: ``seed``, ``rank``, ``world_size`` and ``even_ranks``; see ``Sampler``.

    Raises:
        ArgumentError: An argument is invalid.

    Examples:
        >>> sampler = LengthBucketSampler([9, 1, 8, 2], batch_size=2, shuffle=False)
        >>> list(sampler)
        [[1, 3], [2, 0]]
    """

    def __init__(
        self,
        lengths: Any,
        batch_size: int,
        *,
        window: int = 50,
        shuffle: bool = True,
        drop_last: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        check_integer("batch_size", batch_size, least=1)
        check_integer("window", window, least=1)
        self._lengths = _read_lengths(lengths)
        self._batch_size, self._window = batch_size, window
        self._shuffle = as_bool("shuffle", shuffle)
        self._drop_last = as_bool("drop_last", drop_last)

    def _plan_epoch(self, epoch: int) -> list[list[int]]:
        key = Key(self.seed, epoch) if self._shuffle else None
        stretches = _sort_in_groups(self._lengths, self._batch_size * self._window, key)
        size = self._batch_size
        batches = [
            stretch[start : start + size]
            for stretch in stretches
            for start in range(0, len(stretch), size)
        ]
        if self._drop_last:
            batches = [batch for batch in batches if len(batch) == size]
        return _shuffle_batches(batches, key)


class TokenBudgetSampler(Sampler):
    """Samples batches that fill a budget of tokens.

    In each epoch, the items are shuffled and sorted by length within groups, as in
    ``LengthBucketSampler``. Pass the sampler to a loader as ``batch_sampler``.

    Args:
        lengths: A dataset with ``lengths`` (its encoder determines the numbers of tokens),
            or the numbers of tokens.
        max_tokens: The maximum number of tokens in a batch.
        include_padding: If True, padding is part of the budget: the size of a batch is its
            number of items times the length of its longest item. If False, padding is not
            counted, for ``VarlenCollator``.
        batch_size: The maximum number of items in a batch; None means no limit.
        window: The number of sequences in a sorted group.
        shuffle: If True, each epoch has a different random order.
        **options: ``seed``, ``rank``, ``world_size`` and ``even_ranks``; see ``Sampler``.

    Raises:
        ArgumentError: An argument is invalid.
        ShapeError: A single sequence exceeds the budget.

    Examples:
        >>> sampler = TokenBudgetSampler([4, 1, 3, 2], max_tokens=6, shuffle=False)
        >>> list(sampler)
        [[1, 3], [2], [0]]
        >>> sampler = TokenBudgetSampler(
        ...     [4, 1, 3, 2], max_tokens=6, include_padding=False, shuffle=False
        ... )
        >>> list(sampler)
        [[1, 3, 2], [0]]
    """

    def __init__(
        self,
        lengths: Any,
        max_tokens: int,
        *,
        include_padding: bool = True,
        batch_size: int | None = None,
        window: int = 4096,
        shuffle: bool = True,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        check_integer("max_tokens", max_tokens, least=1)
        check_integer("window", window, least=1)
        self._max_items = max(1, window) if batch_size is None else batch_size
        check_integer("batch_size", self._max_items, least=1)
        self._lengths = _read_lengths(lengths)
        self._max_tokens, self._window = max_tokens, window
        self._include_padding = as_bool("include_padding", include_padding)
        self._shuffle = as_bool("shuffle", shuffle)
        _check_budget(lengths, self._lengths, max_tokens)

    def _plan_epoch(self, epoch: int) -> list[list[int]]:
        key = Key(self.seed, epoch) if self._shuffle else None
        stretches = _sort_in_groups(self._lengths, self._window, key)
        batches = [batch for stretch in stretches for batch in self._split_group(stretch)]
        return _shuffle_batches(batches, key)

    def _split_group(self, stretch: list[int]) -> Iterator[list[int]]:
        """Yield batches of a sorted group, each as large as the budget allows."""
        batch: list[int] = []
        total = 0
        for row, length in zip(stretch, self._lengths[stretch].tolist(), strict=True):
            padded = length * (len(batch) + 1)
            cost = padded if self._include_padding else total + length
            if batch and (cost > self._max_tokens or len(batch) == self._max_items):
                yield batch
                batch, total = [], 0
            batch.append(row)
            total += length
        if batch:
            yield batch


def _read_lengths(lengths: Any) -> NDArray[np.int64]:
    """Return the given lengths, or the numbers of encoded positions of a dataset."""
    if not hasattr(lengths, "lengths"):
        numbers = np.asarray(lengths)
        if numbers.ndim != 1 or (numbers.size and numbers.dtype.kind not in "iu"):
            raise ArgumentError(
                "lengths must be a dataset or one row of integers, got "
                f"{type(lengths).__name__}"
            )
        return numbers.astype(np.int64)
    encoder = getattr(lengths, "encoder", None)
    return lengths.lengths if encoder is None else count_positions(encoder, lengths.lengths)


def _sort_in_groups(
    lengths: NDArray[np.int64], size: int, key: Key | None
) -> list[list[int]]:
    """Split an order into groups, each sorted by length."""
    count = lengths.size
    order = np.arange(count) if key is None else permutation(count, key)
    parts = (order[start : start + size] for start in range(0, count, size))
    return [part[np.argsort(lengths[part], kind="stable")].tolist() for part in parts]


def _shuffle_batches(batches: list[list[int]], key: Key | None) -> list[list[int]]:
    if key is None:
        return batches
    order: list[int] = permutation(len(batches), key.fold("batches")).tolist()
    return [batches[position] for position in order]


def _check_budget(dataset: Any, lengths: NDArray[np.int64], max_tokens: int) -> None:
    if lengths.size and lengths.max() > max_tokens:
        position = int(lengths.argmax())
        ids = getattr(dataset, "ids_of", None)
        name = f"sequence {position}" if ids is None else f"sequence {ids([position])[0]!r}"
        raise ShapeError(
            f"{name} has {lengths[position]:,} tokens, more than "
            f"max_tokens={max_tokens:,}: increase it, or crop with sl.augment.Crop"
        )
