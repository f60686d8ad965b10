"""Rule: the derivative of one operation, as data.

`save` declares what is kept of an operation (raw arrays, shapes, numbers), `pull` turns the
gradient by its output into those by its inputs, written in the functions of the inner
backend alone, so that it works on every backend and can itself be tracked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from seqloom.tensor._defaults import Array, ArrayFunctions
from seqloom.tensor._rules import _keep as keep

Save: TypeAlias = Callable[[keep.Args, Any, keep.Needs, keep.Options], Any]
Parts: TypeAlias = Sequence[Array | None]
Pull: TypeAlias = Callable[[ArrayFunctions, Any, Any, keep.Needs], Parts]

ALL = 1 << 30


@dataclass(frozen=True, slots=True)
class Rule:
    """The derivative of one operation.

    Attributes:
        save: What is kept, from (inputs, output, which inputs are tracked, options).
        pull: The gradients by the inputs, from (backend, what was kept, gradient, needs);
            None, or nothing, where none flows.
        of_sequence: The first argument is a list of arrays.
        tracked: How many of several outputs are tracked, `ALL` for each. With any other
            number than 1, ``pull`` gets a list of gradients, None where none arrived.
        name: The operation's, as errors call it.
    """

    save: Save
    pull: Pull
    of_sequence: bool = False
    tracked: int = 1
    name: str = ""


def by_output(slope: Callable[[ArrayFunctions, Array, Array], Array]) -> Rule:
    """The rule of a function of one input whose derivative needs only its output."""
    return Rule(keep.output, lambda b, out, grad, _: (slope(b, grad, out),))


def by_input(slope: Callable[[ArrayFunctions, Array, Array], Array]) -> Rule:
    """The rule of a function of one input whose derivative needs only that input."""
    return Rule(keep.first, lambda b, x, grad, _: (slope(b, grad, x),))
