"""Layers one after the other."""

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
    """Calls what it is given, one after the other.

    Layers that take a ``key`` get one of their own, folded from the call's by position.

    Args:
        *layers: Modules and functions.

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
        for place, layer in enumerate(layers):
            if not callable(cast("Any", layer)):
                raise ArgumentError(
                    f"layer {place} of Sequential is a {type(layer).__name__}; a layer is "
                    "a module or a function"
                )
        self.layers = list(layers)

    def __call__(self, x: Tensor, *, key: Key | None = None) -> Tensor:
        """The last layer's output; a layer that needs more arguments is refused."""
        for place, layer in enumerate(self.layers):
            takes_key, lacks = _needs(layer)
            if lacks:
                name = getattr(layer, "__name__", type(layer).__name__)
                raise ArgumentError(
                    f"layer {place} of Sequential ({name}) also needs {', '.join(lacks)}; "
                    "Sequential gives each layer the output before it, and a key: write a "
                    "Module whose __call__ passes the rest"
                )
            x = layer(x, **({"key": key and key.fold(place)} if takes_key else {}))
        return x

    def __len__(self) -> int:
        return len(self.layers)

    def __bool__(self) -> bool:
        return True  # a module is one, also without layers

    def __iter__(self) -> Iterator[Any]:
        return iter(self.layers)

    def __getitem__(self, place: int | slice) -> Any:
        """A layer; of a slice, a Sequential of those layers, which both then share."""
        if isinstance(place, slice):
            return Sequential(*self.layers[place])
        count = len(self.layers)
        if not -count <= place < count:
            raise OutOfRangeError(f"Sequential has {count} layers, and no layer {place}")
        return self.layers[place]


def _needs(layer: Any) -> tuple[bool, tuple[str, ...]]:
    """Whether a layer takes a key, and what it needs beyond that and one array."""
    if not isinstance(layer, Module):
        return _parameters(layer, 1)
    kind: Any = type(layer)
    called = kind.__call__
    # Of a module, its class's function, which takes the module first.
    written = getattr(kind, "forward", called) if called is Module.__call__ else called
    return _parameters(written, 2)


@lru_cache(maxsize=4096)
def _parameters(function: Any, given: int) -> tuple[bool, tuple[str, ...]]:
    """Whether a function has a parameter `key`, and those that nothing is given for."""
    try:
        parameters = inspect.signature(function).parameters
    except (ValueError, TypeError):  # a function of C that does not say
        return False, ()
    needed = [
        name
        for name, each in parameters.items()
        if name != "key" and each.default is each.empty and each.kind not in _MANY
    ]
    return "key" in parameters, tuple(needed[given:])


_MANY = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
