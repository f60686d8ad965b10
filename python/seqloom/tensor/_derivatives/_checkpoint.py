"""checkpoint: memory for time. What is inside is computed again for its gradient."""

from __future__ import annotations

from contextvars import ContextVar
from functools import wraps
from typing import TYPE_CHECKING, Any, cast

from seqloom.tensor._autodiff import newest, pull_back, record
from seqloom.tensor._derivatives._region import followed_by, outer_nodes, outermost
from seqloom.tensor._rules import ALL, Rule
from seqloom.tensor._rules._keep import nothing
from seqloom.tensor._tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable

    from seqloom.tensor._backend import Array, Backend
    from seqloom.tensor._rules._keep import Needs

_again: ContextVar[bool] = ContextVar("again", default=False)


def recomputing() -> bool:
    """Says whether a `checkpoint` is computing again, so that nothing is written twice.

    Returns:
        True inside the second computation.

    Examples:
        >>> recomputing()
        False
    """
    return _again.get()


def checkpoint(function: Callable[..., Any]) -> Callable[..., Any]:
    """Keeps only what goes into a function, and computes it again for its gradient.

    Random numbers depend on keys alone, so the second time gives the same; buffers, such as
    the running means of batch norm, are written the first time only.

    Args:
        function: Takes and returns tensors, one or several; a module too. It must compute
            the same when called again.

    Returns:
        A function of the same arguments and results.

    Examples:
        >>> import seqloom as sl
        >>> A = sl.tensor.Autodiff(sl.tensor.backend("numpy"))
        >>> x = A.tensor([1.0, 3.0], requires_grad=True)
        >>> block = sl.tensor.checkpoint(lambda x: x * x * x)
        >>> block(x).sum().backward().wrt(x).numpy().tolist()
        [3.0, 27.0]
    """

    @wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        before = newest()
        out = function(*args, **options)
        outs = _several(out)
        level = outermost(outs)
        if level is None:
            return out
        results = followed_by(level, outs)
        nodes = outer_nodes([each.raw for each in results], before)
        numbers = [node.number for node in nodes]
        saved = level, function, args, options, numbers
        values = tuple(each.raw.value for each in results)
        made = record(level, _RULE, tuple(nodes), saved, values)
        new = iter(Tensor(each, level) for each in made)
        found = [next(new) if any(each is r for r in results) else each for each in outs]
        return tuple(found) if isinstance(out, tuple) else found[0]

    return call


def _recompute(_b: Backend, saved: Any, grads: Any, _needs: Needs) -> list[Array | None]:
    """The gradients by what went in, from a second computation."""
    level, function, args, options, numbers = saved
    before, token = newest(), _again.set(True)
    try:
        results = followed_by(level, _several(function(*args, **options)))
    finally:
        _again.reset(token)
    found = pull_back([each.raw for each in results], grads, before=before)
    return [found.get(number) for number in numbers]


def _several(out: Any) -> tuple[Any, ...]:
    """One result, or several, as a tuple."""
    return cast("tuple[Any, ...]", out) if isinstance(out, tuple) else (out,)


_RULE = Rule(nothing, _recompute, followed=ALL, name="checkpoint")
