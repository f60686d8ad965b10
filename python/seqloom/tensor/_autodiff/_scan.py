"""The derivative of a loop: a backward loop, so that a captured loop stays a loop.

The forward loop saves the state before each step. The backward loop visits the steps from
the last to the first, computes each again and pulls the gradients back through it. Outer
arrays that the body uses (weights, say) sum their gradients in the backward loop's state.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from seqloom.tensor._autodiff._backward import pull_back
from seqloom.tensor._families import ALL, Rule
from seqloom.tensor._families._keep import nothing
from seqloom.tensor._tape import (
    draw_number,
    is_differentiable,
    make_node,
    node_on,
    outer_nodes,
    record,
    track,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from seqloom.tensor._families import Array, ArrayFunctions
    from seqloom.tensor._families._keep import Like, Needs
    from seqloom.tensor._tape import Level, Node

    Arrays = list[Array]
    Body = Callable[[Arrays, Arrays], tuple[Arrays, Arrays]]


@dataclass(slots=True)
class RecordedLoop:
    """What a recorded loop saves."""

    level: Level
    body: Body  # one step
    xs: Arrays  # what each step reads, stacked
    states: Arrays  # the state before each step, stacked
    outs: list[Like]  # the shape and element type of each result
    outer: list[int]  # the numbers of the outer nodes that the body uses
    length: int
    reverse: bool


def scan_tracked(
    level: Level,
    body: Body,
    init: Sequence[Array],
    xs: Sequence[Array],
    *,
    length: int,
    reverse: bool = False,
) -> tuple[Arrays, Arrays]:
    """Runs a loop on a level: computed on the inner backend, recorded as one operation."""
    states = [_value(level, array) for array in init]
    reads = [_value(level, array) for array in xs]
    found: list[Node] = []
    step = _plain_step(level, body, found)
    carry, ys = level.inner.scan(step, states, reads, length=length, reverse=reverse)
    ys, before = ys[: len(ys) - len(states)], ys[len(ys) - len(states) :]
    nodes = (*(node_on(level, array) for array in (*init, *xs)), *found)
    if not any(nodes):
        return list(carry), list(ys)
    outs = [(tuple(array.shape), array.dtype) for array in (*carry, *ys)]
    numbers = [node.number for node in found]
    loop = RecordedLoop(level, body, reads, list(before), outs, numbers, length, reverse)
    made = record(level, _RULE, nodes, loop, (*carry, *ys))
    return list(made[: len(states)]), list(made[len(states) :])


def _plain_step(level: Level, body: Body, found: list[Node]) -> Body:
    """Makes a step on plain arrays that also returns the state before it; fills `found`."""
    first = True

    def step(carry: Arrays, x: Arrays) -> tuple[Arrays, Arrays]:
        nonlocal first
        before = draw_number()
        leaves = [_to_leaf(level, array) for array in carry]
        after, ys = body(leaves, [_to_leaf(level, array) for array in x])
        if first:
            results = [array for array in (*after, *ys) if node_on(level, array)]
            found.extend(outer_nodes(results, before))
            first = False
        plain = [_value(level, array) for array in after]
        return plain, [*(_value(level, array) for array in ys), *carry]

    return step


def _pull(
    b: ArrayFunctions, loop: RecordedLoop, grads: Sequence[Array | None], _needs: Needs
) -> list[Array | None]:
    """Runs the backward loop; its first step apart, which shows what the others carry."""
    seeds = [
        b.zeros(shape, dtype=dtype) if grad is None else grad
        for grad, (shape, dtype) in zip(grads, loop.outs, strict=True)
    ]
    count = len(loop.states)
    reads = [*loop.states, *loop.xs, *seeds[count:]]
    last = 0 if loop.reverse else loop.length - 1
    start = [*seeds[:count], *(None for _ in loop.outer)]
    carry, by_xs = _step_back(b, loop, loop.outer, start, _index(b, reads, last))
    reached = [
        number
        for number, part in zip(loop.outer, carry[count:], strict=True)
        if part is not None
    ]
    carry = [part for part in carry if part is not None]
    carry, by_xs = _others_back(b, loop, reached, (carry, by_xs), reads)
    around = dict(zip(reached, carry[count:], strict=True))
    return [*carry[:count], *by_xs, *(around.get(number) for number in loop.outer)]


def _others_back(
    b: ArrayFunctions,
    loop: RecordedLoop,
    outer: list[int],
    first: tuple[Arrays, Arrays],
    reads: Sequence[Array],
) -> tuple[Arrays, Arrays]:
    """Runs all backward steps but the first, whose result is `first`."""
    carry, by_xs = first
    if loop.length == 1:
        return carry, [b.expand_dims(part, axis=0) for part in by_xs]
    rest = slice(1, None) if loop.reverse else slice(0, loop.length - 1)

    def step(carry: Arrays, x: Arrays) -> tuple[Arrays, Arrays]:
        return _step_back(b, loop, outer, carry, x)

    carry, earlier = b.scan(
        step,
        carry,
        _index(b, reads, rest),
        length=loop.length - 1,
        reverse=not loop.reverse,
    )
    pairs = zip(by_xs, earlier, strict=True)
    return carry, [_join(b, loop, one, more) for one, more in pairs]


def _step_back(
    b: ArrayFunctions,
    loop: RecordedLoop,
    outer: list[int],
    carry: Sequence[Array],
    reads: Sequence[Array],
) -> tuple[Arrays, Arrays]:
    """Computes a step again: its gradients by the state before, outer arrays, and `x`."""
    level, count = loop.level, len(loop.states)
    before = draw_number()
    state = [_to_leaf(level, array) for array in reads[:count]]
    x = [_to_leaf(level, array) for array in reads[count : count + len(loop.xs)]]
    after, ys = loop.body(state, x)
    seeds = [*carry[:count], *reads[count + len(loop.xs) :]]
    pairs = [
        (out, seed)
        for out, seed in zip((*after, *ys), seeds, strict=True)
        if node_on(level, out) is not None
    ]
    found = pull_back([out for out, _ in pairs], [seed for _, seed in pairs], before=before)
    summed = [
        part if total is None else b.add(total, part)
        for total, part in zip(carry[count:], map(found.get, outer), strict=True)
    ]
    return (
        [*(_gradient(b, level, found, leaf) for leaf in state), *summed],
        [_gradient(b, level, found, leaf) for leaf in x],
    )


def _gradient(
    b: ArrayFunctions, level: Level, found: dict[int, Array], leaf: Array
) -> Array:
    """Returns the gradient by a leaf; zeros if the result does not depend on it."""
    node = node_on(level, leaf)
    part = None if node is None else found.get(node.number)
    if part is not None:
        return part
    value = _value(level, leaf)
    return b.zeros(tuple(value.shape), dtype=value.dtype)


def _index(b: ArrayFunctions, arrays: Sequence[Array], key: int | slice) -> Arrays:
    """Takes one step, or several, of stacked arrays."""
    return [b.index(array, key) for array in arrays]


def _join(b: ArrayFunctions, loop: RecordedLoop, one: Array, more: Array) -> Array:
    """Joins the gradients of the first step and the others, in the order of steps."""
    wide = b.expand_dims(one, axis=0)
    return b.concat([wide, more] if loop.reverse else [more, wide], axis=0)


def _to_leaf(level: Level, array: Array) -> Array:
    """Makes a leaf of an array if it has derivatives."""
    if not is_differentiable(level.inner, array):
        return array
    return track(array, make_node(None, (), ()), level)


def _value(level: Level, array: Array) -> Array:
    """Returns the inner array."""
    return array.value if node_on(level, array) is not None else array


_RULE = Rule(nothing, _pull, tracked=ALL, name="scan")
