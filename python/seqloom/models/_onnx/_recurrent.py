"""Recurrent operators of ONNX: LSTM, GRU and RNN, in one direction or both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from seqloom.models._onnx._recurrent_steps import Cell, list_activations, run_steps
from seqloom.models._onnx._recurrent_weights import GATES, Weights, split_weights
from seqloom.models._onnx._values import (
    Directions,
    as_tensor,
    fill_like,
    is_known,
    permute,
)
from seqloom.nn._operands import as_operand
from seqloom.nn._recurrent import gru as run_gru, lstm as run_lstm
from seqloom.nn._recurrent_base import mask_lengths
from seqloom.tensor import Tensor, apply

if TYPE_CHECKING:
    from collections.abc import Callable

    from seqloom.models._onnx._call import Call

# Places of inputs; the weights that were split when the file was read come last.
_X, _LENGTHS, _STATE, _CELL, _PEEPHOLES, _SPLIT = 0, 4, 5, 6, 7, 8
_PLAIN = {
    "GRU": ["sigmoid", "tanh"],
    "LSTM": ["sigmoid", "tanh", "tanh"],
    "RNN": ["tanh"],
}
# A sigmoid of these is exactly 0 and 1.
_CLOSED, _OPEN = -1e4, 1e4


@dataclass(frozen=True, eq=False, slots=True)
class Layer:
    """One direction of a recurrent node."""

    call: Call
    x: Tensor  # (record, position, in)
    mask: Tensor | None
    weights: Weights
    first: list[Tensor]
    number: int  # of the direction
    reverse: bool

    def run(self) -> tuple[Tensor, list[Tensor]]:
        """Gives the state at each position, and the last state and cell."""
        operator, activations = self.call.node.operator, self._activations()
        is_plain = [it.name for it in activations] == _PLAIN[operator]
        if not is_plain or self._has_own_gates():
            cell = Cell(self.call, self.weights, activations, self._peepholes())
            return run_steps(cell, self.x, self.first, **self.options)
        return _RUN[operator](self)

    def _activations(self) -> list[Any]:
        """Lists the activations of this direction."""
        names = _PLAIN[self.call.node.operator]
        return list_activations(self.call, names)[self.number]

    def _has_own_gates(self) -> bool:
        """Whether gates are computed in another way than torch's."""
        call = self.call
        if call.node.operator == "GRU":
            return not call.attribute("linear_before_reset", 0)
        return call.has(_PEEPHOLES) or bool(call.attribute("input_forget", 0))

    def _peepholes(self) -> Tensor | None:
        """Gives what the gates of an LSTM see of the cell."""
        if not self.call.has(_PEEPHOLES):
            return None
        return self.call.tensor(_PEEPHOLES)[self.number]

    @property
    def options(self) -> dict[str, Any]:
        """The options of the functions that run a layer."""
        return {"mask": self.mask, "reverse": self.reverse}


def recurrent(call: Call) -> tuple[Any, ...]:
    """Runs all directions of a node."""
    if call.attribute("clip") is not None:
        call.refuse("has a clip, which is not supported")
    layout = call.attribute("layout", 0)
    x = call.value(_X) if layout else permute(call.value(_X), (1, 0, 2))
    layers = _list_layers(call, as_tensor(x, call.first))
    found = [layer.run() for layer in layers]
    states = Directions(tuple(states for states, _ in found))
    lasts = zip(*(last for _, last in found), strict=True)
    wanted = [bool(name) for name in call.node.outputs]
    results = [_stack(last, layout) for last in lasts] if any(wanted[1:]) else []
    return (permute(states, (2, 0, 1, 3)) if layout else states, *results)


def _stack(parts: Any, layout: int) -> Tensor:
    """Puts the last states of the directions together."""
    return apply("stack", list(parts), axis=1 if layout else 0)


