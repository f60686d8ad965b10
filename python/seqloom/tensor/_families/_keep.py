"""What an operation keeps for its derivative: raw arrays, shapes and numbers, nothing else.

Each function takes the inputs, the output, which inputs are tracked and the options.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from seqloom.tensor._elements import Array

Needs: TypeAlias = tuple[bool, ...]
Args: TypeAlias = tuple[Any, ...]
Options: TypeAlias = dict[str, Any]
Shape: TypeAlias = tuple[int, ...]
# The shape and the element type of an input: what its gradient must look like.
Like: TypeAlias = tuple[Shape, Any]
Likes: TypeAlias = tuple[Like | None, ...]
# What the functions below keep.
OneArray: TypeAlias = tuple[Array, Options]
Factors: TypeAlias = tuple[Array | None, Array | None, Likes]
Statistics: TypeAlias = tuple[Args, tuple[Array, ...], Options]
OfShape: TypeAlias = tuple[Shape, Args, Options]
Everything: TypeAlias = tuple[Args, Array, Options]


def like(arg: Array) -> Like:
    """What the gradient by an array must look like."""
    return arg.shape, arg.dtype


def likes(args: Args, _out: Array, needs: Needs, _options: Options) -> Likes:
    """What each followed input looks like."""
    return tuple(
        [
            (arg.shape, arg.dtype) if need else None
            for arg, need in zip(args, needs, strict=True)
        ]
    )


def likes_of_two(args: Args, _out: Array, needs: Needs, _options: Options) -> Likes:
    """As `likes`, of two inputs, by the shortest way."""
    left, right = args
    one, two = needs
    return (
        (left.shape, left.dtype) if one else None,
        (right.shape, right.dtype) if two else None,
    )


def nothing(_args: Args, _out: Array, _needs: Needs, _options: Options) -> tuple[()]:
    """Nothing."""
    return ()


def output(_args: Args, out: Array, _needs: Needs, _options: Options) -> Array:
    """Return the output."""
    return out


def output_and_options(
    _args: Args, out: Array, _needs: Needs, options: Options
) -> OneArray:
    """Return the output and the options."""
    return out, options


def first(args: Args, _out: Array, _needs: Needs, _options: Options) -> Array:
    """Return the first input."""
    return args[0]


def first_like(args: Args, _out: Array, _needs: Needs, _options: Options) -> Like:
    """What the first input looks like."""
    return args[0].shape, args[0].dtype


def first_and_options(args: Args, _out: Array, _needs: Needs, options: Options) -> OneArray:
    """Return the first input and the options."""
    return args[0], options


def inputs(args: Args, _out: Array, _needs: Needs, _options: Options) -> Args:
    """Return all inputs."""
    return args


def everything(args: Args, out: Array, _needs: Needs, options: Options) -> Everything:
    """Return the inputs, the output and the options."""
    return args, out, options


def partners(args: Args, out: Array, needs: Needs, options: Options) -> Factors:
    """Of two factors, the one whose partner is followed; and what both look like."""
    left, right = args
    return (
        left if needs[1] else None,
        right if needs[0] else None,
        likes_of_two(args, out, needs, options),
    )


def shape(args: Args, _out: Array, _needs: Needs, _options: Options) -> Shape:
    """Return the shape of the first input."""
    return tuple(args[0].shape)


def shape_and_options(args: Args, _out: Array, _needs: Needs, options: Options) -> OfShape:
    """Return the shape of the first input, the further arguments and the options."""
    return tuple(args[0].shape), args[1:], options


def further(args: Args, _out: Array, _needs: Needs, _options: Options) -> Args:
    """What follows the first input: a key and a rate, positions, a shape."""
    return args[1:]


def further_and_options(
    args: Args, _out: Array, _needs: Needs, options: Options
) -> tuple[Args, Options]:
    """What follows the first input, and the options."""
    return args[1:], options


def statistics(args: Args, out: Array, _needs: Needs, options: Options) -> Statistics:
    """Return the inputs, the statistics of a norm and the options, but not the output."""
    return args, out[1:], options
