"""A sample of torch's, told as a call of ours."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

FLOATS = ("float32", "float64")


@dataclass(frozen=True)
class Call:
    """What one of our functions is given for a sample.

    Args:
        args: Arrays as torch's tensors, and what else is positional.
        options: Keywords.
        theirs: torch's counterpart over the same `args`; None: its own function on its own
            sample, whose tensors `args` then holds.
        ours_out: Brings our result to the form that is compared.
        theirs_out: The same for torch's.
        ours: Our function where it takes more than one of our operations to say the same.
        followed: The places in `args` by which gradients are compared; None: every float.
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
    """A sample that is not run; `reason` is a name in skips.toml."""

    reason: str


# A call that costs torch's own gradient to prepare is made when it is run.
Late = Callable[[], Call]


@dataclass(frozen=True)
class Operation:
    """One of our functions beside one of torch's.

    Args:
        theirs: The name of an OpInfo, and of its variant behind a slash.
        adapt: Turns the arguments of a sample into a `Call`, now or late, or a `Skip`.
        dtypes: The element types of the samples.
        close: How much wider than usual the comparison is.
    """

    theirs: str
    adapt: Callable[..., Call | Late | Skip]
    dtypes: tuple[str, ...] = FLOATS
    close: float = 1.0


def same(x: Any, *others: Any, **_named: Any) -> Call:
    """Return the sample's tensors, in their order."""
    return Call((x, *others))


def first(out: Any) -> Any:
    """Return the first of several results."""
    return out[0]


def alone(x: Any, *_others: Any, **_named: Any) -> Call:
    """Return the first tensor of the sample only."""
    return Call((x,))