def _list_layers(call: Call, x: Tensor) -> list[Layer]:
    """Lists the directions of a node, with what each of them is given."""
    kind = call.word("direction", "forward", ("forward", "reverse", "bidirectional"))
    reverses = {"forward": [False], "reverse": [True]}.get(kind, [False, True])
    mask = mask_lengths(x, call.tensor(_LENGTHS)) if call.has(_LENGTHS) else None
    weights = _find_weights(call)
    if len(weights) != len(reverses):
        call.refuse(f"has weights of {len(weights)} directions, but direction={kind!r}")
    places = (_STATE, _CELL) if call.node.operator == "LSTM" else (_STATE,)
    return [
        Layer(
            call,
            x,
            mask,
            own,
            [
                _first_state(call, place, x, width=own.w_hh.shape[1], number=number)
                for place in places
            ],
            number,
            reverse,
        )
        for number, (own, reverse) in enumerate(zip(weights, reverses, strict=True))
    ]


def _find_weights(call: Call) -> list[Weights]:
    """Gives the weights of each direction, in torch's order of gates."""
    if len(call) > _SPLIT:
        parts = [call.optional(place) for place in range(_SPLIT, len(call))]
        return [Weights(*parts[at : at + 4]) for at in range(0, len(parts), 4)]  # pyright: ignore[reportArgumentType]
    return split_weights(
        call.node.operator, call.tensor(1), call.tensor(2), b=call.optional(3)
    )


def _first_state(call: Call, place: int, x: Tensor, *, width: int, number: int) -> Tensor:
    """Gives the first state of a direction; zeros where none is given."""
    shape = (x.shape[0], width)
    if not call.has(place):
        return fill_like(x, shape, np.zeros((), x.dtype)[()])
    given = call.value(place)
    if is_known(given) and given.size and bool((given == given.flat[0]).all()):
        return fill_like(x, shape, given.flat[0])
    state = call.tensor(place)
    state = state[:, number] if call.attribute("layout", 0) else state[number]
    return state if state.shape == shape else apply("broadcast_to", state, shape)


def _run_lstm(layer: Layer) -> tuple[Tensor, list[Tensor]]:
    """Runs an LSTM of the usual kind."""
    state, cell = layer.first
    out, last = run_lstm(layer.x, (state, cell), *layer.weights, **layer.options)
    return out, list(last)


def _run_gru(layer: Layer) -> tuple[Tensor, list[Tensor]]:
    """Runs a GRU whose reset gate comes after the product, as torch's."""
    out, last = run_gru(layer.x, layer.first[0], *layer.weights, **layer.options)
    return out, [last]


def _run_rnn(layer: Layer) -> tuple[Tensor, list[Tensor]]:
    """Runs an RNN of tanh: a GRU that never resets and always takes the new state."""
    w_ih, w_hh, b_ih, b_hh = (
        None if it is None else _after_zeros(it, 2 * layer.weights.w_hh.shape[0])
        for it in layer.weights
    )
    b_ih = _open_gates(cast("Tensor", w_hh), b_ih)
    first = layer.first[0]
    out, last = run_gru(layer.x, first, w_ih, w_hh, b_ih, b_hh, **layer.options)  # pyright: ignore[reportArgumentType]
    return out, [last]


def _open_gates(w_hh: Tensor, bias: Tensor | None) -> Tensor:
    """Gives a bias with which nothing is reset, and nothing of the old state is kept."""
    width = w_hh.shape[1]
    gates = np.repeat(np.asarray([_OPEN, _CLOSED, 0], w_hh.dtype), width)
    return as_operand(w_hh, gates) if bias is None else bias + gates


def _after_zeros(x: Tensor, rows: int) -> Tensor:
    """Puts rows of zeros before a weight."""
    return apply("pad", x, ((rows, 0), *((0, 0) for _ in x.shape[1:])))


_RUN: dict[str, Callable[[Layer], tuple[Tensor, list[Tensor]]]] = {
    "GRU": _run_gru,
    "LSTM": _run_lstm,
    "RNN": _run_rnn,
}
OPERATORS: dict[str, Callable[[Call], Any]] = dict.fromkeys(GATES, recurrent)
