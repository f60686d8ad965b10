"""Products of matrices: Rust's, or NumPy's BLAS where that is the quicker one."""

from __future__ import annotations

import math
import platform
from string import ascii_letters
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from seqloom._rust import _native
from seqloom.tensor._defaults import require_bias, require_equal_lengths
from seqloom.tensor.backends._numpy._blocks import fresh
from seqloom.tensor.backends._numpy._filling import write_to
from seqloom.tensor.backends._numpy._kinds import promote_all

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Floats = NDArray[Any]

# Rust's products are written for the vectors of these machines, where they are as quick
# as a BLAS and share our threads: a pool of BLAS's own would spin while ours works.
_OURS = platform.machine() in {"x86_64", "AMD64"}
# Elsewhere NumPy's BLAS multiplies, but for pairs too small to wake its threads for.
_SMALL = 1 << 21


class _Numbers(Protocol):
    """The backend of NumPy, as products know it."""

    threads: int
    deterministic: bool  # no number of threads, of ours or BLAS's, changes a bit
    matmul: Callable[..., Any]
    einsum: Callable[..., Any]


def matmul(b: _Numbers, x: Floats, y: Floats, *, out: Floats | None = None) -> Floats:
    """The product of matrices, of as many pairs as there are."""
    return _product(b, x, y, None, out)


def linear(
    b: _Numbers,
    x: Floats,
    weight: Floats,
    bias: Floats | None = None,
    *,
    out: Floats | None = None,
) -> Floats:
    """``x @ weight.T + bias``: ``(..., in)`` to ``(..., out)``."""
    require_bias(weight, bias)
    shape = (*x.shape[:-1], weight.shape[0])
    count = math.prod(shape[:-1])  # no -1: an axis may be of length 0
    into = None if out is None else out.reshape(count, shape[-1])
    rows = x.reshape(count, x.shape[-1])
    return _product(b, rows, weight.T, bias, into).reshape(shape)


def is_ours(b: _Numbers) -> bool:
    """Whether Rust multiplies large matrices on this machine."""
    return _OURS or b.deterministic


def _product(
    b: _Numbers, x: Floats, y: Floats, bias: Floats | None, out: Floats | None
) -> Floats:
    """``x @ y + bias``, by whom it suits."""
    if _suits_rust(b, x, y) and (bias is None or bias.dtype == x.dtype):
        return _by_rust(b, x, y, bias, out)
    if x.dtype != y.dtype:
        x, y = promote_all((x, y))
        return _product(b, x, y, bias, out)
    if _is_for_matrices(b, x, y):
        found = write_to(_as_matrices(b, x, y), out)
    else:
        found = np.matmul(x, y, out=out)
    return found if bias is None else np.add(found, bias, out=found)


def tensordot(b: _Numbers, x: Floats, y: Floats, *, axes: Any = 2) -> Floats:
    """The sum of products over several axes."""
    require_equal_lengths("tensordot", x, y, axes)
    x, y = promote_all((x, y))
    if not is_ours(b) or x.dtype.kind != "f":
        return np.tensordot(x, y, axes=axes)
    if isinstance(axes, int):
        axes = range(x.ndim - axes, x.ndim), range(axes)
    left, right = list(range(x.ndim)), list(range(x.ndim, x.ndim + y.ndim))
    for one, other in zip(*axes, strict=True):
        right[other] = left[one]
    kept = [array for array in (*left, *right) if (array in left) != (array in right)]
    names = ("".join(map(ascii_letters.__getitem__, row)) for row in (left, right, kept))
    return b.einsum("{},{}->{}".format(*names), x, y)


def _suits_rust(b: _Numbers, x: Floats, y: Floats) -> bool:
    """Whether both are matrices of one type that Rust knows, and it may multiply them."""
    if x.ndim < 2 or y.ndim < 2 or x.dtype != y.dtype or x.dtype.char not in "fd":  # noqa: PLR2004 - matrices
        return False
    if x.shape[-1] != y.shape[-2] or not x.size or not y.size:
        return False
    if is_ours(b):
        return True
    is_many = x.ndim > 2 or y.ndim > 2  # noqa: PLR2004 - one pair
    return is_many and x.shape[-2] * x.shape[-1] * y.shape[-1] < _SMALL


def _by_rust(
    b: _Numbers, x: Floats, y: Floats, bias: Floats | None, out: Floats | None
) -> Floats:
    """``x @ y + bias`` for a pair of matrices, or for as many as there are."""
    if x.ndim > 2 or y.ndim > 2:  # noqa: PLR2004 - many
        found = _many(b, x, y, out)
        return found if bias is None else np.add(found, bias, out=found)
    shape = (x.shape[0], y.shape[1])
    into = fresh(shape, x.dtype) if out is None or not out.flags.carray else out
    if not _native.product((x, y), bias, into, b.threads):
        bias = None if bias is None else _regular(bias)
        _native.product((_regular(x), _regular(y)), bias, into, b.threads)
    return into if out is None or out is into else write_to(into, out)


def _many(b: _Numbers, x: Floats, y: Floats, out: Floats | None) -> Floats:
    """``x @ y`` for each pair of matrices."""
    batch = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    shape = (*batch, x.shape[-2], y.shape[-1])
    into = fresh(shape, x.dtype) if out is None or not out.flags.carray else out
    pairs = into.reshape(math.prod(batch), *shape[-2:])
    _native.products(_stack(x, batch), _stack(y, batch), pairs, b.threads)
    return into if out is None or out is into else write_to(into, out)


def _is_for_matrices(b: _Numbers, x: Floats, y: Floats) -> bool:
    """Whether BLAS would multiply vectors or two float types, where it must not."""
    are_floats = x.dtype.kind == y.dtype.kind == "f" and 0 not in {x.ndim, y.ndim}
    if not are_floats or not is_ours(b):
        return False
    return x.ndim == 1 or y.ndim == 1 or x.dtype != y.dtype


def _as_matrices(b: _Numbers, x: Floats, y: Floats) -> Floats:
    """The product of vectors or of two float types, as one of matrices."""
    dtype = np.result_type(x, y)
    row, column = x.ndim == 1, y.ndim == 1
    x, y = x.astype(dtype, copy=False), y.astype(dtype, copy=False)
    out = b.matmul(x[None] if row else x, y[:, None] if column else y)
    out = out[..., 0] if column else out
    return (out[0] if column else out[..., 0, :]) if row else out


def _stack(x: Floats, batch: tuple[int, ...]) -> tuple[Floats, bool]:
    """The matrices in one row, and whether each is transposed in memory."""
    count = math.prod(batch)
    x = np.broadcast_to(x, (*batch, *x.shape[-2:])).reshape(count, *x.shape[-2:])
    transposed = x.mT
    if transposed.flags.c_contiguous and transposed.flags.aligned:
        return transposed, True
    return _regular(x), False


def _regular(x: Floats) -> Floats:
    """The array, or a copy without gaps at an address that its type allows."""
    return np.require(x, requirements=["C", "A"])
