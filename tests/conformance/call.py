"""Calls of seqloom functions that are built from PyTorch's OpInfo samples."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

FLOAT_DTYPES = ("float32", "float64")


@dataclass(frozen=True)
class Call:
    """Arguments of a seqloom function, converted from a sample input of PyTorch's OpInfo.

    Args:
        args: Positional arguments; arrays are PyTorch tensors.
        options: Keyword arguments.
        theirs: PyTorch function that is called with the same `args`. If None, the
            OpInfo's function is called with the sample, and `args` must contain the
            sample's tensors.
        ours_out: Function that converts seqloom's result for the comparison.
        theirs_out: Function that converts PyTorch's result for the comparison.
        ours: Function to call instead of the operation, if several operations are
            needed.
        followed: Indices in `args` whose gradients are compared; None for all float
            arrays.
    """

    args: tuple[Any, ...]
    options: dict[str, Any] = field(default_factory=dict)
    theirs: Callable[..., Any] | None = None
    ours_out: Callable[[Any], Any] = lambda out: out
    theirs_out: Callable[[Any], Any] = lambda out: out
    ours: Callable[..., Any] | None = None
    followed: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Skip:
    """A sample that is not run; `reason` is a key in skips.toml."""

    reason: str


# Function that creates a `Call` when the test runs, because PyTorch must first compute
# a gradient.
Late = Callable[[], Call]


@dataclass(frozen=True)
class Operation:
    """PyTorch samples with which a seqloom operation is tested.

    Args:
        theirs: Name of an OpInfo, optionally with a slash and the name of its variant.
        adapt: Function that turns a sample's arguments into a `Call`, `Late` or `Skip`.
        dtypes: Data types of the samples.
        close: Factor by which the usual tolerance is multiplied.
    """

    theirs: str
    adapt: Callable[..., Call | Late | Skip]
    dtypes: tuple[str, ...] = FLOAT_DTYPES
    close: float = 1.0


def same(x: Any, *others: Any, **_named: Any) -> Call:
    """Return a call with all tensors of the sample in the same order."""
    return Call((x, *others))


def first(out: Any) -> Any:
    """Return the first result of a function that returns several results."""
    return out[0]


def alone(x: Any, *_others: Any, **_named: Any) -> Call:
    """Return a call with only the first tensor of the sample."""
    return Call((x,))
