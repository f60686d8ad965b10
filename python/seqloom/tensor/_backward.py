"""The backward pass, and the gradient of loops.

Nodes are visited from the newest to the oldest, so all nodes that use the output of a
node are visited before that node. The pass frees memory as it runs: a visited node
deletes its saved values and its parents, and each gradient is deleted after its use.

A loop saves the state before each step. The backward loop visits the steps in reverse,
recomputes each step, and propagates the gradients through it. The backward loop's state
also sums the gradients of outer arrays that the body uses, such as weights.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from seqloom.errors import GradientError
from seqloom.tensor._dispatch import observers, translate_error
from seqloom.tensor._families import ALL_RESULTS, GRAD_RULES, Rule
from seqloom.tensor._families._keep import save_nothing
from seqloom.tensor._state import (
    CONSUMED_VALUES,
    Node,
    OutputNode,
    TrackedArray,
    get_node,
    is_differentiable,
    make_node,
    next_number,
    outer_nodes,
    record,
    track_array,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from seqloom.tensor._families import Array, ArrayFunctions
    from seqloom.tensor._families._keep import ArgSpec, Needs
    from seqloom.tensor._state import Level

    Arrays = list[Array]
    Body = Callable[[Arrays, Arrays], tuple[Arrays, Arrays]]


def backprop(
    roots: Sequence[TrackedArray],
    seeds: Sequence[Array | None],
    *,
    before: int = 0,
    retain: bool = False,
) -> dict[int, Array]:
    """Return the gradients with respect to the leaves, by the number of the leaf's node.

    `roots` are results of one level. Each seed is the initial gradient of its root.
    Nodes with numbers up to `before` are treated as leaves. If `retain` is True, the
    recorded operations can be used for another pass.
    """
    backward_pass = _BackwardPass(roots[0].level.inner, before, retain)
    for root, seed in zip(roots, seeds, strict=True):
        if seed is not None:
            backward_pass.add_gradient(root.node, seed)
    return backward_pass.run()


class _BackwardPass:
    """State of one backward pass: the nodes to visit, and their gradients so far."""

    def __init__(self, inner: ArrayFunctions, before: int, retain: bool) -> None:  # noqa: FBT001
        self.inner = inner
        self.before = before
        self.retain = retain
        # A heap of negative node numbers, so that the newest node is on top.
        self.pending: list[tuple[int, Node]] = []
        # Gradients by node number. A gradient is an array, or a list with an array per
        # output.
        self.grads: dict[int, Any] = {}
        # Node numbers of the gradients that this pass computed as sums. The pass may
        # overwrite these gradients.
        self.owned: set[int] = set()

    def run(self) -> dict[int, Array]:
        """Visit all pending nodes, and return the gradients of the leaves."""
        leaves: dict[int, Array] = {}
        while self.pending:
            node = heapq.heappop(self.pending)[1]
            grad = self.grads.pop(node.number)
            if node.number <= self.before or not (node.rule or node.parents):
                leaves[node.number] = grad
            elif type(node) is OutputNode:
                self._store_gradient(node, grad)
            else:
                self._input_gradients(node, grad)
        return leaves

    def add_gradient(self, node: Node, term: Array) -> None:
        """Add a term to a node's gradient; each use of the node's result adds a term."""
        number = node.number
        if number not in self.grads:
            self.grads[number] = term
            heapq.heappush(self.pending, (-number, node))
        elif number in self.owned:
            self.grads[number] = self.inner.accumulate(self.grads[number], term)
        else:
            self.grads[number] = self.inner.add(self.grads[number], term)
            self.owned.add(number)

    def _store_gradient(self, output: OutputNode, grad: Array) -> None:
        """Store the gradient of one output until its operation is visited."""
        node, position, total = output.saved
        if node.number not in self.grads:
            self.grads[node.number] = [None] * total
            heapq.heappush(self.pending, (-node.number, node))
        self.grads[node.number][position] = grad

    def _input_gradients(self, node: Node, grad: Any) -> None:
        """Compute the gradients of an operation's inputs from its output gradient."""
        # This is a single function, because it runs for each node and calls are slow.
        rule, parents, saved = node.rule, node.parents, node.saved
        if saved is CONSUMED_VALUES or rule is None:
            raise GradientError(
                "the gradients of this result were already computed, and its recorded "
                "operations are freed; compute the result again before another backward"
            )
        if not self.retain:
            node.saved, node.parents = CONSUMED_VALUES, ()
        needs = tuple([parent is not None for parent in parents])
        try:
            terms = rule.backward(self.inner, saved, grad, needs)
        except Exception as error:
            arrays, name = _list_arrays((grad, saved)), f"backward of {rule.name}"
            ours = translate_error(error, name, arrays, self.inner)
            # An error in a gradient rule that the user wrote is raised unchanged.
            if ours is error or GRAD_RULES.get(rule.name) is not rule:
                raise
            raise ours from error
        for observer in observers:
            observer.on_backward(node, terms, self.inner)
        for parent, term in zip(parents, terms, strict=False):
            if parent is not None and term is not None:
                self.add_gradient(parent, term)


