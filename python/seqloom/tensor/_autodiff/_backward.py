"""The backward pass: the gradients of results with respect to their leaves.

Nodes are visited from the newest to the oldest, so each node is visited after all that use
its output. A visited node drops its saved values and its parents, and each gradient is
dropped once it is used, so memory is freed during the pass.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Any, cast

from seqloom.errors import GradientError
from seqloom.tensor._dispatch import observers
from seqloom.tensor._families import RULES
from seqloom.tensor._native_error import translate
from seqloom.tensor._tape import CONSUMED, Node, OutputNode, TrackedArray

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seqloom.tensor._families import Array, ArrayFunctions, Rule


def pull_back(
    roots: Sequence[TrackedArray],
    seeds: Sequence[Array | None],
    *,
    before: int = 0,
    retain: bool = False,
) -> dict[int, Array]:
    """Returns the gradients with respect to the leaves, by the number of the leaf's node.

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
        """Visits pending nodes until only leaves are left."""
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
        """Adds a term to the gradient of a node: one for each use of its output."""
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
        """Stores the gradient of one of several outputs until its operation is visited."""
        node, position, total = output.saved
        if node.number not in self.grads:
            self.grads[node.number] = [None] * total
            heapq.heappush(self.pending, (-node.number, node))
        self.grads[node.number][position] = grad

    def _pull(self, node: Node, grad: Any) -> None:
        """Computes the gradients of an operation's inputs from that of its output."""
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
            translated = _translate(error, rule, (grad, saved), self.inner)
            if translated is error:
                raise
            raise translated from error
        for observer in observers:
            observer.on_pull(node, terms, self.inner)
        for parent, term in zip(parents, terms, strict=False):
            if parent is not None and term is not None:
                self.add(parent, term)


def _translate(
    error: Exception, rule: Rule, args: object, inner: ArrayFunctions
) -> Exception:
    """Names the operation in an error of its rule; that of a user's rule stays as it is."""
    if RULES.get(rule.name) is not rule:
        return error
    return translate(error, f"backward of {rule.name}", _arrays_in(args), inner)


def _arrays_in(args: object) -> tuple[Any, ...]:
    """Returns the arrays among arguments, also within lists and tuples."""
    if isinstance(args, (list, tuple)):
        parts = cast("list[Any]", args)
        return tuple(array for part in parts for array in _arrays_in(part))
    return (args,) if hasattr(args, "shape") else ()
