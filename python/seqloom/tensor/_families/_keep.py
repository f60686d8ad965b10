"""Functions that select the values that an operation saves for its gradient.

The arguments of each function are the inputs, the output, a tuple of booleans (True for
tracked inputs, which need a gradient), and the options. The functions of this module
return arrays, shapes and numbers.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from seqloom.tensor._elements import Array

Needs: TypeAlias = tuple[bool, ...]
Args: TypeAlias = tuple[Any, ...]
Options: TypeAlias = dict[str, Any]
Shape: TypeAlias = tuple[int, ...]
# The shape and dtype of an input, which are those of its gradient.
ArgSpec: TypeAlias = tuple[Shape, Any]
Specs: TypeAlias = tuple[ArgSpec | None, ...]
# Types of the saved values.
OneArray: TypeAlias = tuple[Array, Options]
Factors: TypeAlias = tuple[Array | None, Array | None, Specs]
Statistics: TypeAlias = tuple[Args, tuple[Array, ...], Options]
OfShape: TypeAlias = tuple[Shape, Args, Options]
Everything: TypeAlias = tuple[Args, Array, Options]


def get_spec(arg: Array) -> ArgSpec:
    """Return the shape and dtype of an array, which are those of its gradient."""
    return arg.shape, arg.dtype


def save_specs(args: Args, _out: Array, needs: Needs, _options: Options) -> Specs:
    """Save the shape and dtype of each tracked input."""
    return tuple(
        [
            (arg.shape, arg.dtype) if need else None
            for arg, need in zip(args, needs, strict=True)
        ]
    )


def save_two_specs(args: Args, _out: Array, needs: Needs, _options: Options) -> Specs:
    """Save the shape and dtype of two inputs; faster than `save_specs`."""
    left, right = args
    one, two = needs
    return (
        (left.shape, left.dtype) if one else None,
        (right.shape, right.dtype) if two else None,
    )


def save_nothing(_args: Args, _out: Array, _needs: Needs, _options: Options) -> tuple[()]:
    """Save nothing."""
    return ()


def save_output(_args: Args, out: Array, _needs: Needs, _options: Options) -> Array:
    """Save the output."""
    return out


def save_output_and_options(
    _args: Args, out: Array, _needs: Needs, options: Options
) -> OneArray:
    """Save the output and the options."""
    return out, options


def save_input(args: Args, _out: Array, _needs: Needs, _options: Options) -> Array:
    """Save the first input."""
    return args[0]


def save_input_spec(args: Args, _out: Array, _needs: Needs, _options: Options) -> ArgSpec:
    """Save the shape and dtype of the first input."""
    return args[0].shape, args[0].dtype


def save_with_options(args: Args, _out: Array, _needs: Needs, options: Options) -> OneArray:
    """Save the first input and the options."""
    return args[0], options


def save_inputs(args: Args, _out: Array, _needs: Needs, _options: Options) -> Args:
    """Save all inputs."""
    return args


def save_all(args: Args, out: Array, _needs: Needs, options: Options) -> Everything:
    """Save the inputs, the output and the options."""
    return args, out, options


def save_factors(args: Args, out: Array, needs: Needs, options: Options) -> Factors:
    """Save each factor if the other factor is tracked, and shapes and dtypes of both."""
    left, right = args
    return (
        left if needs[1] else None,
        right if needs[0] else None,
        save_two_specs(args, out, needs, options),
    )


def save_shape(args: Args, _out: Array, _needs: Needs, _options: Options) -> Shape:
    """Save the shape of the first input."""
    return tuple(args[0].shape)


def save_shape_options(args: Args, _out: Array, _needs: Needs, options: Options) -> OfShape:
    """Save the shape of the first input, the other arguments and the options."""
    return tuple(args[0].shape), args[1:], options


def save_rest(args: Args, _out: Array, _needs: Needs, _options: Options) -> Args:
    """Save all arguments except the first, such as a key and a rate, or indices."""
    return args[1:]


def save_rest_and_options(
    args: Args, _out: Array, _needs: Needs, options: Options
) -> tuple[Args, Options]:
    """Save all arguments except the first, and the options."""
    return args[1:], options


def save_statistics(args: Args, out: Array, _needs: Needs, options: Options) -> Statistics:
    """Save the inputs, the statistics and the options of a norm, but not its output."""
    return args, out[1:], options
