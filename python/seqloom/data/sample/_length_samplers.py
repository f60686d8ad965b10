"""Batches of sequences of similar length."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._arguments import as_flag
from seqloom._key import Key
from seqloom.data._encoder import count_positions
from seqloom.data._position import check_integer, permutation
from seqloom.data.sample._samplers import Sampler
from seqloom.errors import ArgumentError, ShapeError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray


class LengthBucketSampler(Sampler):
    """Makes batches of sequences of similar length, so that little is padded.

    Each epoch shuffles the dataset, sorts it by length within stretches of ``window``
    batches, cuts batches, and shuffles those. Give it to a loader as ``batch_sampler``.

    Args:
        lengths: A dataset that has ``lengths``, or the lengths themselves.
        batch_size: Items in a batch.
        window: Batches in a stretch: more of them pad less, fewer mix more.
        shuffle: Whether each epoch has an order of its own.
        drop_last: Leaves out batches that are not full.
        **dealt: ``seed``, ``rank``, ``world_size``, ``even_ranks``: see ``Sampler``.

    Raises:
        ArgumentError: An argument makes no sense.

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
        **dealt: Any,
    ) -> None:
        super().__init__(**dealt)
        check_integer("batch_size", batch_size, least=1)
        check_integer("window", window, least=1)
        self._lengths = _lengths_of(lengths)
        self._batch_size, self._window = batch_size, window
        self._shuffle = as_flag("shuffle", shuffle)
        self._drop_last = as_flag("drop_last", drop_last)

    def _plan(self, epoch: int) -> list[list[int]]:
        key = Key(self.seed, epoch) if self._shuffle else None
        stretches = _stretches(self._lengths, self._batch_size * self._window, key)
        size = self._batch_size
        batches = [
            stretch[start : start + size]
            for stretch in stretches
            for start in range(0, len(stretch), size)
        ]
        if self._drop_last:
            batches = [batch for batch in batches if len(batch) == size]
        return _shuffle(batches, key)


class TokenBudgetSampler(Sampler):
    """Makes batches of as many sequences as a budget of tokens allows.

    Each epoch shuffles the dataset and sorts it by length within stretches, as
    ``LengthBucketSampler`` does. Give it to a loader as ``batch_sampler``.

    Args:
        lengths: A dataset that has ``lengths`` (its encoder says how many tokens they
            make), or numbers of tokens.
        max_tokens: Tokens in a batch at most.
        include_padding: Counts padding: items times the longest. False counts tokens only,
            for ``VarlenCollator``.
        batch_size: Items in a batch at most; None leaves it to the budget.
        window: Sequences in a stretch.
        shuffle: Whether each epoch has an order of its own.
        **dealt: ``seed``, ``rank``, ``world_size``, ``even_ranks``: see ``Sampler``.

    Raises:
        ArgumentError: An argument makes no sense.
        ShapeError: A sequence alone is over the budget.

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
        **dealt: Any,
    ) -> None:
        super().__init__(**dealt)
        check_integer("max_tokens", max_tokens, least=1)
        check_integer("window", window, least=1)
        self._most = max(1, window) if batch_size is None else batch_size
        check_integer("batch_size", self._most, least=1)
        self._lengths = _lengths_of(lengths)
        self._max_tokens, self._window = max_tokens, window
        self._include_padding = as_flag("include_padding", include_padding)
        self._shuffle = as_flag("shuffle", shuffle)
        _check_budget(lengths, self._lengths, max_tokens)

    def _plan(self, epoch: int) -> list[list[int]]:
        key = Key(self.seed, epoch) if self._shuffle else None
        stretches = _stretches(self._lengths, self._window, key)
        batches = [batch for stretch in stretches for batch in self._cut(stretch)]
        return _shuffle(batches, key)

    def _cut(self, stretch: list[int]) -> Iterator[list[int]]:
        """Cut a stretch, shortest first, wherever the budget is spent."""
        batch: list[int] = []
        total = 0
        for row, length in zip(stretch, self._lengths[stretch].tolist(), strict=True):
            padded = length * (len(batch) + 1)
            cost = padded if self._include_padding else total + length
            if batch and (cost > self._max_tokens or len(batch) == self._most):
                yield batch
                batch, total = [], 0
            batch.append(row)
            total += length
        if batch:
            yield batch


def _lengths_of(lengths: Any) -> NDArray[np.int64]:
    """Read the lengths of a dataset, in positions of its encoder, or takes numbers."""
    if not hasattr(lengths, "lengths"):
        numbers = np.asarray(lengths)
        if numbers.ndim != 1 or (numbers.size and numbers.dtype.kind not in "iu"):
            raise ArgumentError(
                "lengths must be a dataset's or one row of integers, got "
                f"{type(lengths).__name__}"
            )
        return numbers.astype(np.int64)
    encoder = getattr(lengths, "encoder", None)
    return lengths.lengths if encoder is None else count_positions(encoder, lengths.lengths)


def _stretches(lengths: NDArray[np.int64], size: int, key: Key | None) -> list[list[int]]:
    """Cut an order into stretches, each sorted by length."""
    count = lengths.size
    order = np.arange(count) if key is None else permutation(count, key)
    parts = (order[start : start + size] for start in range(0, count, size))
    return [part[np.argsort(lengths[part], kind="stable")].tolist() for part in parts]


def _shuffle(batches: list[list[int]], key: Key | None) -> list[list[int]]:
    """Put batches in an order of their own."""
    if key is None:
        return batches
    order: list[int] = permutation(len(batches), key.fold("batches")).tolist()
    return [batches[position] for position in order]


def _check_budget(dataset: Any, lengths: NDArray[np.int64], max_tokens: int) -> None:
    """Refuse a sequence that no batch can hold."""
    if lengths.size and lengths.max() > max_tokens:
        position = int(lengths.argmax())
        ids = getattr(dataset, "ids_of", None)
        name = f"sequence {position}" if ids is None else f"sequence {ids([position])[0]!r}"
        raise ShapeError(
            f"{name} has {lengths[position]:,} tokens, more than "
            f"max_tokens={max_tokens:,}: "
            "raise it, or cut with sl.augment.Crop"
        )