def _list_arrays(args: object) -> tuple[Any, ...]:
    """Return all arrays in nested lists or tuples."""
    if isinstance(args, (list, tuple)):
        parts = cast("list[Any]", args)
        return tuple(array for part in parts for array in _list_arrays(part))
    return (args,) if hasattr(args, "shape") else ()


@dataclass(slots=True)
class RecordedLoop:
    """The values that a recorded loop saves for its gradient."""

    level: Level
    body: Body  # computes one step
    xs: Arrays  # inputs of all steps, stacked along the first axis
    states: Arrays  # states before each step, stacked along the first axis
    outs: list[ArgSpec]  # shape and dtype of each result
    outer: list[int]  # numbers of the outer nodes that the body uses
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
    """Run a loop on the inner backend, and record it as one operation of a level."""
    states = [_get_inner_value(level, array) for array in init]
    reads = [_get_inner_value(level, array) for array in xs]
    found: list[Node] = []
    step = _make_recorded_step(level, body, found)
    carry, ys = level.inner.scan(step, states, reads, length=length, reverse=reverse)
    ys, before = ys[: len(ys) - len(states)], ys[len(ys) - len(states) :]
    nodes = (*(get_node(level, array) for array in (*init, *xs)), *found)
    if not any(nodes):
        return list(carry), list(ys)
    outs = [(tuple(array.shape), array.dtype) for array in (*carry, *ys)]
    numbers = [node.number for node in found]
    loop = RecordedLoop(level, body, reads, list(before), outs, numbers, length, reverse)
    made = record(level, _SCAN_RULE, nodes, loop, (*carry, *ys))
    return list(made[: len(states)]), list(made[len(states) :])


def _make_recorded_step(level: Level, body: Body, found: list[Node]) -> Body:
    """Wrap a loop body to also return the state before a step, and collect outer nodes."""
    first = True

    def run_step(carry: Arrays, x: Arrays) -> tuple[Arrays, Arrays]:
        nonlocal first
        before = next_number()
        leaves = [_to_leaf(level, array) for array in carry]
        after, ys = body(leaves, [_to_leaf(level, array) for array in x])
        if first:
            results = [array for array in (*after, *ys) if get_node(level, array)]
            found.extend(outer_nodes(results, before))
            first = False
        plain = [_get_inner_value(level, array) for array in after]
        return plain, [*(_get_inner_value(level, array) for array in ys), *carry]

    return run_step


def _input_gradients(
    b: ArrayFunctions, loop: RecordedLoop, grads: Sequence[Array | None], _needs: Needs
) -> list[Array | None]:
    """Run the backward loop. Its first step shows which outer arrays have gradients."""
    seeds = [
        b.zeros(shape, dtype=dtype) if grad is None else grad
        for grad, (shape, dtype) in zip(grads, loop.outs, strict=True)
    ]
    count = len(loop.states)
    reads = [*loop.states, *loop.xs, *seeds[count:]]
    last = 0 if loop.reverse else loop.length - 1
    start = [*seeds[:count], *(None for _ in loop.outer)]
    carry, by_xs = _backprop_step(b, loop, loop.outer, start, _index_steps(b, reads, last))
    reached = [
        number
        for number, part in zip(loop.outer, carry[count:], strict=True)
        if part is not None
    ]
    carry = [part for part in carry if part is not None]
    carry, by_xs = _backprop_other_steps(b, loop, reached, (carry, by_xs), reads)
    around = dict(zip(reached, carry[count:], strict=True))
    return [*carry[:count], *by_xs, *(around.get(number) for number in loop.outer)]


