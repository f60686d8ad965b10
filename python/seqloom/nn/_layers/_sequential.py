"""Sequential: layers that run one after the other."""

from __future__ import annotations

import inspect
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from seqloom.errors import ArgumentError, OutOfRangeError
from seqloom.nn._module import Module

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from seqloom._key import Key
    from seqloom.tensor import Tensor


class Sequential(Module):
    """Calls layers one after the other.

    A layer with an argument ``key`` gets its own key, folded from the call's by position.

    Args:
        *layers: Modules or functions of one tensor.

    Examples:
        >>> import seqloom as sl
        >>> F = sl.nn.functional
        >>> net = sl.nn.Sequential(
        ...     sl.nn.Linear(4, 8), F.relu, sl.nn.Dropout(0.5), sl.nn.Linear(8, 1)
        ... )
        >>> net = net.bind("numpy", sl.Key(0)).eval()
        >>> net(net.backend.tensor([[0.0] * 4])).shape
        (1, 1)
    """

    layers: list[Any]

    def __init__(self, *layers: Callable[..., Any]) -> None:
        for index, layer in enumerate(layers):
            if not callable(cast("Any", layer)):
                raise ArgumentError(
                    f"layer {index} of Sequential must be a module or a function, got a "
                    f"{type(layer).__name__}"
                )
        self.layers = list(layers)

    def __call__(self, x: Tensor, *, key: Key | None = None) -> Tensor:
        """Returns the output of the last layer."""
        for index, layer in enumerate(self.layers):
            takes_key, lacks = _find_needs(layer)
            if lacks:
                name = getattr(layer, "__name__", type(layer).__name__)
                raise ArgumentError(
                    f"layer {index} of Sequential ({name}) also needs {', '.join(lacks)}, "
                    "but Sequential passes only the output of the layer before, and a key; "
                    "write a Module whose __call__ passes the other arguments"
                )
            x = layer(x, **({"key": key and key.fold(index)} if takes_key else {}))
        return x

    def __len__(self) -> int:
        return len(self.layers)

    def __bool__(self) -> bool:
        return True  # as for every module, also without layers

    def __iter__(self) -> Iterator[Any]:
        return iter(self.layers)

    def __getitem__(self, index: int | slice) -> Any:
        """Returns a layer, or for a slice a Sequential that shares the layers."""
        if isinstance(index, slice):
            return Sequential(*self.layers[index])
        count = len(self.layers)
        if not -count <= index < count:
            raise OutOfRangeError(
                f"layer {index} is out of range: Sequential has {count} layers"
            )
        return self.layers[index]


def _find_needs(layer: object) -> tuple[bool, tuple[str, ...]]:
    """Returns whether a layer takes a key, and the other arguments that it needs."""
    if not isinstance(layer, Module):
        return _inspect(layer, 1)
    kind: Any = type(layer)
    # The function of the class, whose first argument is the module.
    function = kind.__call__
    if function is Module.__call__:
        function = getattr(kind, "forward", function)
    return _inspect(function, 2)


@lru_cache(maxsize=4096)
def _inspect(function: Any, passed: int) -> tuple[bool, tuple[str, ...]]:
    """Returns whether a function has an argument `key`, and what else it requires."""
    try:
        parameters = inspect.signature(function).parameters
    except (ValueError, TypeError):  # a C function without a signature
        return False, ()
    needed = [
        name
        for name, parameter in parameters.items()
        if name != "key"
        and parameter.default is parameter.empty
        and parameter.kind not in _VARIADIC
    ]
    return "key" in parameters, tuple(needed[passed:])


_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
