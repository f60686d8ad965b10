"""Gradients of a module's parameters, and calls with substituted parameters."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, cast

from seqloom.errors import ArgumentError, BackendError, GradientError, ShapeError
from seqloom.nn._processes import GradientCall, find_tensor, gradient_calls, tracked_params
from seqloom.tensor import Gradients, Tensor
from seqloom.tensor._derivatives import (
    activate_level,
    compute_gradients,
    count_levels,
    find_level,
    lower_result,
)
from seqloom.tensor._memory import measure_memory
from seqloom.tensor._origin import current_line

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence

    from seqloom.nn._module import Module
    from seqloom.nn._parameters import Param


def value_and_grad(
    function: Callable[..., Any], *, inputs: Sequence[int] = ()
) -> Callable[..., tuple[Any, ...]]:
    """Create a function that returns the loss and the gradients of a module.

    During the call, only the trainable parameters of the module record gradients.
    Gradients are also recorded on threads that have not called `value_and_grad`, such
    as a thread pool that computes terms of the loss. If two calls of `value_and_grad`
    are nested, the outer call also records the gradients of the inner call, which gives
    second derivatives.

    Args:
        function: Function whose first argument is a module. The result is the
            loss (a scalar tensor), or a tuple that begins with the loss.
        inputs: Positions of arguments that also receive a gradient, counted from 0
            after the module. ``gradients.wrt(x)`` is the gradient for an argument `x`.

    Returns:
        A function of the same arguments that returns ``(loss, *others, gradients)``, all
        on the module's backend. ``gradients.wrt(model.conv.weight)`` is the gradient of
        one parameter; pass ``gradients`` to an optimiser's ``step``.

    Raises:
        ArgumentError: An argument selected by `inputs` is not a tensor.
        BackendError: The parameters and inputs are not all on the same backend.
        GradientError: The loss is not a scalar, or does not depend on any trainable
            parameter or input. GradientError is also raised if a parameter was changed
            while the loss was computed.

    Examples:
        >>> import seqloom as sl
        >>> layer = sl.nn.Linear(2, 1).bind("numpy", sl.Key(0))
        >>> x = sl.tensor.backend("numpy").tensor([[1.0, 2.0]])
        >>> loss, grads = sl.nn.value_and_grad(lambda layer, x: layer(x).sum())(layer, x)
        >>> grads.wrt(layer.weight)
        Tensor([[1., 2.]], shape=(1, 2), dtype=float32, backend=numpy)
    """

    @wraps(function)
    def call_tracked(module: Module, *args: object, **options: Any) -> tuple[Any, ...]:
        params = [param for _, param in module.parameters() if param.trainable]
        tensors = {position: _require_tensor(args, position) for position in inputs}
        tracking = _GradientTracking.start(params, tensors)
        arguments = [tracking.inputs.get(at, arg) for at, arg in enumerate(args)]
        with tracking.substitute_params():
            result = function(module, *arguments, **options)
            tracking.require_unchanged()
            if isinstance(result, (list, dict)):
                raise GradientError(
                    f"the function returned a {type(result).__name__}; return the loss "  # pyright: ignore[reportUnknownArgumentType]
                    "alone, or a tuple that begins with the loss: (loss, other)"
                )
            is_tuple = isinstance(result, tuple)
            results = cast("tuple[Any, ...]", result) if is_tuple else (result,)
            loss, *others = results
            by_leaf = compute_gradients(tracking.level, loss)
        values = [lower_result(tracking.level, value) for value in (loss, *others)]
        tracking.mark_shared_params(values)
        return (*values, tracking.collect_grads(by_leaf, args))

    return call_tracked


def _require_tensor(args: tuple[Any, ...], position: int) -> Tensor:
    """Return the argument at a position; raise if it is not a tensor."""
    if position >= len(args) or not isinstance(args[position], Tensor):
        raise ArgumentError(
            f"inputs={position} requests the gradient of argument {position} after the "
            "module, which is not a tensor; pass a tensor there, or omit the position"
        )
    return args[position]


@dataclass(frozen=True, slots=True)
class _GradientTracking:
    """Parameters and inputs whose gradients are recorded in one call."""

    level: Any  # backend that records operations for gradients
    params: dict[int, Tensor]  # tracked tensors by the parameter's id
    inputs: dict[int, Tensor]  # tracked tensors by the argument's position
    versions: list[tuple[Param, int]]  # versions of the parameters before the call

    @classmethod
    def start(cls, params: list[Param], inputs: dict[int, Tensor]) -> _GradientTracking:
        """Create tracked tensors for all parameters and inputs on one new level."""
        # An outer `value_and_grad` call continues to record the parameters that it
        # tracks.
        outer = tracked_params.get() or {}
        known = {param.id: outer[param.id] for param in params if param.id in outer}
        level = find_level(_find_backend(params, [*known.values(), *inputs.values()]))

        def make_leaf(raw: Any) -> Tensor:
            return Tensor(level.leaf(raw), level)

        by_id = {
            param.id: make_leaf(
                known[param.id].raw if param.id in known else param.storage()
            )
            for param in params
        }
        by_position = {at: make_leaf(tensor.raw) for at, tensor in inputs.items()}
        return cls(level, by_id, by_position, [(param, param.version) for param in params])

    @contextmanager
    def substitute_params(self) -> Generator[None]:
        """Substitute tracked tensors for the parameters, also on the function's threads."""
        token = tracked_params.set({**(tracked_params.get() or {}), **self.params})
        threads = threading.get_ident(), _list_thread_ids(self.level)
        gradient_calls[id(self)] = GradientCall(self.params, *threads)
        try:
            with activate_level(self.level):
                yield
        finally:
            del gradient_calls[id(self)]
            tracked_params.reset(token)

    def require_unchanged(self) -> None:
        """Raise if a parameter was changed during the call; its gradient would be wrong."""
        for param, version in self.versions:
            if param.version != version:
                raise GradientError(
                    f"{param.path} was changed inside the function whose gradients are "
                    f"taken at {current_line()}; call the optimiser's step after "
                    "value_and_grad has returned"
                )

    def mark_shared_params(self, results: list[Any]) -> None:
        """Mark parameters that share memory with a result; the next write copies them."""
        tensors = [result for result in results if isinstance(result, Tensor)]
        owners = {measure_memory(tensor.raw, None)[0] for tensor in tensors}
        for param, _ in self.versions:
            if measure_memory(param.storage(), None)[0] in owners:
                param.share()

    def collect_grads(self, by_leaf: dict[int, Any], args: tuple[Any, ...]) -> Gradients:
        """Return the gradients of all parameters, by id, and of the selected arguments."""
        number = self.level.leaf_number
        numbers = {key: number(leaf.raw) for key, leaf in self.params.items()}
        arrays = {key: by_leaf[n] for key, n in numbers.items() if n in by_leaf}
        inputs = [
            (args[position], by_leaf.get(number(leaf.raw)))
            for position, leaf in self.inputs.items()
        ]
        return Gradients(arrays, self.level.inner, inputs=inputs)


