"""Sequential and Residual: layers that run one after the other, and one that is added."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from seqloom.errors import ArgumentError, OutOfRangeError, ShapeError
from seqloom.nn._module import Module
from seqloom.nn._parts import CONTAINERS
from seqloom.nn._passing import Takes, add_place, call_part, describe, spread, takes_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from seqloom._key import Key

_LAYER = "layer {} of Sequential"
_INNER = ("inner of Residual", "")


class Sequential(Module):
    """Calls layers one after the other.

    A layer may be a module, whose method is ``__call__`` or ``forward``, or a function.
    What it gets depends on its signature:

    - The first layer gets the positional arguments of the call, each further one the output
      of the layer before. An output that is a tuple is spread over the positional arguments
      of a layer that has more than one; a layer that has one gets the tuple itself.
    - A keyword, such as ``mask=``, goes to each layer that takes one of that name.
    - A layer with an argument ``key`` gets its own key, folded from the call's by position.

    Args:
        *layers: Modules or functions; or one dict of these, whose keys become their names:
            ``net["conv"]`` is then a layer, and ``layers.conv.weight`` a path.

    Raises:
        ArgumentError: A layer cannot be called. In a call: a layer lacks an argument or
            gets too many, or no layer takes a keyword.

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

    layers: Any  # a list; or a dict, of layers with names

    def __init__(self, *layers: Callable[..., Any] | Mapping[str, Any]) -> None:
        given: list[Any] = list(layers)
        is_named = len(given) == 1 and isinstance(given[0], dict)
        self.layers = {**given[0]} if is_named else given
        for name, layer in self._named_layers():
            if not callable(layer):
                raise ArgumentError(
                    f"layer {name} of Sequential must be a module or a function, got a "
                    f"{type(layer).__name__}"
                )

    def __call__(self, *args: Any, key: Key | None = None, **options: Any) -> Any:
        """Return the output of the last layer.

        Args:
            *args: Positional arguments of the first layer.
            key: Random key for the layers that take one; others ignore it.
            **options: Keyword arguments, for each layer that takes one of that name.

        Returns:
            The output of the last layer.

        Raises:
            ArgumentError: A layer lacks an argument or gets too many, or no layer takes a
                keyword.
        """
        if options:
            found = [takes_of(layer) for layer in self]
            for name in options:
                if not any(takes.has(name) for takes in found):
                    raise ArgumentError(
                        f"no layer of Sequential takes {name}=; its layers: "
                        + ", ".join(
                            f"{describe(layer)}{takes.text}"
                            for layer, takes in zip(self, found, strict=True)
                        )
                    )
        output: Any = args[0] if len(args) == 1 else args
        is_plain = not options and key is None
        for index, (name, layer) in enumerate(self._named_layers()):
            takes = takes_of(layer)
            if is_plain and takes.needs_one and type(output) is not tuple:
                try:
                    output = layer(output)
                except Exception as error:
                    add_place(error, layer, (_LAYER, name))
                    raise
                continue
            values = spread(cast("object", output), takes) if index else args
            given = takes.with_key(options, key and key.fold(index))
            output = call_part(layer, (_LAYER, name), takes, values, given)
        return output

    def _named_layers(self) -> Iterable[tuple[str | int, Any]]:
        """Return pairs of name or position, and layer."""
        if isinstance(self.layers, dict):
            return cast("dict[str, Any]", self.layers).items()
        return enumerate(cast("list[Any]", self.layers))

    def __len__(self) -> int:
        return len(self.layers)

    def __bool__(self) -> bool:
        return True  # as for every module, also without layers

    def __iter__(self) -> Iterator[Any]:
        return (layer for _, layer in self._named_layers())

    def __getitem__(self, index: int | str | slice) -> Any:
        """Return a layer, or for a slice a Sequential that shares the layers."""
        pairs = list(self._named_layers())
        if isinstance(index, slice):
            chosen: dict[Any, Any] = dict(pairs[index])
            is_named = isinstance(self.layers, dict)
            return Sequential(chosen) if is_named else Sequential(*chosen.values())
        if isinstance(index, str):
            return self._find(index)
        if not -len(pairs) <= index < len(pairs):
            raise OutOfRangeError(
                f"layer {index} is out of range: Sequential has {len(pairs)} layers"
            )
        return pairs[index][1]

    def _find(self, name: str) -> Any:
        """Return the layer of a name."""
        layers = cast(
            "dict[str, Any]", self.layers if isinstance(self.layers, dict) else {}
        )
        if name not in layers:
            names = ", ".join(map(repr, layers)) or "none, as they are a list"
            raise OutOfRangeError(f"Sequential has no layer {name!r}; its names: {names}")
        return layers[name]


