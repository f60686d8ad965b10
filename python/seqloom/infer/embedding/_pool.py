"""From an embedding of each token to what is kept of a batch, on the model's device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._ragged import offsets_of
from seqloom.errors import ArgumentError, ShapeError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from seqloom.infer.embedding._device import Device

POOLS = ("mean", "cls", "none", "model")


def check_pool(pool: str) -> str:
    """Refuses what is no way to make one row of many."""
    if pool not in POOLS:
        raise ArgumentError(
            f'pool must be "mean", "cls", "none" (each residue) or "model" (the model '
            f"gives one row for each sequence), got {pool!r}"
        )
    return pool


def reduce_batch(
    device: Device, values: Any, batch: Mapping[str, Any], *, pool: str, before: int
) -> Any:
    """Makes the rows that are kept: sums of windows, their first tokens, or residues."""
    # `before` is the number of tokens before the letters of a window.
    _check_shape(values, batch, pool)
    if pool == "model":
        return values
    starts = np.asarray(batch["cu_seqlens"])[:-1].astype(np.int64)
    if "mask" in batch:  # padded: each sequence begins a row
        starts = np.arange(len(starts)) * values.shape[1]
        values = values.reshape(-1, values.shape[-1])
    if pool == "cls":
        return device.take(values, starts)
    keep = np.asarray(batch["keep"]).astype(np.int64)
    counts = keep[:, 1] - keep[:, 0]
    kept = device.take(values, _join_ranges(starts + before + keep[:, 0], counts))
    return kept if pool == "none" else device.sum_rows(kept, counts)


def check_cls(before: int) -> None:
    """Refuses to take the token before the letters where there is none."""
    if not before:
        raise ArgumentError(
            'pool="cls" takes the token before the letters, but tokens= makes none; give '
            'pool="mean"'
        )


def _check_shape(values: Any, batch: Mapping[str, Any], pool: str) -> None:
    """Refuses outputs that have another number of rows than the batch."""
    if not hasattr(values, "shape"):
        raise ShapeError(
            "the model must return an array with a row for each token (or with pool="
            f'"model" for each sequence), it returned {type(values).__name__}'
        )
    number, shape = int(batch["num_sequences"]), tuple(values.shape)
    if pool == "model":
        expected: tuple[int, ...] = (number,)
    elif "mask" in batch:
        expected = tuple(batch["mask"].shape)
    else:
        expected = (int(batch["cu_seqlens"][-1]),)
    if shape[:-1] != expected:
        wanted = ", ".join([*map(str, expected), "width"])
        is_pooled = pool != "model" and shape[:-1] == (number,)
        remedy = '; pool="model" takes one row for each sequence' if is_pooled else ""
        raise ShapeError(
            f"the model must return ({wanted}) for this batch with pool={pool!r}, it "
            f"returned {shape}{remedy}"
        )


def _join_ranges(begins: NDArray[np.int64], counts: NDArray[np.int64]) -> Any:
    """Lists the numbers of several ranges, one after the other."""
    firsts = offsets_of(counts)[:-1]
    return np.arange(int(counts.sum())) + np.repeat(begins - firsts, counts)
