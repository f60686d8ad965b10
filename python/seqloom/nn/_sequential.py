"""Sequential and Residual: chains of layers, and skip connections."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from seqloom.errors import ArgumentError, OutOfRangeError, ShapeError
from seqloom.nn._call_arguments import (
    AcceptedArguments,
    add_layer_note,
    call_layer,
    find_accepted_args,
    get_layer_name,
    unpack_output,
)
from seqloom.nn._module import Module
from seqloom.nn._submodules import ARGUMENT_FINDERS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from seqloom._key import Key

_LAYER_LABEL = "layer {} of Sequential"
_INNER_LABEL = ("inner of Residual", "")


class Sequential(Module):
    """Chain of layers: each layer is called with the output of the previous layer.

    A layer is a module that defines ``__call__`` or ``forward``, or a function. The
    arguments of a layer depend on its signature:

    - The first layer receives the positional arguments of the call. A tuple that a
      layer returns is unpacked if the next layer has more than one positional argument.
      If the next layer has one positional argument, the tuple is passed as this
      argument.
    - A keyword such as ``mask=`` is passed to each layer that accepts the keyword.
    - A layer with an argument ``key`` receives ``key.fold(index)``, where `index` is
    its position in the chain.

    Args:
        *layers: Modules or functions, or one dict of modules and functions. The keys of
            the dict are the names of the layers: ``net["conv"]`` is a layer, and
            ``layers.conv.weight`` is the path of a parameter.

    Raises:
        ArgumentError: A layer is not callable. A call of the network raises
            ArgumentError if a layer has too few or too many arguments, or if no layer
            accepts a keyword.

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

    layers: Any  # list of layers, or dict: name -> layer

    def __init__(self, *layers: Callable[..., Any] | Mapping[str, Any]) -> None:
        keywords: list[Any] = list(layers)
        is_named = len(keywords) == 1 and isinstance(keywords[0], dict)
        self.layers = {**keywords[0]} if is_named else keywords
        for name, layer in self._named_layers():
            if not callable(layer):
                raise ArgumentError(
                    f"layer {name} of Sequential must be a module or a function, got a "
                    f"{type(layer).__name__}"
                )

    def __call__(self, *args: Any, key: Key | None = None, **options: Any) -> Any:
        """Call the layers one after the other.

        Args:
            *args: Positional arguments of the first layer.
            key: Random key for the layers that accept an argument `key`.
            **options: Keyword arguments, each passed to the layers that accept it.

        Returns:
            The output of the last layer.

        Raises:
            ArgumentError: A layer has too few or too many arguments, or no layer accepts
                a keyword.
        """
        if options:
            signatures = [find_accepted_args(layer) for layer in self]
            for name in options:
                if not any(accepted.accepts(name) for accepted in signatures):
                    raise ArgumentError(
                        f"no layer of Sequential takes {name}=; its layers: "
                        + ", ".join(
                            f"{get_layer_name(layer)}{accepted.signature}"
                            for layer, accepted in zip(self, signatures, strict=True)
                        )
                    )
        output: Any = args[0] if len(args) == 1 else args
        is_plain = not options and key is None
        for index, (name, layer) in enumerate(self._named_layers()):
            accepted = find_accepted_args(layer)
            if is_plain and accepted.accepts_single and type(output) is not tuple:
                try:
                    output = layer(output)
                except Exception as error:
                    add_layer_note(error, layer, (_LAYER_LABEL, name))
                    raise
                continue
            values = unpack_output(cast("object", output), accepted) if index else args
            keywords = accepted.add_random_key(options, key and key.fold(index))
            output = call_layer(layer, (_LAYER_LABEL, name), accepted, values, keywords)
        return output

    def _named_layers(self) -> Iterable[tuple[str | int, Any]]:
        """Return pairs of the name or index of a layer, and the layer."""
        if isinstance(self.layers, dict):
            return cast("dict[str, Any]", self.layers).items()
        return enumerate(cast("list[Any]", self.layers))

    def __len__(self) -> int:
        return len(self.layers)

    def __bool__(self) -> bool:
        return True  # `bool(net)` is True, even without layers

    def __iter__(self) -> Iterator[Any]:
        return (layer for _, layer in self._named_layers())

    def __getitem__(self, index: int | str | slice) -> Any:
        """Return a layer; for a slice, a Sequential that shares the layers."""
        pairs = list(self._named_layers())
        if isinstance(index, slice):
            chosen: dict[Any, Any] = dict(pairs[index])
            is_named = isinstance(self.layers, dict)
            return Sequential(chosen) if is_named else Sequential(*chosen.values())
        if isinstance(index, str):
            return self._find_layer(index)
        if not -len(pairs) <= index < len(pairs):
            raise OutOfRangeError(
                f"layer {index} is out of range: Sequential has {len(pairs)} layers"
            )
        return pairs[index][1]

    def _find_layer(self, name: str) -> Any:
        """Return the layer with a name."""
        layers = cast(
            "dict[str, Any]", self.layers if isinstance(self.layers, dict) else {}
        )
        if name not in layers:
            names = ", ".join(map(repr, layers)) or "none, because the layers are a list"
            raise OutOfRangeError(f"Sequential has no layer {name!r}; its names: {names}")
        return layers[name]


