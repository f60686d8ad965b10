"""Recurrent layers: torch's kernels forward; the way back is ours, over all positions.

Each is an operation of the library ``seqloom``, so that ``torch.compile`` takes a loop over
time as one node instead of one for each step.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from seqloom.tensor._backend import Backend, backend
from seqloom.tensor._families import _recurrent_grad
from seqloom.tensor.backends._torch._kernels import operation

# Input, first states, weights, and biases and a mask, which may be missing.
_GRU_ARRAYS, _LSTM_ARRAYS = 7, 8


def gru(*arrays: Tensor | None, reverse: bool = False) -> tuple[Tensor, Tensor, Tensor]:
    """One direction of gated units."""
    return _gru(*arrays, *(None,) * (_GRU_ARRAYS - len(arrays)), reverse)


def lstm(
    *arrays: Tensor | None, reverse: bool = False
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """One direction of long short-term memory."""
    return _lstm(*arrays, *(None,) * (_LSTM_ARRAYS - len(arrays)), reverse)


def gru_grad(*args: Tensor | None, reverse: bool = False) -> tuple[Tensor, Tensor, Tensor]:
    """Return the derivatives of ``gru``."""
    return _gru_grad(*args, reverse)


def lstm_grad(*args: Tensor | None, reverse: bool = False) -> tuple[Tensor, Tensor, Tensor]:
    """Return the derivatives of ``lstm``."""
    return _lstm_grad(*args, reverse)


@operation("gru")
def _gru(
    x: Tensor,
    h0: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None,
    b_hh: Tensor | None,
    mask: Tensor | None,
    reverse: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    weights = w_ih, w_hh, b_ih, b_hh
    states, last = _run(torch.gru, x, (h0,), weights, mask, reverse=reverse)
    return states, last[0], x.new_empty(0)


@operation("lstm")
def _lstm(
    x: Tensor,
    h0: Tensor,
    c0: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None,
    b_hh: Tensor | None,
    mask: Tensor | None,
    reverse: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    weights = w_ih, w_hh, b_ih, b_hh
    states, last = _run(torch.lstm, x, (h0, c0), weights, mask, reverse=reverse)
    return states, last[0], last[1], x.new_empty(0)


@operation("gru_grad")
def _gru_grad(
    grad: Tensor,
    by_last: Tensor,
    x: Tensor,
    h0: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None,
    b_hh: Tensor | None,
    mask: Tensor | None,
    states: Tensor,
    kept: Tensor,
    reverse: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    inputs = (x, h0, w_ih, w_hh, b_ih, b_hh, mask, states, kept)
    made = _recurrent_grad.gru_grad(_owner(x), grad, by_last, *inputs, reverse=reverse)
    return _lay_out(*made)


@operation("lstm_grad")
def _lstm_grad(
    grad: Tensor,
    by_last: Tensor,
    by_cell: Tensor,
    x: Tensor,
    h0: Tensor,
    c0: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None,
    b_hh: Tensor | None,
    mask: Tensor | None,
    states: Tensor,
    kept: Tensor,
    reverse: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    inputs = (x, h0, c0, w_ih, w_hh, b_ih, b_hh, mask, states, kept)
    given = (grad, by_last, by_cell, *inputs)
    return _lay_out(*_recurrent_grad.lstm_grad(_owner(x), *given, reverse=reverse))


@_gru.register_fake
def _gru_results(x: Tensor, h0: Tensor, *_rest: object) -> tuple[Tensor, Tensor, Tensor]:
    """Return the shapes of the results."""
    states = x.new_empty((*x.shape[:2], h0.shape[-1]))
    return states, x.new_empty(h0.shape), x.new_empty(0)


@_lstm.register_fake
def _lstm_results(
    x: Tensor, h0: Tensor, c0: Tensor, *_rest: object
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return the shapes of the results."""
    states, last, kept = _gru_results(x, h0)
    return states, last, x.new_empty(c0.shape), kept


