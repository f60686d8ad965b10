"""Gradients that the user decides: stopped, or by a rule of their own."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, cast

from seqloom.errors import GradientError
from seqloom.tensor._autodiff import Traced, record
from seqloom.tensor._derivatives._region import outermost
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
        GradientError: The rule gives another number of gradients than there are arguments,
            or the tensors are of another engine than `Autodiff`.

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
        outs = cast("tuple[Any, ...]", out) if several else (out,)
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


def _lowered(level: Any, arg: Any) -> Any:
    """An argument as the level below has it."""
    if not isinstance(arg, Tensor):
        return arg
    return Tensor(arg.raw.value, level.inner) if _node(level, arg) is not None else arg


def _node(level: Any, arg: Any) -> Any:
    """The node of an argument that a level follows."""
    raw = arg.raw if isinstance(arg, Tensor) else None
    return raw.node if isinstance(raw, Traced) and raw.level is level else None


def _by_rule(_b: Backend, saved: Any, grads: Any, _needs: Needs) -> Sequence[Array | None]:
    """What the user's rule gives, as arrays."""
    backend, rule, args, out = saved
    seeds = tuple(None if each is None else Tensor(each, backend) for each in grads)
    parts = rule(args, out, seeds if isinstance(out, tuple) else seeds[0])
    if len(parts) != len(args):
        raise GradientError(
            f"the rule gave {len(parts)} gradients for {len(args)} arguments; give None "
            "for one without"
        )
    return [None if part is None else part.raw for part in parts]


_RULE = Rule(nothing, _by_rule, followed=ALL, name="custom_gradient")
