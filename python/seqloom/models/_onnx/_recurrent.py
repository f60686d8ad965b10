"""Recurrent ONNX operators: LSTM, GRU and RNN, in one direction or both."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.models._onnx._graph import GATES, OnnxWeights, split_weights
from seqloom.models._onnx._layers import ACTIVATIONS
from seqloom.models._onnx._values import Directions, as_tensor, fill_like, is_known, permute
from seqloom.nn import functional as F
from seqloom.nn._operands import as_operand
from seqloom.nn._recurrent import gru as run_gru, lstm as run_lstm
from seqloom.nn._recurrent_base import mask_lengths
from seqloom.tensor import Tensor, apply

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from seqloom.models._onnx._layers import Activation
    from seqloom.models._onnx._values import OnnxCall, Operator


# Indices of the node's inputs; weights that were split when the file was read are last.
_X, _LENGTHS, _STATE, _CELL, _PEEPHOLES, _SPLIT = 0, 4, 5, 6, 7, 8
_DEFAULT_ACTIVATIONS = {
    "GRU": ["sigmoid", "tanh"],
    "LSTM": ["sigmoid", "tanh", "tanh"],
    "RNN": ["tanh"],
}
# Biases at which a sigmoid is exactly 0 or 1.
_ZERO_BIAS, _ONE_BIAS = -1e4, 1e4


@dataclass(frozen=True, eq=False, slots=True)
class DirectionRun:
    """One direction of a recurrent node."""

    call: OnnxCall
    x: Tensor  # shape (record, position, input feature)
    mask: Tensor | None
    weights: OnnxWeights
    first: list[Tensor]
    number: int  # index of this direction
    reverse: bool

    def run(self) -> tuple[Tensor, list[Tensor]]:
        """Return the state at each position, and the final state and cell."""
        call, operator, weights = self.call, self.call.node.operator, self.weights
        options: dict[str, Any] = {"mask": self.mask, "reverse": self.reverse}
        activations = list_activations(call, _DEFAULT_ACTIVATIONS[operator])[self.number]
        is_plain = [it.name for it in activations] == _DEFAULT_ACTIVATIONS[operator]
        if not is_plain or self._has_special_gates():
            peepholes = call.optional(_PEEPHOLES)
            peepholes = None if peepholes is None else peepholes[self.number]
            cell = Cell(call, weights, activations, peepholes)
            return run_steps(cell, self.x, self.first, **options)
        if operator == "LSTM":
            states = self.first[0], self.first[1]
            out, lasts = run_lstm(self.x, states, *weights, **options)
            return out, list(lasts)
        weights = weights if operator == "GRU" else _rnn_to_gru(weights)
        out, last = run_gru(self.x, self.first[0], *weights, **options)
        return out, [last]

    def _has_special_gates(self) -> bool:
        """Return whether the node computes gates differently from PyTorch."""
        call = self.call
        if call.node.operator == "GRU":
            return not call.attribute("linear_before_reset", 0)
        return call.has(_PEEPHOLES) or bool(call.attribute("input_forget", 0))


def recurrent(call: OnnxCall) -> tuple[Any, ...]:
    """Run all directions of a node."""
    if call.attribute("clip") is not None:
        call.fail("has a clip, which is not supported")
    layout = call.attribute("layout", 0)
    x = call.value(_X) if layout else permute(call.value(_X), (1, 0, 2))
    layers = _list_layers(call, as_tensor(x, call.first))
    found = [layer.run() for layer in layers]
    states = Directions(tuple(states for states, _ in found))
    outputs = permute(states, (2, 0, 1, 3)) if layout else states
    if not any(call.node.outputs[1:]):
        return (outputs,)
    lasts = zip(*(last for _, last in found), strict=True)
    axis = 1 if layout else 0  # axis of the directions
    return (outputs, *(apply("stack", list(last), axis=axis) for last in lasts))


def _list_layers(call: OnnxCall, x: Tensor) -> list[DirectionRun]:
    """Return the directions of a recurrent node with their weights and states."""
    kind = call.choice("direction", "forward", ("forward", "reverse", "bidirectional"))
    reverses = {"forward": [False], "reverse": [True]}.get(kind, [False, True])
    mask = mask_lengths(x, call.tensor(_LENGTHS)) if call.has(_LENGTHS) else None
    weights = _find_weights(call)
    if len(weights) != len(reverses):
        call.fail(f"has weights of {len(weights)} directions, but direction={kind!r}")
    places = (_STATE, _CELL) if call.node.operator == "LSTM" else (_STATE,)
    layers: list[DirectionRun] = []
    for number, (own, reverse) in enumerate(zip(weights, reverses, strict=True)):
        width = own.w_hh.shape[1]
        first = [_initial_state(call, it, x, width=width, number=number) for it in places]
        layers.append(DirectionRun(call, x, mask, own, first, number, reverse))
    return layers


def _find_weights(call: OnnxCall) -> list[OnnxWeights]:
    """Return the weights of each direction, with gates in PyTorch's order."""
    if len(call) > _SPLIT:
        parts = [call.optional(place) for place in range(_SPLIT, len(call))]
        return [OnnxWeights(*parts[at : at + 4]) for at in range(0, len(parts), 4)]  # pyright: ignore[reportArgumentType]
    return split_weights(
        call.node.operator, call.tensor(1), call.tensor(2), b=call.optional(3)
    )