class Residual(Module):
    """Skip connection: ``x + inner(x)`` (He et al. 2016).

    Keyword arguments and further positional arguments are passed to `inner` if it accepts
    them. If `inner` returns a tuple, the input is added to the first item.

    Args:
        inner: Module or function whose output has the shape of its input.

    Raises:
        ArgumentError: `inner` is not callable, or an argument of `inner` is missing in
            a call.
        ShapeError: In a call, the output of `inner` does not have the shape of the
            input.

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
            x: Input, which is also added to the output.
            *args: Further positional arguments of `inner`.
            key: Random key, if `inner` accepts an argument `key`.
            **options: Keyword arguments of `inner`.

        Returns:
            A tensor of the shape of `x`, or a tuple that begins with such a tensor.

        Raises:
            ArgumentError: An argument of `inner` is missing, or `inner` does not accept
                an argument.
            ShapeError: The output does not have the shape of `x`.
        """
        accepted = find_accepted_args(self.inner)
        for name in options:
            if not accepted.accepts(name):
                raise ArgumentError(
                    f"inner of Residual ({get_layer_name(self.inner)}{accepted.signature}) "
                    f"takes no {name}=; omit it"
                )
        keywords = accepted.add_random_key(options, key)
        output = call_layer(self.inner, _INNER_LABEL, accepted, (x, *args), keywords)
        if type(output) is tuple:
            first, *rest = cast("tuple[Any, ...]", output)
            return (self._add_output(x, first), *rest)
        return self._add_output(x, output)

    def _add_output(self, x: Any, output: Any) -> Any:
        """Return the sum; raise if the output would be broadcast."""
        if tuple(x.shape) != tuple(output.shape):
            raise ShapeError(
                f"inner of Residual ({get_layer_name(self.inner)}) returned shape "
                f"{tuple(output.shape)} for an input of {tuple(x.shape)}, expected the "
                "same shape"
            )
        return x + output


def _find_common_arguments(container: Sequential) -> AcceptedArguments:
    """Return positional arguments of the first layer, and keywords of all layers."""
    signatures = [find_accepted_args(layer) for layer in container]
    if not signatures:
        return AcceptedArguments(("x",), ("x",), frozenset({"key"}))
    keywords = frozenset({"key"}).union(*(signature.keywords for signature in signatures))
    has_var_keyword = any(signature.has_var_keyword for signature in signatures)
    return replace(signatures[0], keywords=keywords, has_var_keyword=has_var_keyword)


ARGUMENT_FINDERS[Sequential.__call__] = _find_common_arguments


ARGUMENT_FINDERS[Residual.__call__] = lambda residual: find_accepted_args(residual.inner)
