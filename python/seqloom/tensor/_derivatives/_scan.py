"""The derivative of a loop: a loop backwards, so that a captured one stays a loop.

Forward keeps the state before each step; backward goes through the steps from the last to
the first, computes each again and pulls the gradients through it. What the body takes from
around it (weights, say) gathers its gradient in the backward loop's state.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from seqloom.tensor._autodiff import Traced, newest, pull_back, record
from seqloom.tensor._autodiff._node import is_followable
from seqloom.tensor._derivatives._region import outer_nodes
from seqloom.tensor._rules import ALL, Rule
from seqloom.tensor._rules._keep import nothing

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from seqloom.tensor._autodiff import Autodiff, Node
    from seqloom.tensor._backend import Array, Backend
    from seqloom.tensor._rules._keep import Needs

    Body = Callable[[list[Any], list[Any]], tuple[list[Any], list[Any]]]


@dataclass(slots=True)
class Loop:
    """What a followed loop keeps.

    Attributes:
        level: Who follows.
        body: One step.
        xs: What each step reads.
        states: The state before each step, stacked.
        outs: The shape and element type of each result.
        outer: The numbers of what the body takes from around it.
        length: The number of steps.
        reverse: Whether they go from the last to the first.
    """

    level: Autodiff
    body: Body
    xs: list[Any]
    states: list[Any]
    outs: list[Any]
    outer: list[int]
    length: int
    reverse: bool


def followed_scan(
    level: Autodiff,
    body: Body,
    init: Sequence[Any],
    xs: Sequence[Any],
    *,
    length: int,
    reverse: bool = False,
) -> tuple[list[Any], list[Any]]:
    """A loop on a level: computed below, recorded as one operation."""
    states = [_value(level, each) for each in init]
    reads = [_value(level, each) for each in xs]
    found: list[Node] = []
    step = _plain_step(level, body, found)
    carry, ys = level.inner.scan(step, states, reads, length=length, reverse=reverse)
    ys, kept = ys[: len(ys) - len(states)], ys[len(ys) - len(states) :]
    nodes = (*(_node(level, each) for each in (*init, *xs)), *found)
    if not any(nodes):
        return list(carry), list(ys)
    outs = [(tuple(each.shape), each.dtype) for each in (*carry, *ys)]
    numbers = [node.number for node in found]
    loop = Loop(level, body, reads, list(kept), outs, numbers, length, reverse)
    made = record(level, _RULE, nodes, loop, (*carry, *ys))
    return list(made[: len(states)]), list(made[len(states) :])


def _plain_step(level: Autodiff, body: Body, found: list[Node]) -> Body:
    """One step on plain arrays, which also gives the state before it; fills `found`."""
    first = True

    def step(carry: list[Any], x: list[Any]) -> tuple[list[Any], list[Any]]:
        nonlocal first
        before = newest()
        leaves = [_lifted(level, each) for each in carry]
        after, ys = body(leaves, [_lifted(level, each) for each in x])
        if first:
            results = [each for each in (*after, *ys) if _node(level, each) is not None]
            found.extend(outer_nodes(results, before))
            first = False
        plain = [_value(level, each) for each in after]
        return plain, [*(_value(level, each) for each in ys), *carry]

    return step


def _pull(b: Backend, loop: Loop, grads: Any, _needs: Needs) -> list[Array | None]:
    """The loop backwards: its first step apart, which shows what the others carry."""
    arrived = [
        b.zeros(shape, dtype=dtype) if grad is None else grad
        for grad, (shape, dtype) in zip(grads, loop.outs, strict=True)
    ]
    count = len(loop.states)
    reads = [*loop.states, *loop.xs, *arrived[count:]]
    last = 0 if loop.reverse else loop.length - 1
    start = [*arrived[:count], *(None for _ in loop.outer)]
    carry, by_xs = _step_back(b, loop, loop.outer, start, _at(b, reads, last))
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
    b: Backend, loop: Loop, outer: list[int], begun: Any, reads: Sequence[Any]
) -> tuple[list[Any], list[Any]]:
    """All steps but the one that was done apart."""
    carry, by_xs = begun
    if loop.length == 1:
        return carry, [b.expand_dims(each, axis=0) for each in by_xs]
    rest = slice(1, None) if loop.reverse else slice(0, loop.length - 1)
    carry, earlier = b.scan(
        lambda carry, x: _step_back(b, loop, outer, carry, x),
        carry,
        _at(b, reads, rest),
        length=loop.length - 1,
        reverse=not loop.reverse,
    )
    pairs = zip(by_xs, earlier, strict=True)
    return carry, [_joined(b, loop, one, more) for one, more in pairs]


def _step_back(
    b: Backend, loop: Loop, outer: list[int], carry: Sequence[Any], reads: Sequence[Any]
) -> tuple[list[Any], list[Any]]:
    """One step again: its gradients by the state before, what is around, what it read."""
    level, count = loop.level, len(loop.states)
    before = newest()
    state = [_lifted(level, each) for each in reads[:count]]
    x = [_lifted(level, each) for each in reads[count : count + len(loop.xs)]]
    after, ys = loop.body(state, x)
    seeds = [*carry[:count], *reads[count + len(loop.xs) :]]
    pairs = [
        (out, seed)
        for out, seed in zip((*after, *ys), seeds, strict=True)
        if _node(level, out) is not None
    ]
    found = pull_back([out for out, _ in pairs], [seed for _, seed in pairs], before=before)
    gathered = [
        part if sofar is None else b.add(sofar, part)
        for sofar, part in zip(carry[count:], map(found.get, outer), strict=True)
    ]
    return (
        [*(_gradient(b, level, found, each) for each in state), *gathered],
        [_gradient(b, level, found, each) for each in x],
    )


def _gradient(b: Backend, level: Autodiff, found: dict[int, Any], leaf: Any) -> Array:
    """The gradient by a leaf; zeros where nothing flows."""
    node = _node(level, leaf)
    part = None if node is None else found.get(node.number)
    if part is not None:
        return part
    value = _value(level, leaf)
    return b.zeros(tuple(value.shape), dtype=value.dtype)


def _at(b: Backend, arrays: Sequence[Any], which: Any) -> list[Any]:
    """One step of stacked arrays, or several."""
    return [b.index(each, which) for each in arrays]


def _joined(b: Backend, loop: Loop, one: Array, more: Array) -> Array:
    """The gradients of the step apart and of the others, in the order of the steps."""
    wide = b.expand_dims(one, axis=0)
    return b.concat([wide, more] if loop.reverse else [more, wide], axis=0)


def _lifted(level: Autodiff, array: Any) -> Any:
    """An array as a leaf, where it can be followed."""
    return level.leaf(array) if is_followable(level.inner, array) else array


def _value(level: Autodiff, array: Any) -> Any:
    """An array as the level below has it."""
    return array.value if _node(level, array) is not None else array


def _node(level: Autodiff, array: Any) -> Node | None:
    """The node of an array that a level follows."""
    return array.node if isinstance(array, Traced) and array.level is level else None


_RULE = Rule(nothing, _pull, followed=ALL, name="scan")
