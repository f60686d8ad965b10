"""stop_gradient, and custom_gradient: gradients by the user's own rule."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, cast

from seqloom.errors import GradientError
from seqloom.tensor._derivatives._levels import is_own_engine, outermost_level
from seqloom.tensor._dispatch import apply, contains
from seqloom.tensor._families import ALL, Rule
from seqloom.tensor._families._keep import nothing
from seqloom.tensor._tape import TrackedArray, node_on, record
from seqloom.tensor._tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from seqloom.tensor._backend import Backend
    from seqloom.tensor._families import Array
    from seqloom.tensor._families._keep import Needs


def stop_gradient(x: Tensor) -> Tensor:
    """Returns the same values, through which no gradient flows.

    Args:
        x: A tensor.

    Returns:
        A tensor of the same shape that no level tracks.

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
    """Replaces the gradient of a function of tensors by your own rule.

    Args:
        function: Takes tensors and other values, returns a tensor or a tuple of tensors.
        rule: ``rule(args, out, grad)`` returns a tuple with the gradient by each argument,
            None for an argument without one. `grad` is the gradient by the result; for a
            tuple, a tuple with None for results that the loss does not depend on. Compute
            with tensors, so that second derivatives exist.

    Returns:
        A function of the same arguments and results.

    Raises:
        GradientError: The function does not return tensors; or the rule does not return
            one gradient for each argument, or one that differs from its argument in shape,
            type or backend; or the tensors are not on an `Autodiff` backend.

    Examples:
        A rounding whose gradient passes straight through:

        >>> import seqloom as sl
        >>> rounding = sl.tensor.custom_gradient(
        ...     lambda x: sl.tensor.apply("round", x),
        ...     lambda args, out, grad: (grad,),
        ... )
        >>> A = sl.tensor.Autodiff(sl.tensor.backend("numpy"))
        >>> x = A.tensor([0.2, 1.7], requires_grad=True)
        >>> (rounding(x) * 3).sum().backward().wrt(x).numpy().tolist()
        [3.0, 3.0]
    """

    @wraps(function)
    def call(*args: object) -> Any:
        level = outermost_level(args)
        if level is None:
            _refuse_other_engines(args)
            return function(*args)
        inner = tuple(_lower(level, arg) for arg in args)
        out = call(*inner)  # a level below records by the same rule
        outs = _check_results(level, out)
        nodes = tuple(_node(level, arg) for arg in args)
        saved = level.inner, rule, inner, out
        arrays = record(level, _RULE, nodes, saved, tuple(part.raw for part in outs))
        found = tuple(Tensor(array, level) for array in arrays)
        return found if isinstance(out, tuple) else found[0]

    return call


def _refuse_other_engines(args: tuple[Any, ...]) -> None:
    """Refuses an engine with its own tape, which would not use the rule."""
    for arg in args:
        if isinstance(arg, Tensor) and is_own_engine(arg.backend):
            raise GradientError(
                f"custom_gradient does not work on {arg.backend}; use sl.tensor.Autodiff"
            )


def _check_results(level: Any, out: Any) -> tuple[Tensor, ...]:
    """Returns what the function returned, which must be tensors of the level below."""
    outs = cast("tuple[Any, ...]", out) if isinstance(out, tuple) else (out,)
    for part in outs:
        if not isinstance(part, Tensor):
            raise GradientError(
                "the function of custom_gradient must return a tensor or a tuple of "
                f"tensors, got {type(part).__name__}"
            )
        if not contains(level.inner, _backend_of_array(part)):
            raise GradientError(
                "the function of custom_gradient returned a tensor on "
                f"{part.backend} that does not come from its arguments; pass every tensor "
                "that records gradients as an argument"
            )
    return outs


def _backend_of_array(tensor: Tensor) -> Any:
    """Returns the backend of a tensor's array: a constant's is the innermost one."""
    raw = tensor.raw
    return raw.level if isinstance(raw, TrackedArray) else tensor.detach().backend


def _lower(level: Any, arg: Any) -> Any:
    """Returns an argument as the level below has it."""
    if not isinstance(arg, Tensor):
        return arg
    return Tensor(arg.raw.value, level.inner) if _node(level, arg) is not None else arg


def _node(level: Any, arg: Any) -> Any:
    """Returns the node of an argument, or None if a level does not track it."""
    return node_on(level, arg.raw) if isinstance(arg, Tensor) else None


def _by_rule(_b: Any, saved: Any, grads: Any, needs: Needs) -> Sequence[Array | None]:
    """Computes the gradients by the user's rule, as arrays."""
    backend, rule, args, out = saved
    seeds = tuple(None if grad is None else Tensor(grad, backend) for grad in grads)
    found = rule(args, out, seeds if isinstance(out, tuple) else seeds[0])
    parts = zip(_check_count(found, args), args, needs, strict=True)
    return [
        _check_part(part, arg, position, backend) if needed and part is not None else None
        for position, (part, arg, needed) in enumerate(parts)
    ]


def _check_count(parts: object, args: tuple[Any, ...]) -> Sequence[Any]:
    """Returns what a rule returned, which must be a gradient for each argument."""
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


def _check_part(part: object, arg: Tensor, position: int, backend: Backend) -> Array:
    """Returns a gradient's array, which must have its argument's shape and type."""
    expected = f"{arg.dtype} of shape {arg.shape} on {backend}"
    if not isinstance(part, Tensor):
        found = f"{type(part).__name__}, no tensor"
    elif part.shape == arg.shape and part.dtype == arg.dtype:
        if contains(backend, _backend_of_array(part)):
            return part.raw
        found = f"on {part.backend}"
    else:
        found = f"{part.dtype} of shape {part.shape}"
    raise GradientError(
        f"the rule's gradient by argument {position} (counted from 0) is {found}; expected "
        f"{expected}, like that argument"
    )


_RULE = Rule(nothing, _by_rule, tracked=ALL, name="custom_gradient")
