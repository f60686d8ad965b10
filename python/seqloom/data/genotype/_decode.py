"""Numbers from two-bit codes by array operations alone, on NumPy or PyTorch."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from seqloom.data.collate._collate import is_tensor
from seqloom.errors import ShapeError


def decode_codes(codes: Any, tables: Any) -> Any:
    """Looks each code up in the table of its variant."""
    count = tables.shape[1]
    if codes.ndim != 2 or codes.shape[1] != -(-count // 4):  # noqa: PLR2004 - a matrix of two bits
        raise ShapeError(
            f"expected codes (samples, {-(-count // 4)}) for {count} variants, four in a "
            f"byte; got {tuple(codes.shape)}"
        )
    library: Any = np
    if is_tensor(codes):
        library = sys.modules["torch"]
        tables = library.as_tensor(tables, device=codes.device)
    columns = [(codes >> shift) & 3 for shift in (0, 2, 4, 6)]
    each = library.stack(columns, -1).reshape(codes.shape[0], -1)[:, :count]
    is_odd = (each & 1) == 1
    low = library.where(is_odd, tables[1], tables[0])
    high = library.where(is_odd, tables[3], tables[2])
    return library.where(each >= 2, high, low)  # noqa: PLR2004 - the higher bit


def flip_codes(codes: Any, is_flipped: Any) -> Any:
    """Exchanges the alleles of some variants: homozygous A1 becomes homozygous A2."""
    marks = np.zeros(4 * codes.shape[1], np.uint8)
    marks[: is_flipped.size] = 3 * is_flipped.astype(np.uint8)
    wanted = (marks.reshape(-1, 4) << np.arange(0, 8, 2, dtype=np.uint8)).sum(axis=1)
    # Codes 00 and 11 have two equal bits.
    equal = ~(codes ^ (codes >> 1)) & 0x55
    return codes ^ ((equal | (equal << 1)) & wanted.astype(np.uint8))
