"""Generators of random numbers that a step reads by name, and draws from while captured.

What is drawn there would be one number in the program, the same at every call.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.errors import CaptureError

if TYPE_CHECKING:
    from collections.abc import Iterable


def generators(values: Iterable[Any]) -> list[tuple[Any, Any]]:
    """The generators among values, each with what it will draw.

    Args:
        values: What a step reads from around it.

    Returns:
        Pairs of a generator and its state.
    """
    return [(each, state) for each in values if (state := _state(each)) is not None]


def require_undrawn(before: list[tuple[Any, Any]]) -> None:
    """Refuses a step that has drawn from a generator since.

    Args:
        before: What `generators` gave before the step ran.

    Raises:
        CaptureError: A generator is in another state.
    """
    for generator, state in before:
        if _state(generator) != state:
            raise CaptureError(
                f"the compiled step draws from a {type(generator).__name__} that it reads "
                "from around it; the program would hold that draw and give it at every "
                "call. Draw before the step and pass the numbers, or use a key (sl.Key)"
            )


def _state(value: Any) -> Any:
    """What a generator will draw; None for anything else."""
    if isinstance(value, np.random.Generator):
        return repr(value.bit_generator.state)
    if isinstance(value, np.random.RandomState):
        return repr(value.get_state(legacy=False))
    if isinstance(value, random.Random):  # noqa: S311  # the user's
        return value.getstate()
    return None
