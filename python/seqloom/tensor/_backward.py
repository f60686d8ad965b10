"""The backward pass, and the derivative of a loop, which is a backward loop.

Nodes are visited from the newest to the oldest, so each node is visited after all that use
its output. A visited node drops its saved values and its parents, and each gradient is
dropped once it is used, so memory is freed during the pass.

A loop saves the state before each step. The backward loop visits the steps from the last to
the first, computes each again and pulls the gradients back through it. Outer arrays that
the body uses (weights, say) sum their gradients in the backward loop's state.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from seqloom.errors import GradientError
from seqloom.tensor._dispatch import observers, translate
from seqloom.tensor._families import ALL, RULES, Rule
from seqloom.tensor._families._keep import nothing
from seqloom.tensor._state import (
    CONSUMED,
    Node,
    OutputNode,
    TrackedArray,
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
    from seqloom.tensor._state import Level

    Arrays = list[Array]
    Body = Callable[[Arrays, Arrays], tuple[Arrays, Arrays]]


def pull_back(
    roots: Sequence[TrackedArray],
    seeds: Sequence[Array | None],
    *,
    before: int = 0,
    retain: bool = False,
) -> dict[int, Array]:
    """Return the gradients with respect to the leaves, by the number of the leaf's node.

    `roots` are results of one level. A seed is the gradient with respect to its root: the
    pass starts with it. Nodes numbered up to `before` count as leaves. With `retain`, the
    recorded operations stay usable for another pass.
    """
    backward_pass = _BackwardPass(roots[0].level.inner, before, retain)
    for root, seed in zip(roots, seeds, strict=True):
        if seed is not None:
            backward_pass.add(root.node, seed)
    return backward_pass.run()


class _BackwardPass:
    """One backward pass: the nodes that it has to visit, and their gradients so far."""

    def __init__(self, inner: ArrayFunctions, before: int, retain: bool) -> None:  # noqa: FBT001
        self.inner = inner
        self.before = before
        self.retain = retain
        # A heap by negative number, so that the newest node is on top.
        self.pending: list[tuple[int, Node]] = []
        # By node number: an array, or a list with one for each output of an operation.
        self.grads: dict[int, Any] = {}
        # The numbers of gradients that are sums made here, so that they may be written to.
        self.owned: set[int] = set()

    def run(self) -> dict[int, Array]:
        """Visit pending nodes until only leaves are left."""
        leaves: dict[int, Array] = {}
        while self.pending:
            node = heapq.heappop(self.pending)[1]
            grad = self.grads.pop(node.number)
            if node.number <= self.before or not (node.rule or node.parents):
                leaves[node.number] = grad
            elif type(node) is OutputNode:
                self._collect(node, grad)
            else:
                self._pull(node, grad)
        return leaves

    def add(self, node: Node, term: Array) -> None:
        """Add a term to the gradient of a node: one for each use of its output."""
        number = node.number
        if number not in self.grads:
            self.grads[number] = term
            heapq.heappush(self.pending, (-number, node))
        elif number in self.owned:
            self.grads[number] = self.inner.accumulate(self.grads[number], term)
        else:
            self.grads[number] = self.inner.add(self.grads[number], term)
            self.owned.add(number)

    def _collect(self, output: OutputNode, grad: Array) -> None:
        """Store the gradient of one of several outputs until its operation is visited."""
        node, position, total = output.saved
        if node.number not in self.grads:
            self.grads[node.number] = [None] * total
            heapq.heappush(self.pending, (-node.number, node))
        self.grads[node.number][position] = grad

    def _pull(self, node: Node, grad: Any) -> None:
        """Compute the gradients of an operation's inputs from that of its output."""
        # One function, because it runs for each node, and each further call takes time.
        rule, parents, saved = node.rule, node.parents, node.saved
        if saved is CONSUMED or rule is None:
            raise GradientError(
                "the gradients of this result were already computed, and its recorded "
                "operations are freed; compute the result again before another backward"
            )
        if not self.retain:
            node.saved, node.parents = CONSUMED, ()
        needs = tuple([parent is not None for parent in parents])
        try:
            terms = rule.pull(self.inner, saved, grad, needs)
        except Exception as error:
            arrays, name = _arrays_in((grad, saved)), f"backward of {rule.name}"
            ours = translate(error, name, arrays, self.inner)
            if ours is error or RULES.get(rule.name) is not rule:  # or a user's rule
                raise
            raise ours from error
        for observer in observers:
            observer.on_pull(node, terms, self.inner)
        for parent, term in zip(parents, terms, strict=False):
            if parent is not None and term is not None:
                self.add(parent, term)


def _arrays_in(args: object) -> tuple[Any, ...]:
    """Return the arrays among arguments, also within lists and tuples."""
    if isinstance(args, (list, tuple)):
        parts = cast("list[Any]", args)
        return tuple(array for part in parts for array in _arrays_in(part))
    return (args,) if hasattr(args, "shape") else ()


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
    """Run a loop on a level: computed on the inner backend, recorded as one operation."""
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
    """Make a step on plain arrays that also returns the state before it; fills `found`."""
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
    """Run the backward loop; its first step apart, which shows what the others carry."""
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
    """Run all backward steps but the first, whose result is `first`."""
    carry, by_xs = first
    if loop.length == 1:
        return carry, [b.expand_dims(part, axis=0) for part in by_xs]
    rest = slice(1, None) if loop.reverse else slice(0, loop.length - 1)

    def step(carry: Arrays, x: Arrays) -> tuple[Arrays, Arrays]:
        return _step_back(b, loop, outer, carry, x)

    others = _index(b, reads, rest)
    carry, earlier = b.scan(
        step, carry, others, length=loop.length - 1, reverse=not loop.reverse
    )
    joined: Arrays = []  # in the order of steps
    for one, more in zip(by_xs, earlier, strict=True):
        wide = b.expand_dims(one, axis=0)
        parts = [wide, more] if loop.reverse else [more, wide]
        joined.append(b.concat(parts, axis=0))
    return carry, joined


def _step_back(
    b: ArrayFunctions,
    loop: RecordedLoop,
    outer: list[int],
    carry: Sequence[Array],
    reads: Sequence[Array],
) -> tuple[Arrays, Arrays]:
    """Compute a step again: its gradients by the state before, outer arrays, and `x`."""
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
    """Return the gradient by a leaf; zeros if the result does not depend on it."""
    node = node_on(level, leaf)
    part = None if node is None else found.get(node.number)
    if part is not None:
        return part
    value = _value(level, leaf)
    return b.zeros(tuple(value.shape), dtype=value.dtype)


def _index(b: ArrayFunctions, arrays: Sequence[Array], key: int | slice) -> Arrays:
    """Take one step, or several, of stacked arrays."""
    return [b.index(array, key) for array in arrays]


def _to_leaf(level: Level, array: Array) -> Array:
    """Make a leaf of an array if it has derivatives."""
    if not is_differentiable(level.inner, array):
        return array
    return track(array, make_node(None, (), ()), level)


def _value(level: Level, array: Array) -> Array:
    """Return the inner array."""
    return array.value if node_on(level, array) is not None else array


_RULE = Rule(nothing, _pull, tracked=ALL, name="scan")
