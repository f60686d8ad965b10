"""Recurrent cells that no kernel has, position by position: other gates, activations."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from seqloom.nn import functional as F
from seqloom.tensor import Tensor, apply

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from seqloom.models._onnx._call import Call
    from seqloom.models._onnx._recurrent_weights import Weights


@dataclass(frozen=True, slots=True)
class Activation:
    """An activation by its name in lower case, with its numbers filled in."""

    name: str
    function: Callable[[Tensor], Tensor]


def _affine(x: Tensor, alpha: float, beta: float) -> Tensor:
    """Draws a line."""
    return x * alpha + beta


def _hard_sigmoid(x: Tensor, alpha: float, beta: float) -> Tensor:
    """Draws a line from 0 to 1."""
    return apply("clip", x * alpha + beta, 0.0, 1.0)


def _scaled_tanh(x: Tensor, alpha: float, beta: float) -> Tensor:
    """Computes a tanh of other height and steepness."""
    return F.tanh(x * beta) * alpha


def _thresholded_relu(x: Tensor, alpha: float) -> Tensor:
    """Keeps values from a number on, and makes the others 0."""
    return apply("where", x >= alpha, x, 0.0)


# The functions, with the defaults of the numbers alpha and beta that they take.
_ACTIVATIONS: dict[str, tuple[Callable[..., Tensor], tuple[float, ...]]] = {
    "affine": (_affine, (1.0, 0.0)),
    "elu": (F.elu, (1.0,)),
    "hardsigmoid": (_hard_sigmoid, (0.2, 0.5)),
    "leakyrelu": (F.leaky_relu, (0.01,)),
    "relu": (F.relu, ()),
    "scaledtanh": (_scaled_tanh, (1.0, 1.0)),
    "sigmoid": (F.sigmoid, ()),
    "softplus": (F.softplus, ()),
    "softsign": (F.softsign, ()),
    "tanh": (F.tanh, ()),
    "thresholdedrelu": (_thresholded_relu, (1.0,)),
}
_NAMES = ("alpha", "beta")


def list_activations(call: Call, plain: Sequence[str]) -> list[list[Activation]]:
    """Lists the activations of each direction; those that are not named are the usual."""
    directions = 2 if call.attribute("direction", "forward") == "bidirectional" else 1
    names = call.attribute("activations") or [*plain] * directions
    if len(names) != len(plain) * directions:
        call.refuse(f"names {len(names)} activations, expected {len(plain) * directions}")
    given = {name: list(call.attribute(f"activation_{name}", ())) for name in _NAMES}
    found = [_activation(call, name.lower(), given) for name in names]
    return [found[at : at + len(plain)] for at in range(0, len(found), len(plain))]


def _activation(call: Call, name: str, given: dict[str, list[float]]) -> Activation:
    """Makes one activation; its numbers are the next that the node gives, or the usual."""
    if name not in _ACTIVATIONS:
        call.refuse(f"has the activation {name}, which is not supported")
    function, usual = _ACTIVATIONS[name]
    numbers = [
        given[kind].pop(0) if given[kind] else default
        for kind, default in zip(_NAMES, usual, strict=False)
    ]
    return Activation(name, lambda x: function(x, *numbers))


@dataclass(frozen=True, eq=False, slots=True)
class Cell:
    """What a recurrent layer computes at one position."""

    call: Call
    weights: Weights
    activations: list[Activation]
    peepholes: Tensor | None

    def step(self, seen: Tensor, states: list[Tensor]) -> list[Tensor]:
        """Gives the new states; the first of them is the output."""
        steps = {"GRU": self._gru, "LSTM": self._lstm, "RNN": self._rnn}
        return steps[self.call.node.operator](seen, states)

    def _rnn(self, seen: Tensor, states: list[Tensor]) -> list[Tensor]:
        """Computes an RNN."""
        (activate,) = (it.function for it in self.activations)
        return [activate(seen + self._recurrent(states[0]))]

    def _gru(self, seen: Tensor, states: list[Tensor]) -> list[Tensor]:
        """Computes a GRU, with the reset gate before the product or after it."""
        gate, activate = (it.function for it in self.activations)
        state, width = states[0], states[0].shape[1]
        hidden = self._recurrent(state)
        reset, update = (
            gate(_part(seen, at, width) + _part(hidden, at, width)) for at in (0, 1)
        )
        if self.call.attribute("linear_before_reset", 0):
            more = reset * _part(hidden, 2, width)
        else:
            w_hh, b_hh = self.weights.w_hh[2 * width :], self.weights.b_hh
            b_hh = None if b_hh is None else b_hh[2 * width :]
            more = apply("linear", reset * state, w_hh, b_hh)
        new = activate(_part(seen, 2, width) + more)
        return [new + update * (state - new)]

    def _lstm(self, seen: Tensor, states: list[Tensor]) -> list[Tensor]:
        """Computes an LSTM; its gates may see the cell."""
        gate, activate, show = (it.function for it in self.activations)
        (state, cell), width = states, states[0].shape[1]
        parts = seen + self._recurrent(state)
        part = partial(_part, parts, width=width)
        enter = gate(part(0) + self._peep(cell, 0))
        is_tied = self.call.attribute("input_forget", 0)
        keep = 1.0 - enter if is_tied else gate(part(1) + self._peep(cell, 2))
        cell = keep * cell + enter * activate(part(2))
        return [gate(part(3) + self._peep(cell, 1)) * show(cell), cell]

    def _peep(self, cell: Tensor, number: int) -> Any:
        """Gives what a gate sees of the cell: input, output and forget gate in order."""
        if self.peepholes is None:
            return 0.0
        width = cell.shape[1]
        return cell * self.peepholes[number * width : (number + 1) * width]

    def _recurrent(self, state: Tensor) -> Tensor:
        """Gives what the state adds to the gates."""
        return apply("linear", state, self.weights.w_hh, self.weights.b_hh)


def _part(x: Tensor, number: int, width: int) -> Tensor:
    """Gives one gate's part of all."""
    return x[:, number * width : (number + 1) * width]


def run_steps(
    cell: Cell, x: Tensor, first: list[Tensor], *, mask: Tensor | None, reverse: bool
) -> tuple[Tensor, list[Tensor]]:
    """Goes over the positions; at padding the states stay and the output is 0."""
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