def _initial_state(
    call: OnnxCall, place: int, x: Tensor, *, width: int, number: int
) -> Tensor:
    """Return the initial state of a direction; default: zeros."""
    shape = (x.shape[0], width)
    if not call.has(place):
        return fill_like(x, shape, np.zeros((), x.dtype)[()])
    given = call.value(place)
    if is_known(given) and given.size and bool((given == given.flat[0]).all()):
        return fill_like(x, shape, given.flat[0])
    state = call.tensor(place)
    state = state[:, number] if call.attribute("layout", 0) else state[number]
    return state if state.shape == shape else apply("broadcast_to", state, shape)


def _rnn_to_gru(weights: OnnxWeights) -> OnnxWeights:
    """Convert a tanh RNN to a GRU that never resets and always uses the new state."""
    w_hh, width = weights.w_hh, weights.w_hh.shape[1]

    def prepend_zeros(x: Tensor) -> Tensor:
        return apply("pad", x, ((2 * width, 0), *((0, 0) for _ in x.shape[1:])))

    gates = np.repeat(np.asarray([_ONE_BIAS, _ZERO_BIAS, 0], w_hh.dtype), width)
    b_ih = None if weights.b_ih is None else prepend_zeros(weights.b_ih)
    b_ih = as_operand(w_hh, gates) if b_ih is None else b_ih + gates
    b_hh = None if weights.b_hh is None else prepend_zeros(weights.b_hh)
    return OnnxWeights(prepend_zeros(weights.w_ih), prepend_zeros(w_hh), b_ih, b_hh)


@dataclass(frozen=True, slots=True)
class NamedActivation:
    """Activation with its lower-case name and bound parameters."""

    name: str
    function: Callable[[Tensor], Tensor]


def _affine(x: Tensor, alpha: float, beta: float) -> Tensor:
    return x * alpha + beta


def _scaled_tanh(x: Tensor, alpha: float, beta: float) -> Tensor:
    return F.tanh(x * beta) * alpha


def _thresholded_relu(x: Tensor, alpha: float) -> Tensor:
    return apply("where", x >= alpha, x, 0.0)


# Activations by lower-case name. Unlike the operator ThresholdedRelu, the activation
# keeps values equal to the threshold.
_ACTIVATIONS: dict[str, Activation] = {
    **{
        name.lower(): ACTIVATIONS[name]
        for name in ("Elu", "HardSigmoid", "LeakyRelu", "Softplus", "Softsign")
    },
    "affine": (_affine, {"alpha": 1.0, "beta": 0.0}),
    "relu": (F.relu, {}),
    "scaledtanh": (_scaled_tanh, {"alpha": 1.0, "beta": 1.0}),
    "sigmoid": (F.sigmoid, {}),
    "tanh": (F.tanh, {}),
    "thresholdedrelu": (_thresholded_relu, {"alpha": 1.0}),
}


def list_activations(call: OnnxCall, plain: Sequence[str]) -> list[list[NamedActivation]]:
    """Return the activations of each direction; use defaults for missing activations."""
    directions = 2 if call.attribute("direction", "forward") == "bidirectional" else 1
    names = call.attribute("activations") or [*plain] * directions
    if len(names) != len(plain) * directions:
        call.fail(f"names {len(names)} activations, expected {len(plain) * directions}")
    kinds = ("alpha", "beta")
    given = {kind: list(call.attribute(f"activation_{kind}", ())) for kind in kinds}
    found = [_make_activation(call, name.lower(), given) for name in names]
    return [found[at : at + len(plain)] for at in range(0, len(found), len(plain))]


