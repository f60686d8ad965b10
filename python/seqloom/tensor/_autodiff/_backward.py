"""The walk from a result to its leaves.

Nodes are visited from the newest to the oldest. Each gives up what it kept and its parents
as it is visited, and each gradient leaves the table as it is used, so memory falls.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Any, cast

from seqloom.errors import GradientError
from seqloom.tensor._autodiff._node import CONSUMED, Node, Output, Traced
from seqloom.tensor._watch import watchers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seqloom.tensor._backend import Array, Backend
    from seqloom.tensor._rules import Rule


def backward(root: Traced, seed: Array) -> dict[int, Array]:
    """The derivatives of a result, weighted.

    Args:
        root: The result.
        seed: The gradient by it, of its shape.

    Returns:
        Arrays of the inner backend, by the number of each leaf.

    Raises:
        GradientError: The recorded operations were consumed by an earlier call.
    """
    return pull_back([root], [seed])


def pull_back(
    roots: Sequence[Traced],
    seeds: Sequence[Array | None],
    *,
    before: int = 0,
    retain: bool = False,
) -> dict[int, Array]:
    """The derivatives of several results of one level, weighted and summed.

    Args:
        roots: The results.
        seeds: The gradient by each; None where there is none.
        before: Nodes with a number up to this one are left as they are: their gradients
            are returned, as those of leaves.
        retain: Leave what was recorded as it is, for another walk.

    Returns:
        Arrays of the inner backend, by the number of each leaf.

    Raises:
        GradientError: The recorded operations were consumed by an earlier call.
        SeqloomError: The library refuses to compute a derivative; it names the operation.
    """
    walk = _Walk(roots[0].level.inner, before, retain)
    for root, seed in zip(roots, seeds, strict=True):
        if seed is not None:
            walk.arrive(root.node, seed)
    return walk.to_the_leaves()


class _Walk:
    """One backward pass: the gradients that have not been used yet."""

    def __init__(self, inner: Backend, before: int, retain: bool) -> None:  # noqa: FBT001
        self.inner = inner
        self.before = before
        self.retain = retain
        self.pending: list[tuple[int, Node]] = []
        self.grads: dict[int, Any] = {}
        # Sums that only this walk knows, so that it may write into them.
        self.owned: set[int] = set()

    def to_the_leaves(self) -> dict[int, Array]:
        """Visits what is pending until only leaves are left."""
        leaves: dict[int, Array] = {}
        while self.pending:
            node = heapq.heappop(self.pending)[1]
            grad = self.grads.pop(node.number)
            if node.number <= self.before or not (node.rule or node.parents):
                leaves[node.number] = grad
            elif type(node) is Output:
                self._collect(node, grad)
            else:
                self._pull(node, grad)
        return leaves

    def arrive(self, node: Node, part: Array) -> None:
        """Adds one contribution: the first moves in, later ones are summed."""
        number = node.number
        if number not in self.grads:
            self.grads[number] = part
            heapq.heappush(self.pending, (-number, node))
        elif number in self.owned:
            self.grads[number] = self.inner.accumulate(self.grads[number], part)
        else:
            self.grads[number] = self.inner.add(self.grads[number], part)
            self.owned.add(number)

    def _collect(self, output: Output, grad: Array) -> None:
        """Keeps the gradient by one of several outputs until its operation is visited."""
        node, place, several = output.saved
        if node.number not in self.grads:
            self.grads[node.number] = [None] * several
            heapq.heappush(self.pending, (-node.number, node))
        self.grads[node.number][place] = grad

    def _pull(self, node: Node, grad: Any) -> None:
        """Sends the gradient by an operation's output to its inputs."""
        rule, parents, saved = node.rule, node.parents, node.saved
        if saved is CONSUMED or rule is None:
            raise GradientError(
                "this result's gradients were already taken, and what it recorded is "
                "freed; compute it again before another backward"
            )
        if not self.retain:
            node.saved, node.parents = CONSUMED, ()
        needs = tuple([parent is not None for parent in parents])
        try:
            parts = rule.pull(self.inner, saved, grad, needs)
        except Exception as error:
            if (ours := _named(error, rule, (grad, saved), self.inner)) is error:
                raise
            raise ours from error
        for each in watchers:
            each.pulled(node, parts, self.inner)
        for parent, part in zip(parents, parts, strict=False):
            if parent is not None and part is not None:
                self.arrive(parent, part)


def _named(error: Exception, rule: Rule, given: Any, inner: Backend) -> Exception:
    """What a derivative raised, with its operation; what the user's code raised, as is."""
    from seqloom.tensor._native_error import translated
    from seqloom.tensor._rules import RULES

    if RULES.get(rule.name) is not rule:
        return error
    return translated(error, f"backward of {rule.name}", _arrays(given), inner)


def _arrays(given: Any) -> tuple[Any, ...]:
    """The arrays among what a rule was given."""
    if isinstance(given, (list, tuple)):
        return tuple(found for each in cast("list[Any]", given) for found in _arrays(each))
    return (given,) if hasattr(given, "shape") else ()
