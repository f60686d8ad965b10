"""functional_call: a call of a module with other values of its parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seqloom.errors import ArgumentError, ShapeError
from seqloom.nn._stored import find_tracked, tracked
from seqloom.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Mapping

    from seqloom.nn._module import Module
    from seqloom.nn._stored import Param


def functional_call(
    module: Module,
    values: Mapping[str, Tensor],
    *args: Any,
    method: str = "__call__",
    **options: Any,
) -> Any:
    """Calls a module with other values of its parameters; the module does not change.

    Gradients pass through the values, so that a step of an inner optimiser can be
    differentiated (Finn et al. 2017). It is torch's ``torch.func.functional_call``.

    Args:
        module: A module.
        values: Tensors by the path of the parameter. A parameter without a value here
            keeps its own.
        *args: Arguments of the method.
        method: Name of the method to call.
        **options: Keyword arguments of the method.

    Returns:
        The result of the method.

    Raises:
        ArgumentError: A path is not that of a parameter, or a value is not a tensor.
        ShapeError: A value has another shape than its parameter.

    Examples:
        >>> import seqloom as sl
        >>> layer = sl.nn.Linear(1, 1, bias=False).bind("numpy", sl.Key(0))
        >>> x = layer.backend.tensor([[2.0]])
        >>> sl.nn.functional_call(layer, {"weight": x * 5}, x).item()
        20.0
    """
    params = dict(module.parameters())
    for path, value in values.items():
        _require_fit(path, params.get(path), value)
    by_id = {params[path].id: value for path, value in values.items()}
    around = {param.id: find_tracked(param) for param in params.values()}
    known = {number: tensor for number, tensor in around.items() if tensor is not None}
    token = tracked.set({**(tracked.get() or {}), **known, **by_id})
    try:
        return getattr(module, method)(*args, **options)
    finally:
        tracked.reset(token)


def _require_fit(path: str, param: Param | None, value: Any) -> None:
    """Refuses a value that cannot stand for a parameter."""
    if param is None:
        raise ArgumentError(
            f"values has the path {path!r}, but the module has no such parameter; pass the "
            "paths of module.parameters()"
        )
    if not isinstance(value, Tensor):
        raise ArgumentError(
            f"values[{path!r}] must be a tensor, got {type(value).__name__}; make one by "
            "module.backend.tensor(...)"
        )
    if tuple(value.shape) != param.shape:
        raise ShapeError(
            f"values[{path!r}] has shape {tuple(value.shape)}, but the parameter has shape "
            f"{param.shape}"
        )
