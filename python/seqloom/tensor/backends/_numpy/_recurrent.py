"""Recurrent layers: the loop over time is in Rust."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._rust import _native
from seqloom.tensor._backend import Backend
from seqloom.tensor.backends._numpy._blocks import fresh
from seqloom.tensor.backends._numpy._filling import to_contiguous

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[Any]
    Triple = tuple[Floats, Floats, Floats]


def gru(
    b: Backend,
    x: Floats,
    h0: Floats,
    w_ih: Floats,
    w_hh: Floats,
    b_ih: Floats | None = None,
    b_hh: Floats | None = None,
    mask: Floats | None = None,
    *,
    reverse: bool = False,
) -> Triple:
    """Every state, the last one, and the gates, which the gradient reads."""
    if not _suits(x, h0, w_ih, w_hh, b_ih, b_hh):
        return Backend.gru(b, x, h0, w_ih, w_hh, b_ih, b_hh, mask, reverse=reverse)
    inputs, weights = (x, w_ih, b_ih), (w_hh, b_hh)
    states, kept = _run(b, inputs, (h0, None), weights, mask, reverse=reverse)
    return states, states[:, _last(reverse=reverse)].copy(), kept


def gru_grad(
    b: Backend,
    grad: Floats,
    by_last: Floats,
    x: Floats,
    h0: Floats,
    w_ih: Floats,
    w_hh: Floats,
    b_ih: Floats | None,
    b_hh: Floats | None,
    mask: Floats | None,
    states: Floats,
    kept: Floats,
    /,
    *,
    reverse: bool = False,
) -> Triple:
    """The derivatives of ``gru`` by what inputs and states add to the gates, and by h0."""
    if not kept.size:
        rest = (b_ih, b_hh, mask, states, kept)
        return Backend.gru_grad(b, grad, by_last, x, h0, w_ih, w_hh, *rest, reverse=reverse)
    by_seen, by_recurrent = (
        fresh((*grad.shape[:2], 3 * grad.shape[2]), grad.dtype) for _ in range(2)
    )
    by_h0 = _copy(by_last)
    answers = to_contiguous(grad), to_contiguous(states), to_contiguous(kept)
    layer = to_contiguous(h0), None, to_contiguous(w_hh), _truths(mask), reverse
    outs = by_seen, by_recurrent, by_h0, None
    _native.recurrent_grad(*answers, *layer, *outs, b.threads)
    return by_seen, by_recurrent, by_h0


def lstm(
    b: Backend,
    x: Floats,
    h0: Floats,
    c0: Floats,
    w_ih: Floats,
    w_hh: Floats,
    b_ih: Floats | None = None,
    b_hh: Floats | None = None,
    mask: Floats | None = None,
    *,
    reverse: bool = False,
) -> tuple[Floats, Floats, Floats, Floats]:
    """Every state, the last one, the last cell, and the gates and cells."""
    if not _suits(x, h0, c0, w_ih, w_hh, b_ih, b_hh):
        return Backend.lstm(b, x, h0, c0, w_ih, w_hh, b_ih, b_hh, mask, reverse=reverse)
    inputs, weights = (x, w_ih, b_ih), (w_hh, b_hh)
    states, kept = _run(b, inputs, (h0, c0), weights, mask, reverse=reverse)
    last = _last(reverse=reverse)
    cell = kept[:, last, 4 * h0.shape[-1] :].copy()
    return states, states[:, last].copy(), cell, kept


def lstm_grad(
    b: Backend,
    grad: Floats,
    by_last: Floats,
    by_cell: Floats,
    x: Floats,
    h0: Floats,
    c0: Floats,
    w_ih: Floats,
    w_hh: Floats,
    b_ih: Floats | None,
    b_hh: Floats | None,
    mask: Floats | None,
    states: Floats,
    kept: Floats,
    /,
    *,
    reverse: bool = False,
) -> Triple:
    """The derivatives of ``lstm`` by what the gates sum, by h0 and by c0."""
    if not kept.size:
        rest = (w_ih, w_hh, b_ih, b_hh, mask, states, kept)
        return Backend.lstm_grad(
            b, grad, by_last, by_cell, x, h0, c0, *rest, reverse=reverse
        )
    by_gates = fresh((*grad.shape[:2], 4 * grad.shape[2]), grad.dtype)
    by_h0, by_c0 = _copy(by_last), _copy(by_cell)
    answers = to_contiguous(grad), to_contiguous(states), to_contiguous(kept)
    firsts = to_contiguous(h0), to_contiguous(c0)
    layer = *firsts, to_contiguous(w_hh), _truths(mask), reverse
    _native.recurrent_grad(*answers, *layer, by_gates, None, by_h0, by_c0, b.threads)
    return by_gates, by_h0, by_c0


def _suits(x: Floats, *others: Floats | None) -> bool:
    """Whether Rust takes the arrays: of one type that it knows, and none of them empty."""
    arrays = [array for array in others if array is not None]
    is_one_type = all(array.dtype == x.dtype for array in arrays)
    return x.dtype.char in "fd" and is_one_type and all(a.size for a in (x, *arrays))


def _run(
    b: Backend,
    inputs: tuple[Floats, Floats, Floats | None],
    firsts: tuple[Floats, Floats | None],
    weights: tuple[Floats, Floats | None],
    mask: Floats | None,
    *,
    reverse: bool,
) -> tuple[Floats, Floats]:
    """Every state, and what the gradient reads."""
    (x, w_ih, b_ih), (h0, c0) = inputs, firsts
    states = fresh((*x.shape[:2], h0.shape[-1]), x.dtype)
    parts = 4 if c0 is None else 5
    kept = fresh((*x.shape[:2], parts * h0.shape[-1]), x.dtype)
    given = to_contiguous(x), to_contiguous(w_ih), _if_given(b_ih)
    layer = to_contiguous(h0), _if_given(c0)
    layer = *layer, to_contiguous(weights[0]), _if_given(weights[1])
    _native.recurrent(*given, *layer, _truths(mask), reverse, states, kept, b.threads)
    return states, kept


def _if_given(array: Floats | None) -> Floats | None:
    """An array without gaps, where there is one."""
    return None if array is None else to_contiguous(array)


def _truths(mask: Floats | None) -> Floats | None:
    """A mask as booleans without gaps."""
    return None if mask is None else np.ascontiguousarray(mask, np.bool_)


def _copy(x: Floats) -> Floats:
    """A copy without gaps, which the kernel overwrites."""
    return np.array(x, order="C")


def _last(*, reverse: bool) -> int:
    """The position after which there is none."""
    return 0 if reverse else -1
