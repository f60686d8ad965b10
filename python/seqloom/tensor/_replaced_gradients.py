"""Functions that replace a gradient by zero, by a custom rule, or by recomputation."""

from __future__ import annotations

from contextvars import ContextVar
from functools import wraps
from typing import TYPE_CHECKING, Any, cast

from seqloom.errors import GradientError
from seqloom.tensor._autocast import autocast_state
from seqloom.tensor._backward import backprop
from seqloom.tensor._derivatives import find_outermost_level, is_custom_engine, list_tracked
from seqloom.tensor._dispatch import apply, includes_backend
from seqloom.tensor._families import ALL_RESULTS, Rule
from seqloom.tensor._families._keep import save_nothing
from seqloom.tensor._state import TrackedArray, get_node, next_number, outer_nodes, record
from seqloom.tensor._tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from seqloom.tensor._backend import Backend
    from seqloom.tensor._families import Array
    from seqloom.tensor._families._keep import Needs


def stop_gradient(x: Tensor) -> Tensor:
    """Return a tensor as a constant, through which no gradient flows.

    Args:
        x: A tensor.

    Returns:
        A tensor of the same shape that is not tracked.

    Examples:
        >>> import seqloom as sl
        >>> A = sl.tensor.Autodiff(sl.tensor.backend("numpy"))
        >>> x = A.tensor([3.0], requires_grad=True)
        >>> (sl.tensor.stop_gradient(x) * x).sum().backward().wrt(x).item()
        3.0
    """
    return apply("stop_gradient", x)


def custom_gradient(
    function: Callable[..., Any], rule: Callable[..., Any]
) -> Callable[..., Any]:
    """Replace the gradient of a function of tensors with a custom rule.

    Args:
        function: Function of tensors and other values that returns a tensor or a tuple
            of tensors.
        rule: ``rule(args, out, grad)`` returns a tuple with the gradient of each
            argument, or None for an argument without a gradient. `grad` is the gradient
            of the result. If the result is a tuple, `grad` is a tuple, with None for
            each result on which the loss does not depend. Compute with tensors, so that
            second derivatives exist.

    Returns:
        A function with the same arguments and results.

    Raises:
        GradientError: The function does not return tensors, or the tensors are not on
            an `Autodiff` backend. The same error is raised if the number of gradients
            that the rule returns, or a gradient's shape, dtype or backend, is wrong.

    Examples:
        A rounding function with a straight-through gradient:

        >>> import seqloom as sl
        >>> rounding = sl.tensor.custom_gradient(
        ...     lambda x: sl.tensor.apply("round", x), lambda args, out, grad: (grad,)
        ... )
        >>> A = sl.tensor.Autodiff(sl.tensor.backend("numpy"))
        >>> x = A.tensor([0.2, 1.7], requires_grad=True)
        >>> (rounding(x) * 3).sum().backward().wrt(x).numpy().tolist()
        [3.0, 3.0]
    """

    @wraps(function)
    def call_function(*args: object) -> Any:
        level = find_outermost_level(args)
        if level is None:
            _require_autodiff(args)
            return function(*args)
        # Replace tracked arguments by tensors of the inner backend.
        nodes = tuple(
            (get_node(level, arg.raw) if isinstance(arg, Tensor) else None) for arg in args
        )
        inner = tuple(
            arg if node is None else Tensor(arg.raw.value, level.inner)
            for arg, node in zip(cast("Any", args), nodes, strict=True)
        )
        out = call_function(*inner)  # pass the custom rule to inner levels too
        outs = _check_results(level, out)
        saved = level.inner, rule, inner, out
        arrays = record(level, _CUSTOM_RULE, nodes, saved, tuple(part.raw for part in outs))
        found = tuple(Tensor(array, level) for array in arrays)
        return found if isinstance(out, tuple) else found[0]

    return call_function


def _require_autodiff(args: tuple[Any, ...]) -> None:
    """Raise if a tensor is on a backend that would ignore the custom rule."""
    for arg in args:
        if isinstance(arg, Tensor) and is_custom_engine(arg.backend):
            raise GradientError(
                f"custom_gradient does not work on {arg.backend}; use sl.tensor.Autodiff"
            )


def _check_results(level: Any, out: Any) -> tuple[Tensor, ...]:
    """Return results as a tuple; raise unless all are tensors of the inner backend."""
    outs = _as_tuple(out)
    for part in outs:
        if not isinstance(part, Tensor):
            raise GradientError(
                "the function of custom_gradient must return a tensor or a tuple of "
                f"tensors, got {type(part).__name__}"
            )
        if not includes_backend(level.inner, _find_array_backend(part)):
            raise GradientError(
                "the function of custom_gradient returned a tensor on "
                f"{part.backend} that does not come from its arguments; pass every tensor "
                "that records gradients as an argument"
            )
    return outs


def _find_array_backend(tensor: Tensor) -> Any:
    """Return the backend of a tensor's array; for a constant, the innermost backend."""
    raw = tensor.raw
    return raw.level if isinstance(raw, TrackedArray) else tensor.detach().backend


