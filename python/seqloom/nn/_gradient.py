"""value_and_grad: the loss of a module and its gradients by the module's parameters."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, cast

from seqloom.errors import ArgumentError, BackendError, GradientError
from seqloom.nn._stored import lifted
from seqloom.tensor import Gradients, Tensor
from seqloom.tensor._derivatives._levels import (
    active,
    depth,
    gradients_of,
    level_over,
    lower_result,
)
from seqloom.tensor._memory import memory_of
from seqloom.tensor._scope._origin import current_line

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from seqloom.nn._module import Module
    from seqloom.nn._stored import Param


def value_and_grad(
    function: Callable[..., Any], *, inputs: Sequence[int] = ()
) -> Callable[..., tuple[Any, ...]]:
    """Makes a function of a module also give its gradients.

    The module's trainable parameters are followed for that call and on that thread only;
    nothing else ever records. Called inside another one, its gradients are followed by the
    outer, which gives second derivatives.

    Args:
        function: Takes a module first; returns a loss (a scalar tensor), or a tuple that
            begins with it.
        inputs: Which of the arguments after the module are followed too, counted from 0;
            ``gradients.wrt(x)`` is the one by the tensor `x` that was passed there.

    Returns:
        A function of the same arguments that returns ``(loss, *others, gradients)``, all
        of them on the module's own backend. ``gradients.wrt(model.conv.weight)`` is one;
        an optimiser's ``step`` takes them all.

    Raises:
        ArgumentError: An argument to be followed is no tensor.
        BackendError: Parameters or inputs are on different backends.
        GradientError: The loss is no scalar, depends on nothing that is followed, or a
            parameter was written while it was computed.

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
        followed = Followed.of(params, {place: _tensor(args, place) for place in inputs})
        given = [followed.inputs.get(place, arg) for place, arg in enumerate(args)]
        with followed.in_this_thread():
            result = function(module, *given, **options)
            followed.check_unchanged()
            _require_tuple(result)
            several = isinstance(result, tuple)
            loss, *others = cast("tuple[Any, ...]", result) if several else (result,)
            found = gradients_of(followed.level, loss)
        values = [lower_result(followed.level, each) for each in (loss, *others)]
        followed.lend_to(values)
        return (*values, followed.gradients(found, args))

    return call


def _require_tuple(result: Any) -> None:
    """Refuses a list or a dict of results, in which the loss has no place."""
    if isinstance(result, (list, dict)):
        raise GradientError(
            f"the function returned a {type(result).__name__}; return the loss alone, or a "  # pyright: ignore[reportUnknownArgumentType]
            "tuple that begins with it: (loss, other)"
        )


def _tensor(args: tuple[Any, ...], place: int) -> Tensor:
    """An argument that is to be followed."""
    if place >= len(args) or not isinstance(args[place], Tensor):
        raise ArgumentError(
            f"inputs={place} asks for the gradient by argument {place} after the module, "
            "which is no tensor"
        )
    return args[place]


@dataclass(frozen=True, slots=True)
class Followed:
    """What one call follows.

    Attributes:
        level: Who follows.
        params: The leaf of each parameter, by its id.
        inputs: The leaf of each argument, by its place.
        versions: The parameters and how often each was written before.
    """

    level: Any
    params: dict[int, Tensor]
    inputs: dict[int, Tensor]
    versions: list[tuple[Param, int]]

    @classmethod
    def of(cls, params: list[Param], inputs: dict[int, Tensor]) -> Followed:
        """Parameters and arguments as leaves of one level over the backend of all."""
        # Those of an outer call stay followed by it.
        outer = lifted.get() or {}
        known = {param.id: outer[param.id] for param in params if param.id in outer}
        level = level_over(_backend(params, [*known.values(), *inputs.values()]))

        def leaf(raw: Any) -> Tensor:
            return Tensor(level.leaf(raw), level)

        by_id = {
            param.id: leaf(known[param.id].raw if param.id in known else param.storage())
            for param in params
        }
        by_place = {place: leaf(tensor.raw) for place, tensor in inputs.items()}
        return cls(level, by_id, by_place, [(param, param.version) for param in params])

    @contextmanager
    def in_this_thread(self) -> Generator[None]:
        """Parameters give their leaves inside this block, on this thread."""
        token = lifted.set({**(lifted.get() or {}), **self.params})
        try:
            with active(self.level):
                yield
        finally:
            lifted.reset(token)

    def check_unchanged(self) -> None:
        """A parameter that was written since would get a gradient of other values."""
        for param, version in self.versions:
            if param.version != version:
                raise GradientError(
                    f"{param.path} was changed inside the function whose gradients are "
                    f"taken at {current_line()}; step the optimiser after value_and_grad "
                    "returned"
                )

    def lend_to(self, results: list[Any]) -> None:
        """A result in a parameter's own memory keeps its values when that is written."""
        tensors = [each for each in results if isinstance(each, Tensor)]
        taken = {memory_of(each.raw, None)[0] for each in tensors}
        for param, _ in self.versions:
            if memory_of(param.storage(), None)[0] in taken:
                param.lend()

    def gradients(self, found: dict[int, Any], args: tuple[Any, ...]) -> Gradients:
        """The gradients by the id of each parameter, and by each argument."""
        number = self.level.leaf_number
        numbers = {key: number(leaf.raw) for key, leaf in self.params.items()}
        arrays = {key: found[each] for key, each in numbers.items() if each in found}
        inputs = [
            (args[place], found.get(number(leaf.raw)))
            for place, leaf in self.inputs.items()
        ]
        return Gradients(arrays, self.level.inner, inputs=inputs)


def _backend(params: list[Param], tensors: list[Tensor]) -> Any:
    """The outermost backend of all that is followed; all must be over one."""
    homes: list[Any] = [param.bound_backend for param in params]
    for home in homes:
        if home is not homes[0]:
            raise BackendError(
                f"the module's parameters are on {homes[0]} and on {home}; bind or move "
                "the module to one backend"
            )
    found = [*homes[:1], *(each.backend for each in tensors)]
    if not found:
        raise GradientError("the loss does not depend on any trainable parameter")
    return max(found, key=depth)
