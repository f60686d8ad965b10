"""Sequences end to end, and the same with padding."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from seqloom.errors import ArgumentError
from seqloom.nn.functional._attention import require_rising
from seqloom.nn.functional._geometry import as_size
from seqloom.nn.functional._operands import as_operand, make_range, read_host_array
from seqloom.tensor import Tensor, apply

if TYPE_CHECKING:
    from collections.abc import Sequence


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
    longest = _find_longest(cu_seqlens, max_seqlen)
    require_rising(cu_seqlens, x.shape[0], longest)
    offsets = as_operand(x, cu_seqlens, "int32")
    place = make_range(x, x.shape[0])
    owner = apply("searchsorted", offsets[1:], place, side="right").astype("int32")
    return Packing(offsets, longest, owner, place - apply("take", offsets, owner, axis=0))


def _find_longest(cu_seqlens: Any, max_seqlen: int | None) -> int:
    """Returns the length of the longest sequence, as given or as the offsets say."""
    if max_seqlen is not None:
        return as_size("max_seqlen", max_seqlen, 0)
    offsets = read_host_array(cu_seqlens)
    if offsets is None:
        raise ArgumentError(
            "max_seqlen is needed where cu_seqlens is on a device or in a compiled step: "
            "pass the length of the longest sequence"
        )
    return int(np.max(np.diff(offsets), initial=0))


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