def _backprop_other_steps(
    b: ArrayFunctions,
    loop: RecordedLoop,
    outer: list[int],
    first: tuple[Arrays, Arrays],
    reads: Sequence[Array],
) -> tuple[Arrays, Arrays]:
    """Run the backward steps after the first, whose result is `first`."""
    carry, by_xs = first
    if loop.length == 1:
        return carry, [b.expand_dims(part, axis=0) for part in by_xs]
    rest = slice(1, None) if loop.reverse else slice(0, loop.length - 1)

    def run_step(carry: Arrays, x: Arrays) -> tuple[Arrays, Arrays]:
        return _backprop_step(b, loop, outer, carry, x)

    others = _index_steps(b, reads, rest)
    carry, earlier = b.scan(
        run_step, carry, others, length=loop.length - 1, reverse=not loop.reverse
    )
    joined: Arrays = []  # results in the order of the steps
    for one, more in zip(by_xs, earlier, strict=True):
        wide = b.expand_dims(one, axis=0)
        parts = [wide, more] if loop.reverse else [more, wide]
        joined.append(b.concat(parts, axis=0))
    return carry, joined


def _backprop_step(
    b: ArrayFunctions,
    loop: RecordedLoop,
    outer: list[int],
    carry: Sequence[Array],
    reads: Sequence[Array],
) -> tuple[Arrays, Arrays]:
    """Recompute one step; return the gradients of its state, of outer arrays and of `x`."""
    level, count = loop.level, len(loop.states)
    before = next_number()
    state = [_to_leaf(level, array) for array in reads[:count]]
    x = [_to_leaf(level, array) for array in reads[count : count + len(loop.xs)]]
    after, ys = loop.body(state, x)
    seeds = [*carry[:count], *reads[count + len(loop.xs) :]]
    pairs = [
        (out, seed)
        for out, seed in zip((*after, *ys), seeds, strict=True)
        if get_node(level, out) is not None
    ]
    found = backprop([out for out, _ in pairs], [seed for _, seed in pairs], before=before)
    summed = [
        part if total is None else b.add(total, part)
        for total, part in zip(carry[count:], map(found.get, outer), strict=True)
    ]
    return (
        [*(_get_gradient(b, level, found, leaf) for leaf in state), *summed],
        [_get_gradient(b, level, found, leaf) for leaf in x],
    )


def _get_gradient(
    b: ArrayFunctions, level: Level, found: dict[int, Array], leaf: Array
) -> Array:
    """Return the gradient of a leaf, or zeros if the result does not depend on it."""
    node = get_node(level, leaf)
    part = None if node is None else found.get(node.number)
    if part is not None:
        return part
    value = _get_inner_value(level, leaf)
    return b.zeros(tuple(value.shape), dtype=value.dtype)


def _index_steps(b: ArrayFunctions, arrays: Sequence[Array], key: int | slice) -> Arrays:
    """Select one or more steps of stacked arrays."""
    return [b.index(array, key) for array in arrays]


def _to_leaf(level: Level, array: Array) -> Array:
    """Track an array as a leaf if it is differentiable."""
    if not is_differentiable(level.inner, array):
        return array
    return track_array(array, make_node(None, (), ()), level)


def _get_inner_value(level: Level, array: Array) -> Array:
    """Return the inner array of a tracked array, and any other array unchanged."""
    return array.value if get_node(level, array) is not None else array


_SCAN_RULE = Rule(save_nothing, _input_gradients, tracked=ALL_RESULTS, name="scan")