class Residual(Module):
    """Adds its input to the output of a module (He et al. 2016).

    Keywords and further positional arguments are passed on to the module, where it takes
    them. If it returns a tuple, the input is added to the first item.

    Args:
        inner: Module or function whose output has the shape of its input.

    Raises:
        ArgumentError: `inner` cannot be called, or lacks an argument in a call.
        ShapeError: In a call, the output has another shape than the input.

    Examples:
        >>> import seqloom as sl
        >>> block = sl.nn.Residual(sl.nn.Linear(2, 2)).bind("numpy", sl.Key(0))
        >>> x = block.backend.tensor([[1.0, 2.0]])
        >>> bool(((block(x) - block.inner(x)).numpy().round(4) == x.numpy()).all())
        True
    """

    inner: Any

    def __init__(self, inner: Callable[..., Any]) -> None:
        if not callable(cast("Any", inner)):
            raise ArgumentError(
                "inner of Residual must be a module or a function, got a "
                f"{type(inner).__name__}; put several layers into a Sequential"
            )
        self.inner = inner

    def __call__(self, x: Any, *args: Any, key: Key | None = None, **options: Any) -> Any:
        """Return the input plus the output of `inner`.

        Args:
            x: Tensor that is added.
            *args: Further positional arguments of `inner`.
            key: Random key, if `inner` takes one.
            **options: Keyword arguments of `inner`.

        Returns:
            A tensor of the shape of `x`; or a tuple that begins with it.

        Raises:
            ArgumentError: `inner` lacks an argument, gets too many, or takes no such
                keyword.
            ShapeError: The output has another shape than `x`.
        """
        takes = takes_of(self.inner)
        for name in options:
            if not takes.has(name):
                raise ArgumentError(
                    f"inner of Residual ({describe(self.inner)}{takes.text}) takes no "
                    f"{name}="
                )
        given = takes.with_key(options, key)
        output = call_part(self.inner, _INNER, takes, (x, *args), given)
        if type(output) is tuple:
            first, *rest = cast("tuple[Any, ...]", output)
            return (self._add(x, first), *rest)
        return self._add(x, output)

    def _add(self, x: Any, output: Any) -> Any:
        """Adds; refuses an output that would be broadcast."""
        if tuple(x.shape) != tuple(output.shape):
            raise ShapeError(
                f"inner of Residual ({describe(self.inner)}) returned shape "
                f"{tuple(output.shape)} for an input of {tuple(x.shape)}, expected the "
                "same shape"
            )
        return x + output


def _list_taken(container: Sequential) -> Takes:
    """Return what layers take: positional arguments of the first one, keywords of all."""
    found = [takes_of(layer) for layer in container]
    if not found:
        return Takes(("x",), ("x",), frozenset({"key"}))
    keywords = frozenset({"key"}).union(*(each.keywords for each in found))
    others = any(each.others for each in found)
    return replace(found[0], keywords=keywords, others=others)


CONTAINERS[Sequential.__call__] = _list_taken


CONTAINERS[Residual.__call__] = lambda residual: takes_of(residual.inner)