@_gru_grad.register_fake
def _gru_slopes(
    grad: Tensor, by_last: Tensor, *_rest: object
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the shapes of the derivatives."""
    gates = (*grad.shape[:2], 3 * grad.shape[2])
    return grad.new_empty(gates), grad.new_empty(gates), grad.new_empty(by_last.shape)


@_lstm_grad.register_fake
def _lstm_slopes(
    grad: Tensor, by_last: Tensor, by_cell: Tensor, *_rest: object
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the shapes of the derivatives."""
    gates = (*grad.shape[:2], 4 * grad.shape[2])
    ends = grad.new_empty(by_last.shape), grad.new_empty(by_cell.shape)
    return grad.new_empty(gates), *ends


def _lay_out(first: Tensor, *others: Tensor) -> Any:
    """Return the results in the order of memory that a compiled step expects of them."""
    return (first.contiguous(), *(other.contiguous() for other in others))


def _owner(x: Tensor) -> Backend:
    """Return the backend of an array."""
    return backend(f"torch:{x.device}")


def _run(
    function: Any,
    x: Tensor,
    firsts: tuple[Tensor, ...],
    parameters: tuple[Tensor | None, ...],
    mask: Tensor | None,
    *,
    reverse: bool,
) -> tuple[Tensor, list[Tensor]]:
    """Every state, and the last ones, in one direction."""
    weights = [part for part in parameters if part is not None]
    x = x.flip(1) if reverse else x
    if mask is not None:
        mask = mask.flip(1) if reverse else mask
        states, last = _run_packed(function, x, firsts, weights, mask)
    else:
        begin = [first.unsqueeze(0) for first in firsts]
        form = len(weights) == len(parameters), 1, 0.0, False, False, True
        states, *last = function(x, _one_or_all(begin), weights, *form)
        last = [part.squeeze(0) for part in last]
    states = states.flip(1) if reverse else states  # which keeps an order that is not ours
    return states.contiguous(), last


def _run_packed(
    function: Any,
    x: Tensor,
    firsts: tuple[Tensor, ...],
    weights: list[Tensor],
    mask: Tensor,
) -> tuple[Tensor, list[Tensor]]:
    """Return the same where some positions do not count.

    The others are packed, in their order.
    """
    count = mask.sum(dim=1)
    packed = _pack(x, mask, count)
    begin = [first[packed.sorted_indices].unsqueeze(0) for first in firsts]
    form = len(weights) == 4, 1, 0.0, False, False  # noqa: PLR2004  # with biases
    given = packed.data, packed.batch_sizes, _one_or_all(begin), weights
    data, *last = function(*given, *form)
    states, _ = pad_packed_sequence(PackedSequence(data, *packed[1:]), batch_first=True)
    some = (count > 0).unsqueeze(1)
    ends = [
        torch.where(some, part.squeeze(0)[packed.unsorted_indices], first)
        for part, first in zip(last, firsts, strict=True)
    ]
    # The state after each position: that after as many as count up to there.
    states = torch.cat([firsts[0].unsqueeze(1), states], dim=1)
    place = mask.cumsum(dim=1).unsqueeze(2).expand(-1, -1, states.shape[2])
    return states.gather(1, place), ends


def _pack(x: Tensor, mask: Tensor, count: Tensor) -> PackedSequence:
    """Return positions that count, moved to the front; one of a sequence that has none."""
    order = torch.argsort(mask.logical_not(), dim=1, stable=True)
    real = x.gather(1, order.unsqueeze(2).expand(x.shape))
    lengths = count.clamp(min=1).cpu()
    return pack_padded_sequence(real, lengths, batch_first=True, enforce_sorted=False)


def _one_or_all(begin: list[Tensor]) -> Tensor | list[Tensor]:
    """Return the first state alone, or state and cell as torch's function takes them."""
    return begin[0] if len(begin) == 1 else begin