def _list_thread_ids(level: Any) -> frozenset[int] | None:
    """Return the ids of all current threads if a step is being captured; otherwise None."""
    while level is not None:
        if getattr(level, "records", False):
            return frozenset(thread.ident or 0 for thread in threading.enumerate())
        level = getattr(level, "inner", None)
    return None


def _find_backend(params: list[Param], tensors: list[Tensor]) -> Any:
    """Return the outermost backend (the highest level) of the parameters and inputs."""
    backends: list[Any] = [param.bound_backend for param in params]
    for backend in backends:
        if backend is not backends[0]:
            raise BackendError(
                f"the module's parameters are on {backends[0]} and on {backend}; bind or "
                "move the module to one backend"
            )
    candidates = [*backends[:1], *(tensor.backend for tensor in tensors)]
    if not candidates:
        raise GradientError("the loss does not depend on any trainable parameter")
    return max(candidates, key=count_levels)


def functional_call(
    module: Module,
    values: Mapping[str, Tensor],
    *args: Any,
    method: str = "__call__",
    **options: Any,
) -> Any:
    """Call a module with substituted parameters; the module does not change.

    Gradients flow through the values, so a step of an inner optimiser can be
    differentiated (Finn et al. 2017). The function corresponds to
    ``torch.func.functional_call``.

    Args:
        module: Module whose parameters are substituted during the call.
        values: Tensors by parameter path. Parameters that are not in the dict have
            their usual values.
        *args: Arguments of the method.
        method: Name of the method to call.
        **options: Keyword arguments of the method.

    Returns:
        The result of the method.

    Raises:
        ArgumentError: A path is not a parameter of the module, or a value is not a tensor.
        ShapeError: A value does not have the shape of its parameter.

    Examples:
        >>> import seqloom as sl
        >>> layer = sl.nn.Linear(1, 1, bias=False).bind("numpy", sl.Key(0))
        >>> x = layer.backend.tensor([[2.0]])
        >>> sl.nn.functional_call(layer, {"weight": x * 5}, x).item()
        20.0
    """
    params = dict(module.parameters())
    for path, value in values.items():
        _require_substitutable(path, params.get(path), value)
    by_id = {params[path].id: value for path, value in values.items()}
    outer = {param.id: find_tensor(param.id, param.path) for param in params.values()}
    known = {number: tensor for number, tensor in outer.items() if tensor is not None}
    token = tracked_params.set({**(tracked_params.get() or {}), **known, **by_id})
    try:
        return getattr(module, method)(*args, **options)
    finally:
        tracked_params.reset(token)


def _require_substitutable(path: str, param: Param | None, value: Any) -> None:
    """Raise if a value cannot be substituted for a parameter."""
    if param is None:
        raise ArgumentError(
            f"values has the path {path!r}, but the module has no such parameter; pass the "
            "paths of module.parameters()"
        )
    if not isinstance(value, Tensor):
        raise ArgumentError(
            f"values[{path!r}] must be a tensor, got {type(value).__name__}; create one "
            "with module.backend.tensor(...)"
        )
    if tuple(value.shape) != param.shape:
        raise ShapeError(
            f"values[{path!r}] has shape {tuple(value.shape)}, but the parameter has shape "
            f"{param.shape}"
        )
