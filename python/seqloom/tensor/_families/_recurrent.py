"""Recurrent layers, and loops over a sequence."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from seqloom._rust import _native
from seqloom.tensor._families._numpy_arrays import (
    Floats,
    Triple,
    all_contiguous,
    allocate,
    can_use_rust,
    in_float32,
)
from seqloom.tensor._families._recurrent_grad import (
    shift_states,
    split_gates,
    swap_batch_and_time,
    to_bool_mask,
)
from seqloom.tensor._families._rule import Call, Parts, Rule, ShapeRule, Spec, require_match

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seqloom.tensor._elements import Array
    from seqloom.tensor._families import Functions
    from seqloom.tensor._families._keep import Args, Needs, Options
    from seqloom.tensor._graph import Value

    Saved = tuple[Args, Array, Array, Options]


# Default implementations ---------------------------------------------------------------


LoopBody = Callable[[list[Any], list[Any]], tuple[list[Any], list[Any]]]


def scan(
    b: Functions,
    body: LoopBody,
    init: Sequence[Array],
    xs: Sequence[Array],
    *,
    length: int,
    reverse: bool = False,
) -> tuple[list[Array], list[Array]]:
    """Run ``carry, y = body(carry, x)`` at each position of the first axis of ``xs``."""
    # Arguments and results of `body` are lists of arrays with the same shapes at each
    # step. The result is the last carry, and the values y of all steps, stacked by
    # position.
    carry = list(init)
    given: list[list[Array]] = []
    positions = range(length - 1, -1, -1) if reverse else range(length)
    for position in positions:
        carry, ys = body(carry, [b.index(x, position) for x in xs])
        given.append(ys)
    if reverse:
        given.reverse()
    columns = zip(*given, strict=True)
    return list(carry), [b.stack(list(column), axis=0) for column in columns]


def gru(
    b: Functions,
    x: Array,
    h0: Array,
    w_ih: Array,
    w_hh: Array,
    b_ih: Array | None = None,
    b_hh: Array | None = None,
    mask: Array | None = None,
    *,
    reverse: bool = False,
) -> tuple[Array, Array, Array]:
    """Run a GRU in one direction, with the gate order of PyTorch (Cho et al., 2014)."""
    # Shapes are x (n, l, in), h0 (n, width), w_ih (3 * width, in), w_hh (3 * width,
    # width) and biases (3 * width,). The order of gates is reset, update, new. The mask
    # (n, l) is true where a position changes the state. The results are all states (n,
    # l, width), the last state, and an array for `gru_grad`, empty here.

    def run_step(carry: list[Array], seen: list[Array]) -> tuple[list[Array], list[Array]]:
        recurrent = b.linear(carry[0], w_hh, b_hh)
        r, z, n = split_gates(b, seen[0], 3)
        hr, hz, hn = split_gates(b, recurrent, 3)
        reset, update = b.sigmoid(b.add(r, hr)), b.sigmoid(b.add(z, hz))
        new = b.tanh(b.add(n, b.multiply(reset, hn)))
        kept = b.multiply(update, b.subtract(carry[0], new))
        out = _select_state(b, seen, b.add(new, kept), carry[0])
        return [out], [out]

    seen = _prepare_step_inputs(b, x, w_ih, b_ih, mask)
    (last,), (states,) = b.scan(run_step, [h0], seen, length=x.shape[1], reverse=reverse)
    return swap_batch_and_time(b, states), last, b.zeros((0,), dtype=b.dtype(last))


def lstm(
    b: Functions,
    x: Array,
    h0: Array,
    c0: Array,
    w_ih: Array,
    w_hh: Array,
    b_ih: Array | None = None,
    b_hh: Array | None = None,
    mask: Array | None = None,
    *,
    reverse: bool = False,
) -> tuple[Array, Array, Array, Array]:
    """Run an LSTM in one direction (Hochreiter and Schmidhuber 1997)."""
    # The arguments are those of `gru`, plus the initial cell c0 (n, width). An LSTM has
    # four gates (input, forget, cell, output), so w_ih has shape (4 * width, in). The
    # results are all states (n, l, width), the last state, the last cell, and an array
    # for `lstm_grad`, which is empty here.

    def run_step(carry: list[Array], seen: list[Array]) -> tuple[list[Array], list[Array]]:
        gates = b.add(seen[0], b.linear(carry[0], w_hh, b_hh))
        i, f, g, o = split_gates(b, gates, 4)
        kept = b.multiply(b.sigmoid(f), carry[1])
        cell = b.add(kept, b.multiply(b.sigmoid(i), b.tanh(g)))
        out = b.multiply(b.sigmoid(o), b.tanh(cell))
        out = _select_state(b, seen, out, carry[0])
        cell = _select_state(b, seen, cell, carry[1])
        return [out, cell], [out]

    seen = _prepare_step_inputs(b, x, w_ih, b_ih, mask)
    (last, cell), (states,) = b.scan(
        run_step, [h0, c0], seen, length=x.shape[1], reverse=reverse
    )
    return swap_batch_and_time(b, states), last, cell, b.zeros((0,), dtype=b.dtype(last))


def _prepare_step_inputs(
    b: Functions, x: Array, w_ih: Array, b_ih: Array | None, mask: Array | None
) -> list[Array]:
    """Return the arrays that each step reads: inputs times weights, and the mask."""
    # One matrix product before the loop computes the contributions of all inputs.
    seen = [swap_batch_and_time(b, b.linear(x, w_ih, b_ih))]
    if mask is not None:
        seen.append(b.expand_dims(b.permute_dims(mask, (1, 0)), axis=2))
    return seen


def _select_state(b: Functions, seen: list[Array], new: Array, old: Array) -> Array:
    """Return the new state, or the old state at masked positions."""
    return b.where(seen[1], new, old) if len(seen) > 1 else new


# Gradient rules ------------------------------------------------------------------------


def _make_rule(name: str, firsts: int) -> Rule:
    """Return the gradient rule of a recurrent layer with `firsts` initial states."""

    def save_values(args: Args, out: Array, _needs: Needs, options: Options) -> Saved:
        inputs = (*args, *(None,) * (6 + firsts - len(args)))
        return inputs, out[0], out[1 + firsts], options

    def backward(b: Functions, saved: Saved, grads: Sequence[Any], needs: Needs) -> Parts:
        inputs, states, kept, options = saved
        x, *begin = inputs[: 1 + firsts]
        by_seen, *by_firsts = getattr(b, f"{name}_grad")(
            *_fill_missing(b, grads, (states, *begin)), *inputs, states, kept, **options
        )
        # A GRU adds the contributions of inputs and states in separate steps.
        by_recurrent = by_firsts.pop(0) if name == "gru" else by_seen
        pairs = (by_seen, x), (by_recurrent, shift_states(b, states, begin[0], **options))
        parts = _input_gradients(
            b, pairs, inputs[1 + firsts], (needs[0], *needs[1 + firsts :])
        )
        return [parts[0], *by_firsts, *parts[1:], None]

    return Rule(save_values, backward, tracked=1 + firsts)


def _input_gradients(
    b: Functions, pairs: Sequence[tuple[Array, Array]], w_ih: Array, needs: Needs
) -> list[Array | None]:
    """Return the gradients of the inputs, of both weights and of both biases."""
    # Each pair consists of the gradient of a sum, and of the array that was multiplied
    # by the weight.
    of_x, *others = (*needs, *(False,) * 4)
    by_weights = [
        _weight_gradient(b, *pair) if need else None
        for pair, need in zip(pairs, others[:2], strict=True)
    ]
    by_biases = [
        b.sum(by_sum, axis=(0, 1)) if need else None
        for (by_sum, _), need in zip(pairs, others[2:4], strict=True)
    ]
    return [_input_grad(b, pairs[0][0], w_ih) if of_x else None, *by_weights, *by_biases]


def _fill_missing(
    b: Functions, grads: Sequence[Array | None], like: Sequence[Array]
) -> list[Array]:
    """Return the gradients of the results; a missing gradient becomes zeros."""
    pairs = zip(grads, like, strict=False)
    return [
        b.zeros(tuple(other.shape), dtype=other.dtype) if grad is None else grad
        for grad, other in pairs
    ]


def _input_grad(b: Functions, by_gates: Array, weight: Array) -> Array:
    """Return the gradient of the inputs, by one matrix product over all positions."""
    rows, length, gates = by_gates.shape
    flat = b.matmul(b.reshape(by_gates, (rows * length, gates)), weight)
    return b.reshape(flat, (rows, length, weight.shape[1]))


def _weight_gradient(b: Functions, by_gates: Array, x: Array) -> Array:
    """Return the gradient of a weight, by one matrix product over all positions."""
    rows, length, gates = by_gates.shape
    flat = b.reshape(by_gates, (rows * length, gates))
    x = b.reshape(x, (rows * length, x.shape[-1]))
    return b.matmul(b.matrix_transpose(flat), x)


GRAD_RULES: dict[str, Rule] = {"gru": _make_rule("gru", 1), "lstm": _make_rule("lstm", 2)}


# Shape rules ---------------------------------------------------------------------------


def _shape_recurrent(call: Call, firsts: tuple[Value, ...], kept: int) -> list[Spec]:
    """Return the result shapes of a layer that saves `kept` numbers per state element."""
    x, h0, w_ih, w_hh = (*call.args[:2], *call.args[1 + len(firsts) :][:2])
    width = h0.shape[-1]
    require_match(x.shape[-1] == w_ih.shape[1], x.shape, w_ih.shape)
    require_match(w_hh.shape[1] == width, h0.shape, w_hh.shape)
    each = x.shape[:2]
    ends = [(first.shape, x.dtype) for first in firsts]
    return [((*each, width), x.dtype), *ends, ((*each, kept * width), x.dtype)]


SHAPE_RULES: dict[str, ShapeRule] = {
    "gru": lambda call: _shape_recurrent(call, call.args[1:2], 4),
    "lstm": lambda call: _shape_recurrent(call, call.args[1:3], 5),
}


# NumPy versions ------------------------------------------------------------------------


@in_float32
def numpy_gru(
    b: Functions,
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
    """Return all states, the last state, and the gates for the gradient."""
    if not can_use_rust(x, h0, w_ih, w_hh, b_ih, b_hh):
        return gru(b, x, h0, w_ih, w_hh, b_ih, b_hh, mask, reverse=reverse)
    inputs, weights = (x, w_ih, b_ih), (w_hh, b_hh)
    states, kept = _run_kernel(b, inputs, (h0, None), weights, mask, reverse=reverse)
    return states, states[:, 0 if reverse else -1].copy(), kept


@in_float32
def numpy_lstm(
    b: Functions,
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
    """Return all states, last state, last cell, and gates and cells for the gradient."""
    if not can_use_rust(x, h0, c0, w_ih, w_hh, b_ih, b_hh):
        return lstm(b, x, h0, c0, w_ih, w_hh, b_ih, b_hh, mask, reverse=reverse)
    inputs, weights = (x, w_ih, b_ih), (w_hh, b_hh)
    states, kept = _run_kernel(b, inputs, (h0, c0), weights, mask, reverse=reverse)
    last = 0 if reverse else -1
    cell = kept[:, last, 4 * h0.shape[-1] :].copy()
    return states, states[:, last].copy(), cell, kept


def _run_kernel(
    b: Functions,
    inputs: tuple[Floats, Floats, Floats | None],
    firsts: tuple[Floats, Floats | None],
    weights: tuple[Floats, Floats | None],
    mask: Floats | None,
    *,
    reverse: bool,
) -> tuple[Floats, Floats]:
    """Return all states, and the values that the gradient needs."""
    x, (h0, c0) = inputs[0], firsts
    states = allocate((*x.shape[:2], h0.shape[-1]), x.dtype)
    parts = 4 if c0 is None else 5
    kept = allocate((*x.shape[:2], parts * h0.shape[-1]), x.dtype)
    given = all_contiguous(*inputs, *firsts, *weights)
    kernel: Any = _native.recurrent
    kernel(*given, to_bool_mask(mask), reverse, states, kept, b.threads)
    return states, kept