def _apply_rule(_b: Any, saved: Any, grads: Any, needs: Needs) -> Sequence[Array | None]:
    """Compute the gradients of the arguments with the custom rule."""
    backend, rule, args, out = saved
    seeds = tuple(None if grad is None else Tensor(grad, backend) for grad in grads)
    found = rule(args, out, seeds if isinstance(out, tuple) else seeds[0])
    parts = zip(_check_gradient_count(found, args), args, needs, strict=True)
    return [
        _check_grad(part, arg, position, backend) if needed and part is not None else None
        for position, (part, arg, needed) in enumerate(parts)
    ]


def _check_gradient_count(parts: object, args: tuple[Any, ...]) -> Sequence[Any]:
    """Return the gradients from a custom rule; raise unless each argument has one."""
    if not isinstance(parts, (tuple, list)):
        raise GradientError(
            f"the rule must return a tuple with a gradient for each of the {len(args)} "
            f"arguments, such as (grad,); got {type(parts).__name__}"
        )
    found = cast("Sequence[Any]", parts)
    if len(found) != len(args):
        raise GradientError(
            f"the rule returned {len(found)} gradients for {len(args)} arguments; return "
            "None for an argument without a gradient"
        )
    return found


def _check_grad(part: object, arg: Tensor, position: int, backend: Backend) -> Array:
    """Return the array of a gradient; raise unless shape and dtype match the argument."""
    expected = f"{arg.dtype} of shape {arg.shape} on {backend}"
    if not isinstance(part, Tensor):
        found = f"{type(part).__name__}, not a tensor"
    elif part.shape == arg.shape and part.dtype == arg.dtype:
        if includes_backend(backend, _find_array_backend(part)):
            return part.raw
        found = f"on {part.backend}"
    else:
        found = f"{part.dtype} of shape {part.shape}"
    raise GradientError(
        f"the rule's gradient of argument {position} (counted from 0) is {found}; expected "
        f"{expected}, like that argument"
    )


_CUSTOM_RULE = Rule(save_nothing, _apply_rule, tracked=ALL_RESULTS, name="custom_gradient")


_is_recomputing: ContextVar[bool] = ContextVar("is_recomputing", default=False)


def is_recomputing() -> bool:
    """Return whether `checkpoint` is recomputing, because buffers must not change then."""
    return _is_recomputing.get()


def checkpoint(function: Callable[..., Any]) -> Callable[..., Any]:
    """Save memory: store only a function's inputs, and run it again for its gradient.

    Random numbers depend only on keys, so both computations are equal. Buffers, such as the
    running means of batch norm, change only in the first computation.

    Args:
        function: A function or module of tensors that returns one tensor or a tuple. A
            second call must compute the same results.

    Returns:
        A function with the same arguments and results.

    Examples:
        >>> import seqloom as sl
        >>> A = sl.tensor.Autodiff(sl.tensor.backend("numpy"))
        >>> x = A.tensor([1.0, 3.0], requires_grad=True)
        >>> block = sl.tensor.checkpoint(lambda x: x * x * x)
        >>> block(x).sum().backward().wrt(x).numpy().tolist()
        [3.0, 27.0]
    """

    @wraps(function)
    def call_function(*args: object, **options: Any) -> Any:
        before = next_number()
        out = function(*args, **options)
        outs = _as_tuple(out)
        level = find_outermost_level(outs)
        if level is None:
            return out
        results = list_tracked(level, outs)
        nodes = outer_nodes([result.raw for result in results], before)
        numbers = [node.number for node in nodes]
        saved = level, function, args, options, numbers, autocast_state.get()
        values = tuple(result.raw.value for result in results)
        arrays = record(level, _RECOMPUTE_RULE, tuple(nodes), saved, values)
        new = iter(Tensor(array, level) for array in arrays)
        found = [next(new) if any(part is r for r in results) else part for part in outs]
        return tuple(found) if isinstance(out, tuple) else found[0]

    return call_function


def _recompute(_b: Any, saved: Any, grads: Any, _needs: Needs) -> list[Array | None]:
    """Recompute the function, and return the gradients with respect to its inputs."""
    level, function, args, options, numbers, cast_to = saved
    before, token = next_number(), _is_recomputing.set(True)
    former = autocast_state.set(cast_to)  # the `autocast` block may have ended
    try:
        results = list_tracked(level, _as_tuple(function(*args, **options)))
    finally:
        autocast_state.reset(former)
        _is_recomputing.reset(token)
    found = backprop([result.raw for result in results], grads, before=before)
    return [found.get(number) for number in numbers]


def _as_tuple(out: object) -> tuple[Any, ...]:
    """Wrap a single result in a tuple; return a tuple unchanged."""
    return cast("tuple[Any, ...]", out) if isinstance(out, tuple) else (out,)


_RECOMPUTE_RULE = Rule(save_nothing, _recompute, tracked=ALL_RESULTS, name="checkpoint")
