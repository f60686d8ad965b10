"""Products of matrices: NumPy's BLAS, or Rust where its threads would be in the way."""

from __future__ import annotations

import math
from string import ascii_letters
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._rust import _native
from seqloom.tensor._backend import Backend

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[Any]

# A pair of matrices with fewer products is not worth waking BLAS's threads for.
_SMALL = 1 << 21


class Products(Backend):
    """Products of matrices, and the layer that is one."""

    # Products by Rust only, so that no number of threads, of ours or BLAS's, changes a bit.
    deterministic: bool = False

    def matmul(self, x: Floats, y: Floats, *, out: Floats | None = None) -> Floats:
        """The product of matrices, of as many pairs as there are."""
        if self.deterministic and not _are_stacks(x, y):
            return filled(_as_matrices(self, x, y), out)
        if not _suits_rust(self, x, y):
            return np.matmul(x, y, out=out)
        batch = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
        if out is None:
            out = np.empty((*batch, x.shape[-2], y.shape[-1]), x.dtype)
        elif not out.flags.c_contiguous:
            return filled(self.matmul(x, y), out)
        pairs = (math.prod(batch), *out.shape[-2:])
        left, right = _stacked(x, batch), _stacked(y, batch)
        _native.products(left, right, out.reshape(pairs), self.threads)
        return out

    def linear(
        self,
        x: Floats,
        weight: Floats,
        bias: Floats | None = None,
        *,
        out: Floats | None = None,
    ) -> Floats:
        """``x @ weight.T + bias``: ``(..., in)`` to ``(..., out)``."""
        shape = (*x.shape[:-1], weight.shape[0])
        count = math.prod(shape[:-1])  # no -1: an axis may be of length 0
        into = None if out is None else out.reshape(count, shape[-1])
        rows = self.matmul(x.reshape(count, x.shape[-1]), weight.T, out=into)
        if bias is not None:
            np.add(rows, bias, out=rows)
        return rows.reshape(shape)

    def tensordot(self, x: Floats, y: Floats, *, axes: Any = 2) -> Floats:
        """The sum of products over several axes."""
        if not self.deterministic:
            return np.tensordot(x, y, axes=axes)
        if isinstance(axes, int):
            axes = range(x.ndim - axes, x.ndim), range(axes)
        left, right = list(range(x.ndim)), list(range(x.ndim, x.ndim + y.ndim))
        for one, other in zip(*axes, strict=True):
            right[other] = left[one]
        kept = [each for each in (*left, *right) if (each in left) != (each in right)]
        names = (
            "".join(map(ascii_letters.__getitem__, row)) for row in (left, right, kept)
        )
        return self.einsum("{},{}->{}".format(*names), x, y)


def _are_stacks(x: Floats, y: Floats) -> bool:
    """Whether both are matrices of one type, or have nothing that BLAS would multiply."""
    if x.dtype.kind != "f" or y.dtype.kind != "f":
        return True
    return x.ndim > 1 and y.ndim > 1 and x.dtype == y.dtype


def _as_matrices(b: Products, x: Floats, y: Floats) -> Floats:
    """The product of vectors or of two float types, as one of matrices."""
    dtype = np.result_type(x, y)
    row, column = x.ndim == 1, y.ndim == 1
    x, y = x.astype(dtype, copy=False), y.astype(dtype, copy=False)
    out = b.matmul(x[None] if row else x, y[:, None] if column else y)
    out = out[..., 0] if column else out
    return (out[0] if column else out[..., 0, :]) if row else out


def filled(found: Floats, out: Floats | None) -> Floats:
    """A result, in the memory that the caller gave if it gave some."""
    if out is None:
        return found
    np.copyto(out, found)
    return out


def _suits_rust(b: Products, x: Floats, y: Floats) -> bool:
    """Whether a product is Rust's: many small ones, or all where bits must not change."""
    if x.ndim < 2 or y.ndim < 2 or x.dtype != y.dtype or x.dtype.kind != "f":  # noqa: PLR2004 - matrices
        return False
    if x.dtype.itemsize < 4 or x.shape[-1] != y.shape[-2] or not x.size or not y.size:  # noqa: PLR2004 - float32
        return False
    if b.deterministic:
        return True
    is_many = x.ndim > 2 or y.ndim > 2  # noqa: PLR2004 - one pair
    return is_many and x.shape[-2] * x.shape[-1] * y.shape[-1] < _SMALL


def _stacked(x: Floats, batch: tuple[int, ...]) -> tuple[Floats, bool]:
    """The pairs in one row, and whether each matrix stands turned in memory."""
    x = np.broadcast_to(x, (*batch, *x.shape[-2:])).reshape(-1, *x.shape[-2:])
    turned = x.swapaxes(-1, -2)
    if turned.flags.c_contiguous and not x.flags.c_contiguous:
        return turned, True
    return np.ascontiguousarray(x), False
