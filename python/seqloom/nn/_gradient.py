"""value_and_grad: the loss of a module and its gradients by the module's parameters."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, cast

from seqloom.errors import GradientError
from seqloom.nn._stored import lifted
from seqloom.tensor import Autodiff, Gradients, Tensor
from seqloom.tensor._autodiff import Traced, backward

if TYPE_CHECKING:
    from collections.abc import Callable

    from seqloom.nn._module import Module
    from seqloom.nn._stored import Param
    from seqloom.tensor._backend import Backend


def value_and_grad(function: Callable[..., Any]) -> Callable[..., tuple[Any, ...]]:
    """Makes a function of a module also give its gradients.

    The module's trainable parameters are followed for that call and on that thread only;
    nothing else ever records.

    Args:
        function: Takes a module first; returns a loss (a scalar tensor), or a tuple that
            begins with it.

    Returns:
        A function of the same arguments that returns ``(loss, *others, gradients)``, all
        of them on the module's own backend. ``gradients.wrt(model.conv.weight)`` is one;
        an optimiser's ``step`` takes them all.

    Examples:
        >>> import seqloom as sl
        >>> layer = sl.nn.Linear(2, 1).bind("numpy", sl.Key(0))
        >>> x = sl.tensor.backend("numpy").tensor([[1.0, 2.0]])
        >>> loss, grads = sl.nn.value_and_grad(lambda layer, x: layer(x).sum())(layer, x)
        >>> grads.wrt(layer.weight)
        Tensor([[1., 2.]], shape=(1, 2), dtype=float32, backend=numpy)
    """

    @wraps(function)
    def call(module: Module, *args: Any, **options: Any) -> tuple[Any, ...]:
        params = [param for _, param in module.parameters() if param.trainable]
        followed = _lift(params)
        versions = [param.version for param in params]
        token = lifted.set({**(lifted.get() or {}), **followed})
        try:
            result = function(module, *args, **options)
        finally:
            lifted.reset(token)
        _check_unchanged(params, versions)
        several = isinstance(result, tuple)
        loss, *others = cast("tuple[Any, ...]", result) if several else (result,)
        grads = _gradients(loss, followed)
        return (_plain(loss), *map(_plain, others), grads)

    return call


def _lift(params: list[Param]) -> dict[int, Tensor]:
    """The parameters as leaves of the differentiable backend over their own."""
    outer = lifted.get() or {}
    followed: dict[int, Tensor] = {}
    for param in params:
        known = outer.get(param.id)
        raw, inner = (
            (param.storage(), param.bound_backend)
            if known is None
            else (known.raw, known.backend)
        )
        level = _autodiff(inner)
        followed[param.id] = Tensor(level.leaf(raw), level)
    return followed


def _autodiff(inner: Backend) -> Autodiff:
    """The one differentiable backend over this one; it holds no state of a call."""
    found = vars(inner).get("differentiable")
    if found is None:
        inner.differentiable = found = Autodiff(inner)
    return found


def _gradients(loss: Any, followed: dict[int, Tensor]) -> Gradients:
    """The gradients by the id of each parameter."""
    if not isinstance(loss, Tensor) or not isinstance(loss.raw, Traced):
        raise GradientError("the loss does not depend on any trainable parameter")
    if loss.shape != ():
        raise GradientError(f"the loss must be a scalar; it has shape {loss.shape}")
    inner = loss.raw.level.inner
    by_number = backward(loss.raw, inner.ones((), dtype=loss.dtype))
    found = {
        key: by_number[leaf.raw.node.number]
        for key, leaf in followed.items()
        if leaf.raw.node.number in by_number
    }
    return Gradients(found, inner)


def _check_unchanged(params: list[Param], versions: list[int]) -> None:
    """A parameter that was written since would get a gradient of other values."""
    for param, version in zip(params, versions, strict=True):
        if param.version != version:
            raise GradientError(
                f"{param.path} was changed inside the function whose gradients are taken; "
                "step the optimiser after value_and_grad has returned"
            )


def _plain(value: Any) -> Any:
    """A result that nothing follows any more."""
    if not isinstance(value, Tensor) or not isinstance(value.raw, Traced):
        return value
    return Tensor(value.raw.value, value.raw.level.inner)
