"""Recurrent layers: the forward pass in PyTorch kernels, the backward pass in seqloom.

Each layer is an operation of the torch library ``seqloom``, so that ``torch.compile``
traces one node instead of a node for each step.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from seqloom.tensor._backend import Backend, backend
from seqloom.tensor._families import _recurrent_grad
from seqloom.tensor.backends._torch._kernels import register

# input, initial states, weights, and optional biases and mask
_GRU_INPUTS, _LSTM_INPUTS = 7, 8


def gru(*arrays: Tensor | None, reverse: bool = False) -> tuple[Tensor, Tensor, Tensor]:
    """Run a GRU over a sequence in one direction."""
    return _gru(*arrays, *(None,) * (_GRU_INPUTS - len(arrays)), reverse)


def lstm(
    *arrays: Tensor | None, reverse: bool = False
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Run an LSTM over a sequence in one direction."""
    return _lstm(*arrays, *(None,) * (_LSTM_INPUTS - len(arrays)), reverse)


def gru_grad(*args: Tensor | None, reverse: bool = False) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients of the gate pre-activations of ``gru``, and of h0."""
    return _gru_grad(*args, reverse)


def lstm_grad(*args: Tensor | None, reverse: bool = False) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients of the gate pre-activations of ``lstm``, of h0 and of c0."""
    return _lstm_grad(*args, reverse)


@register("gru")
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
    states, last = _run_kernel(torch.gru, x, (h0,), weights, mask, reverse=reverse)
    return states, last[0], x.new_empty(0)


@register("lstm")
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
    states, last = _run_kernel(torch.lstm, x, (h0, c0), weights, mask, reverse=reverse)
    return states, last[0], last[1], x.new_empty(0)


@register("gru_grad")
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
    made = _recurrent_grad.gru_grad(
        _find_backend(x), grad, by_last, *inputs, reverse=reverse
    )
    return _to_dense(*made)


@register("lstm_grad")
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
    return _to_dense(*_recurrent_grad.lstm_grad(_find_backend(x), *given, reverse=reverse))


@_gru.register_fake
def _fake_gru(x: Tensor, h0: Tensor, *_rest: object) -> tuple[Tensor, Tensor, Tensor]:
    """Return uninitialised tensors with the shapes of the results."""
    states = x.new_empty((*x.shape[:2], h0.shape[-1]))
    return states, x.new_empty(h0.shape), x.new_empty(0)


@_lstm.register_fake
def _fake_lstm(
    x: Tensor, h0: Tensor, c0: Tensor, *_rest: object
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return uninitialised tensors with the shapes of the results."""
    states, last, kept = _fake_gru(x, h0)
    return states, last, x.new_empty(c0.shape), kept


@_gru_grad.register_fake
def _fake_gru_grads(
    grad: Tensor, by_last: Tensor, *_rest: object
) -> tuple[Tensor, Tensor, Tensor]:
    """Return uninitialised tensors with the shapes of the gradients."""
    gates = (*grad.shape[:2], 3 * grad.shape[2])
    return grad.new_empty(gates), grad.new_empty(gates), grad.new_empty(by_last.shape)


@_lstm_grad.register_fake
def _fake_lstm_grads(
    grad: Tensor, by_last: Tensor, by_cell: Tensor, *_rest: object
) -> tuple[Tensor, Tensor, Tensor]:
    """Return uninitialised tensors with the shapes of the gradients."""
    gates = (*grad.shape[:2], 4 * grad.shape[2])
    ends = grad.new_empty(by_last.shape), grad.new_empty(by_cell.shape)
    return grad.new_empty(gates), *ends


def _to_dense(first: Tensor, *others: Tensor) -> Any:
    """Return the results in the memory order that a compiled step expects."""
    return (first.contiguous(), *(other.contiguous() for other in others))


def _find_backend(x: Tensor) -> Backend:
    """Return the backend of an array."""
    return backend(f"torch:{x.device}")


def _run_kernel(
    function: Any,
    x: Tensor,
    firsts: tuple[Tensor, ...],
    parameters: tuple[Tensor | None, ...],
    mask: Tensor | None,
    *,
    reverse: bool,
) -> tuple[Tensor, list[Tensor]]:
    """Run a PyTorch kernel; return all states and the last states."""
    weights = [part for part in parameters if part is not None]
    x = x.flip(1) if reverse else x
    if mask is not None:
        mask = mask.flip(1) if reverse else mask
        states, last = _run_packed(function, x, firsts, weights, mask)
    else:
        begin = [first.unsqueeze(0) for first in firsts]
        form = len(weights) == len(parameters), 1, 0.0, False, False, True
        states, *last = function(x, _join_states(begin), weights, *form)
        last = [part.squeeze(0) for part in last]
    states = states.flip(1) if reverse else states  # a flip changes the memory order
    return states.contiguous(), last


def _run_packed(
    function: Any,
    x: Tensor,
    firsts: tuple[Tensor, ...],
    weights: list[Tensor],
    mask: Tensor,
) -> tuple[Tensor, list[Tensor]]:
    """Run a PyTorch kernel without masked positions; return all and the last states."""
    count = mask.sum(dim=1)
    packed = _pack_sequences(x, mask, count)
    begin = [first[packed.sorted_indices].unsqueeze(0) for first in firsts]
    form = len(weights) == 4, 1, 0.0, False, False  # noqa: PLR2004  # with biases
    given = packed.data, packed.batch_sizes, _join_states(begin), weights
    data, *last = function(*given, *form)
    states, _ = pad_packed_sequence(PackedSequence(data, *packed[1:]), batch_first=True)
    some = (count > 0).unsqueeze(1)
    ends = [
        torch.where(some, part.squeeze(0)[packed.unsorted_indices], first)
        for part, first in zip(last, firsts, strict=True)
    ]
    # The state at a masked position is that of the last unmasked position before it.
    states = torch.cat([firsts[0].unsqueeze(1), states], dim=1)
    place = mask.cumsum(dim=1).unsqueeze(2).expand(-1, -1, states.shape[2])
    return states.gather(1, place), ends


def _pack_sequences(x: Tensor, mask: Tensor, count: Tensor) -> PackedSequence:
    """Pack the unmasked positions of each sequence, at least one per sequence."""
    order = torch.argsort(mask.logical_not(), dim=1, stable=True)
    real = x.gather(1, order.unsqueeze(2).expand(x.shape))
    lengths = count.clamp(min=1).cpu()
    return pack_padded_sequence(real, lengths, batch_first=True, enforce_sorted=False)


def _join_states(begin: list[Tensor]) -> Tensor | list[Tensor]:
    """Return the state of a GRU, or the state and cell of an LSTM, for PyTorch."""
    return begin[0] if len(begin) == 1 else begin
