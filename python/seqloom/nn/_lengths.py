"""Sequences of unequal length: padded with a mask, or end to end."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from seqloom.errors import ArgumentError
from seqloom.nn._geometry import as_size
from seqloom.nn._operands import as_operand, make_range, read_host_array
from seqloom.tensor import Tensor, apply

if TYPE_CHECKING:
    from collections.abc import Sequence


# Lower than any activation, and finite, so that it does not cause NaN.
_LOWEST = -3.0e38


def masked_mean(x: Tensor, mask: object = None) -> Tensor:
    """Computes the mean over the real positions of each record.

    Args:
        x: ``(n, c, l)``.
        mask: ``(n, l)``, 1 for real positions and 0 for padding; default: all real.

    Returns:
        ``(n, c)``; 0 for a record without real positions.

    Examples:
        >>> import seqloom as sl
        >>> B = sl.tensor.backend("numpy")
        >>> masked_mean(B.tensor([[[2.0, 4.0, 9.0]]]), B.tensor([[1.0, 1.0, 0.0]])).item()
        3.0
    """
    if mask is None:
        return x.mean(axis=-1)
    mask = as_operand(x, mask, x.dtype)
    count = apply("maximum", mask.sum(axis=-1, keepdims=True), 1.0)
    wide = apply("expand_dims", mask, axis=1)
    real = apply("where", wide > 0, x * wide, 0.0)  # padding may be NaN
    return real.sum(axis=-1) / count


def masked_max(x: Tensor, mask: object = None) -> Tensor:
    """Computes the maximum over the real positions of each record.

    Args:
        x: ``(n, c, l)``.
        mask: ``(n, l)``, 1 for real positions and 0 for padding; default: all real.

    Returns:
        ``(n, c)``; 0 for a record without real positions.

    Examples:
        >>> import seqloom as sl
        >>> B = sl.tensor.backend("numpy")
        >>> masked_max(B.tensor([[[2.0, 4.0, 9.0]]]), B.tensor([[1.0, 1.0, 0.0]])).item()
        4.0
    """
    if mask is None:
        return x.max(axis=-1)
    mask = as_operand(x, mask, x.dtype)
    wide = apply("expand_dims", mask, axis=1)
    highest = apply("where", wide > 0, x, _LOWEST).max(axis=-1)
    return apply("where", mask.sum(axis=-1, keepdims=True) > 0, highest, 0.0)


class Packing(NamedTuple):
    """Where sequences lie end to end."""

    offsets: Tensor  # (n + 1,), the start of each and the total
    longest: int  # positions of the longest
    owner: Tensor  # (total,), the number of each position's sequence
    position: Tensor  # (total,), the number of each position in its sequence


def find_packing(
    x: Tensor, cu_seqlens: Sequence[int] | Tensor, max_seqlen: int | None
) -> Packing:
    """Returns where the sequences of ``x`` (total, ...) lie; refuses wrong offsets."""
    if max_seqlen is not None:
        longest = as_size("max_seqlen", max_seqlen, 0)
    elif (host := read_host_array(cu_seqlens)) is not None:
        longest = int(np.max(np.diff(host), initial=0))
    else:
        raise ArgumentError(
            "max_seqlen is needed where cu_seqlens is on a device or in a compiled step: "
            "pass the length of the longest sequence"
        )
    require_rising(cu_seqlens, x.shape[0], longest)
    offsets = as_operand(x, cu_seqlens, "int32")
    place = make_range(x, x.shape[0])
    owner = apply("searchsorted", offsets[1:], place, side="right").astype("int32")
    return Packing(offsets, longest, owner, place - apply("take", offsets, owner, axis=0))


def pad_packed(x: Tensor, packing: Packing) -> tuple[Tensor, Tensor]:
    """Returns packed values as ``(n, longest, ...)``, and which positions are real."""
    starts = apply("expand_dims", packing.offsets[:-1], axis=1)
    ends = apply("expand_dims", packing.offsets[1:], axis=1)
    rows = starts + make_range(x, packing.longest)
    real = apply("less", rows, ends)
    rows = apply("where", real, rows, 0)
    shape = rows.shape
    padded = apply("take", x, apply("reshape", rows, (-1,)), axis=0)
    return apply("reshape", padded, (*shape, *x.shape[1:])), real


def pack_padded(x: Tensor, packing: Packing) -> Tensor:
    """Returns padded values ``(n, longest, ...)`` end to end again."""
    flat = apply("reshape", x, (-1, *x.shape[2:]))
    return apply("take", flat, packing.owner * packing.longest + packing.position, axis=0)


def require_rising(cu_seqlens: object, total: int, longest: int) -> None:
    """Refuses wrong offsets, unless they are on a device."""
    offsets = read_host_array(cu_seqlens)
    if offsets is None:
        return
    is_list = offsets.dtype.kind in "iu" and offsets.ndim == 1 and offsets.size > 0
    if not is_list or not (
        offsets[0] == 0 and offsets[-1] == total and (offsets[1:] >= offsets[:-1]).all()
    ):
        raise ArgumentError(
            f"cu_seqlens must be increasing integers from 0 to the total length {total}, "
            f"got {offsets.tolist()}"
        )
    widest = max(np.diff(offsets), default=0)
    if widest > longest:
        raise ArgumentError(
            f"max_seqlen must be at least {widest}, the longest sequence, got {longest}"
        )
