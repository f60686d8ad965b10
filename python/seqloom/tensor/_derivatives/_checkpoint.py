"""checkpoint: saves memory; the function is computed again for its gradient."""

from __future__ import annotations

from contextvars import ContextVar
from functools import wraps
from typing import TYPE_CHECKING, Any, cast

from seqloom.tensor._autocast import casting
from seqloom.tensor._autodiff import pull_back
from seqloom.tensor._derivatives._levels import outermost_level, tensors_on
from seqloom.tensor._families import ALL, Rule
from seqloom.tensor._families._keep import nothing
from seqloom.tensor._tape import draw_number, outer_nodes, record
from seqloom.tensor._tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable

    from seqloom.tensor._families import Array
    from seqloom.tensor._families._keep import Needs

_is_recomputing: ContextVar[bool] = ContextVar("is_recomputing", default=False)


def is_recomputing() -> bool:
    """Whether a `checkpoint` is computing again: then buffers must not be written."""
    return _is_recomputing.get()


def checkpoint(function: Callable[..., Any]) -> Callable[..., Any]:
    """Makes a function save only its inputs; it is computed again for its gradient.

    Random numbers depend on keys only, so both computations are equal. Buffers, such as the
    running means of batch norm, are written the first time only.

    Args:
        function: A function or module that takes and returns one tensor or several. It must
            compute the same when called again.

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
    def call(*args: object, **options: Any) -> Any:
        before = draw_number()
        out = function(*args, **options)
        outs = _as_tuple(out)
        level = outermost_level(outs)
        if level is None:
            return out
        results = tensors_on(level, outs)
        nodes = outer_nodes([result.raw for result in results], before)
        numbers = [node.number for node in nodes]
        saved = level, function, args, options, numbers, casting.get()
        values = tuple(result.raw.value for result in results)
        arrays = record(level, _RULE, tuple(nodes), saved, values)
        new = iter(Tensor(array, level) for array in arrays)
        found = [next(new) if any(part is r for r in results) else part for part in outs]
        return tuple(found) if isinstance(out, tuple) else found[0]

    return call


def _recompute(_b: Any, saved: Any, grads: Any, _needs: Needs) -> list[Array | None]:
    """Computes the gradients by the inputs, from a second computation."""
    level, function, args, options, numbers, cast_to = saved
    before, token = draw_number(), _is_recomputing.set(True)
    former = casting.set(cast_to)  # the block may have ended meanwhile
    try:
        results = tensors_on(level, _as_tuple(function(*args, **options)))
    finally:
        casting.reset(former)
        _is_recomputing.reset(token)
    found = pull_back([result.raw for result in results], grads, before=before)
    return [found.get(number) for number in numbers]


def _as_tuple(out: object) -> tuple[Any, ...]:
    """Returns one result, or several, as a tuple."""
    return cast("tuple[Any, ...]", out) if isinstance(out, tuple) else (out,)


_RULE = Rule(nothing, _recompute, tracked=ALL, name="checkpoint")
