"""Gradients that the user decides: stopped, or by a rule of their own."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, cast

from seqloom.errors import GradientError
from seqloom.tensor._autodiff import Traced, record
from seqloom.tensor._derivatives._region import outermost
from seqloom.tensor._dispatch import contains
from seqloom.tensor._rules import ALL, Rule
from seqloom.tensor._rules._keep import nothing
from seqloom.tensor._tensor import Tensor, apply

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from seqloom.tensor._backend import Array, Backend
    from seqloom.tensor._rules._keep import Needs


def stop_gradient(x: Tensor) -> Tensor:
    """The same values, through which no gradient flows.

    Args:
        x: A tensor.

    Returns:
        A tensor of the same shape that nothing follows, on any level.

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
    """Gives a function of tensors a gradient of one's own.

    Args:
        function: Takes tensors and other things, returns a tensor or a tuple of them.
        rule: ``rule(args, out, grad)`` returns the gradient by each argument, None for one
            without. `grad` is the gradient by the result: for a tuple, a tuple with None
            where none arrived. Written in tensors, so that second derivatives follow.

    Returns:
        A function of the same arguments and results.

    Raises:
        GradientError: The function returns something else than tensors, the rule another
            number of gradients than there are arguments, or one that does not have its
            argument's shape, type and backend; or the tensors are of another engine than
            `Autodiff`.

    Examples:
        A step whose gradient passes straight through:

        >>> import seqloom as sl
        >>> step = sl.tensor.custom_gradient(
        ...     lambda x: sl.tensor.apply("round", x),
        ...     lambda args, out, grad: (grad,),
        ... )
        >>> A = sl.tensor.Autodiff(sl.tensor.backend("numpy"))
        >>> x = A.tensor([0.2, 1.7], requires_grad=True)
        >>> (step(x) * 3).sum().backward().wrt(x).numpy().tolist()
        [3.0, 3.0]
    """

    @wraps(function)
    def call(*args: Any) -> Any:
        level = outermost(args)
        if level is None:
            _refuse_other_engines(args)
            return function(*args)
        inner = tuple(_lowered(level, arg) for arg in args)
        out = call(*inner)  # a level below follows by the same rule
        several = isinstance(out, tuple)
        outs = _results(level, out)
        nodes = tuple(_node(level, arg) for arg in args)
        saved = level.inner, rule, inner, out
        made = record(level, _RULE, nodes, saved, tuple(each.raw for each in outs))
        found = tuple(Tensor(each, level) for each in made)
        return found if several else found[0]

    return call


def _refuse_other_engines(args: tuple[Any, ...]) -> None:
    """An engine that keeps its own tape would not see the rule."""
    for arg in args:
        if isinstance(arg, Tensor) and "follows" in vars(arg.backend):
            raise GradientError(
                f"{arg.backend} cannot follow a rule of one's own; sl.tensor.Autodiff can"
            )


def _results(level: Any, out: Any) -> tuple[Tensor, ...]:
    """What a function returned, which must be tensors of the level below."""
    outs = cast("tuple[Any, ...]", out) if isinstance(out, tuple) else (out,)
    for each in outs:
        if not isinstance(each, Tensor):
            raise GradientError(
                "a function with a gradient of its own returned "
                f"{type(each).__name__}; it returns a tensor or a tuple of them"
            )
        if not contains(level.inner, _home(each)):
            raise GradientError(
                f"a function with a gradient of its own returned a tensor of "
                f"{each.backend}, which came in by another way than its arguments; give "
                "all that is followed as arguments"
            )
    return outs


def _home(tensor: Tensor) -> Backend:
    """Whose array a tensor holds: that of a constant is of the innermost backend."""
    raw = tensor.raw
    return raw.level if isinstance(raw, Traced) else tensor.detach().backend


def _lowered(level: Any, arg: Any) -> Any:
    """An argument as the level below has it."""
    if not isinstance(arg, Tensor):
        return arg
    return Tensor(arg.raw.value, level.inner) if _node(level, arg) is not None else arg


def _node(level: Any, arg: Any) -> Any:
    """The node of an argument that a level follows."""
    raw = arg.raw if isinstance(arg, Tensor) else None
    return raw.node if isinstance(raw, Traced) and raw.level is level else None


def _by_rule(_b: Backend, saved: Any, grads: Any, needs: Needs) -> Sequence[Array | None]:
    """What the user's rule gives, as arrays."""
    backend, rule, args, out = saved
    seeds = tuple(None if each is None else Tensor(each, backend) for each in grads)
    parts = _parts(rule(args, out, seeds if isinstance(out, tuple) else seeds[0]), args)
    return [
        _checked(part, arg, place, backend) if needed and part is not None else None
        for place, (part, arg, needed) in enumerate(zip(parts, args, needs, strict=True))
    ]


def _parts(parts: Any, args: tuple[Any, ...]) -> Sequence[Any]:
    """What a rule returned, which must be a gradient for each argument."""
    if not isinstance(parts, (tuple, list)):
        raise GradientError(
            f"the rule gave {type(parts).__name__}; give a tuple with a gradient for each "
            f"of the {len(args)} arguments, such as (grad,)"
        )
    found = cast("Sequence[Any]", parts)
    if len(found) != len(args):
        raise GradientError(
            f"the rule gave {len(found)} gradients for {len(args)} arguments; give None "
            "for one without"
        )
    return found


def _checked(part: Any, arg: Tensor, place: int, backend: Backend) -> Array:
    """A gradient's array, where it goes with its argument."""
    expected = f"{arg.dtype} of shape {arg.shape} on {backend}"
    if not isinstance(part, Tensor):
        found = f"{type(part).__name__}, no tensor"
    elif part.shape == arg.shape and part.dtype == arg.dtype:
        if contains(backend, _home(part)):
            return part.raw
        found = f"a tensor of {part.backend}"
    else:
        found = f"{part.dtype} of shape {part.shape}"
    raise GradientError(
        f"the rule's gradient by argument {place} (counted from 0) is {found}; "
        f"expected is {expected}, as that argument is"
    )


_RULE = Rule(nothing, _by_rule, followed=ALL, name="custom_gradient")