def _make_activation(
    call: OnnxCall, name: str, given: dict[str, list[float]]
) -> NamedActivation:
    """Create one activation, with the node's next parameters or the defaults."""
    if name not in _ACTIVATIONS:
        call.fail(f"has the activation {name}, which is not supported")
    function, usual = _ACTIVATIONS[name]
    numbers = [
        given[kind].pop(0) if given[kind] else default for kind, default in usual.items()
    ]
    return NamedActivation(name, lambda x: function(x, *numbers))


@dataclass(frozen=True, eq=False, slots=True)
class Cell:
    """Weights and activations of a recurrent node; `step` computes one position."""

    call: OnnxCall
    weights: OnnxWeights
    activations: list[NamedActivation]
    peepholes: Tensor | None

    def step(self, seen: Tensor, states: list[Tensor]) -> list[Tensor]:
        """Return the new states; the first state is the output."""
        steps = {"GRU": self._gru, "LSTM": self._lstm, "RNN": self._rnn}
        return steps[self.call.node.operator](seen, states)

    def _rnn(self, seen: Tensor, states: list[Tensor]) -> list[Tensor]:
        (activate,) = (it.function for it in self.activations)
        return [activate(seen + self._recurrent(states[0]))]

    def _gru(self, seen: Tensor, states: list[Tensor]) -> list[Tensor]:
        """Compute one GRU step; the reset gate acts before or after the matrix product."""
        gate, activate = (it.function for it in self.activations)
        state, width = states[0], states[0].shape[1]
        hidden = self._recurrent(state)
        reset, update = (
            gate(_slice_gate(seen, at, width) + _slice_gate(hidden, at, width))
            for at in (0, 1)
        )
        if self.call.attribute("linear_before_reset", 0):
            more = reset * _slice_gate(hidden, 2, width)
        else:
            w_hh, b_hh = self.weights.w_hh[2 * width :], self.weights.b_hh
            b_hh = None if b_hh is None else b_hh[2 * width :]
            more = apply("linear", reset * state, w_hh, b_hh)
        new = activate(_slice_gate(seen, 2, width) + more)
        return [new + update * (state - new)]

    def _lstm(self, seen: Tensor, states: list[Tensor]) -> list[Tensor]:
        """Compute one step of an LSTM, optionally with peepholes."""
        gate, activate, show = (it.function for it in self.activations)
        (state, cell), width = states, states[0].shape[1]
        parts = seen + self._recurrent(state)
        part = partial(_slice_gate, parts, width=width)
        enter = gate(part(0) + self._compute_peephole(cell, 0))
        is_tied = self.call.attribute("input_forget", 0)
        keep = 1.0 - enter if is_tied else gate(part(1) + self._compute_peephole(cell, 2))
        cell = keep * cell + enter * activate(part(2))
        return [gate(part(3) + self._compute_peephole(cell, 1)) * show(cell), cell]

    def _compute_peephole(self, cell: Tensor, number: int) -> Any:
        """Return the peephole term of a gate: 0 input, 1 output, 2 forget."""
        if self.peepholes is None:
            return 0.0
        width = cell.shape[1]
        return cell * self.peepholes[number * width : (number + 1) * width]

    def _recurrent(self, state: Tensor) -> Tensor:
        """Return the state's contribution to the gates."""
        return apply("linear", state, self.weights.w_hh, self.weights.b_hh)


def _slice_gate(x: Tensor, number: int, width: int) -> Tensor:
    """Return the columns of one gate."""
    return x[:, number * width : (number + 1) * width]


def run_steps(
    cell: Cell, x: Tensor, first: list[Tensor], *, mask: Tensor | None, reverse: bool
) -> tuple[Tensor, list[Tensor]]:
    """Run a cell over all positions; padding has output 0 and does not change states."""
    seen = apply("linear", x, cell.weights.w_ih, cell.weights.b_ih)
    states, outs = first, list[Tensor]()
    places = range(x.shape[1])
    for at in places[::-1] if reverse else places:
        found = cell.step(seen[:, at], states)
        out = found[0]
        if mask is not None:
            real = mask[:, at : at + 1]
            pairs = zip(found, states, strict=True)
            found = [apply("where", real, new, old) for new, old in pairs]
            out = apply("where", real, out, 0.0)
        states = found
        outs.append(out)
    return apply("stack", outs[::-1] if reverse else outs, axis=1), states


OPERATORS: dict[str, Operator] = dict.fromkeys(GATES, recurrent)
