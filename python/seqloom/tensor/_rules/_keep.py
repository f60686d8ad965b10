"""What an operation keeps for its derivative: raw arrays, shapes and numbers, nothing else.

Each function takes the inputs, the output, which inputs are followed and the options.
"""

from __future__ import annotations

from typing import Any

Needs = tuple[bool, ...]
Args = tuple[Any, ...]
Options = dict[str, Any]


def shapes(args: Args, _out: Any, _needs: Needs, _options: Options) -> Any:
    """Only the shapes of the inputs."""
    return tuple(shape_of(arg) for arg in args)


def output(_args: Args, out: Any, _needs: Needs, _options: Options) -> Any:
    """The output."""
    return out


def first(args: Args, _out: Any, _needs: Needs, _options: Options) -> Any:
    """The first input."""
    return args[0]


def operands(args: Args, _out: Any, needs: Needs, options: Options) -> Any:
    """The input if the weight is followed, the weight if the input is, and their shapes."""
    x, weight, *_ = args
    kept = x if any(needs[1:]) else None, weight if needs[0] else None
    return kept, (x.shape, weight.shape), options


def everything(args: Args, out: Any, _needs: Needs, options: Options) -> Any:
    """The inputs, the output and the options."""
    return args, out, options


def partners(args: Args, _out: Any, needs: Needs, _options: Options) -> Any:
    """Of two factors, the one whose partner is followed; and both shapes."""
    left, right = args
    return (
        left if needs[1] else None,
        right if needs[0] else None,
        shape_of(left),
        shape_of(right),
    )


def shape_and_options(
    args: tuple[Any, ...], _out: Any, _needs: Needs, options: Options
) -> Any:
    """The shape of the first input, the further arguments and the options."""
    return shape_of(args[0]), args[1:], options


def shape_of(arg: Any) -> tuple[int, ...]:
    """The shape of an array; a number has none."""
    return getattr(arg, "shape", ())


def second_output(_args: Args, out: Any, _needs: Needs, _options: Options) -> Any:
    """The second output: the derivative that a fused kernel has written already."""
    return out[1]


def places_and_shape(
    args: tuple[Any, ...], out: Any, _needs: Needs, _options: Options
) -> Any:
    """Where each maximum stood, and the shape of the input."""
    return out[1], args[0].shape


def inputs_and_statistics(args: Args, out: Any, _needs: Needs, options: Options) -> Any:
    """The inputs, the statistics and the options, but not the normalised output."""
    return args, (None, *out[1:]), options


def key_and_rate(args: Args, _out: Any, _needs: Needs, _options: Options) -> Any:
    """Only the key and the rate: the mask is made again from them."""
    return args[1:]
