"""What is alive, by what it is for and by the line that made it."""

from __future__ import annotations

import gc
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from seqloom.tensor._memory._buffer import owner_of
from seqloom.tensor._memory._origin import line_of
from seqloom.tensor._memory._reach import arrays_of_tape, innermost_array
from seqloom.tensor._memory._released import Released
from seqloom.tensor._memory._reserve import reserves

if TYPE_CHECKING:
    from collections.abc import Iterator

    from seqloom.tensor._backend import Array, Backend

    _Claim = tuple[str, str | None, Array, Backend | None]

PURPOSES: tuple[str, ...] = (
    "parameters",
    "buffers",
    "optimiser",
    "gradients",
    "intermediates",
    "reserve",
)
# How many lines the printed table has, the largest first.
_ROWS = 20


@dataclass(frozen=True, slots=True, repr=False)
class Memory:
    """The bytes that arrays take, each piece of memory counted once.

    Attributes:
        by_purpose: Bytes of parameters, buffers, optimiser, gradients and intermediates;
            in reserve is memory that no array is in, and the next one will be.
        by_line: Bytes of intermediates by the line that made them, ``file:line``. What
            only a tape keeps stands beside the line of the result that keeps it.

    Examples:
        >>> Memory({"parameters": 8, "intermediates": 4}, {"step.py:3": 4}).total
        12
    """

    by_purpose: dict[str, int]
    by_line: dict[str, int]

    @property
    def total(self) -> int:
        """All bytes together."""
        return sum(self.by_purpose.values())

    def __str__(self) -> str:
        rows = [*self.by_purpose.items(), ("total", self.total)]
        lines = sorted(self.by_line.items(), key=lambda row: -row[1])
        rows += [(f"  {line}", size) for line, size in lines[:_ROWS]]
        return "\n".join(f"{size:>15,}  {name}" for name, size in rows)

    __repr__ = __str__


def memory() -> Memory:
    """The bytes that arrays take now, by purpose and by creating line.

    It looks at every tensor, parameter, buffer, optimiser state and gradient that is
    alive, in all threads, and at what tapes keep for their derivatives. That takes some
    milliseconds; nothing is counted while a program runs.

    Returns:
        The report; it prints as a table.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([1.0, 2.0])
        >>> before = sl.tensor.memory().by_purpose["intermediates"]
        >>> y = x * 2
        >>> sl.tensor.memory().by_purpose["intermediates"] - before
        8
    """
    by_purpose, by_line = dict.fromkeys(PURPOSES, 0), Counter[str]()
    seen: set[int] = set()
    # Memory is counted for the first purpose that claims it: a parameter's, not its view's.
    for purpose, line, array, backend in _claims():
        owner, size = owner_of(array, backend)
        if owner not in seen:
            seen.add(owner)
            by_purpose[purpose] += size
            if line is not None:
                by_line[line] += size
    by_purpose["reserve"] = sum(kept() for kept in reserves)
    return Memory(by_purpose, dict(by_line))


def _claims() -> Iterator[_Claim]:
    """Every array that is alive, with its purpose; intermediates last, tapes after all."""
    leaves, gradients, tensors = _alive()
    for leaf in sorted(leaves, key=lambda leaf: PURPOSES.index(leaf.purpose)):
        if hasattr(leaf.array, "shape"):
            yield leaf.purpose, None, leaf.array, leaf.backend
    for grads in gradients:
        for array in grads.arrays():
            yield "gradients", None, *innermost_array(array, grads.backend)
    tensors = [each for each in tensors if not isinstance(each.raw, Released)]
    for each in tensors:
        yield _INTERMEDIATES, line_of(each), *innermost_array(each.raw, each.backend)
    for each in tensors:
        for array, backend in arrays_of_tape(each.raw, each.backend):
            yield _INTERMEDIATES, f"{line_of(each)} (tape)", array, backend


_INTERMEDIATES = PURPOSES[4]


def _alive() -> tuple[list[Any], list[Any], list[Any]]:
    """The leaves, the containers of gradients and the tensors that are alive."""
    from seqloom.tensor._gradients import Gradients
    from seqloom.tensor._held import Held
    from seqloom.tensor._leaves import Leaf

    kinds = [_family(kind) for kind in (Leaf, Gradients, Held)]
    every = set[type]().union(*kinds)
    # By exact type: asking an unknown object for its class may run its code.
    found = [each for each in gc.get_objects() if type(each) in every]
    leaves, gradients, tensors = (
        [each for each in found if type(each) in kind] for kind in kinds
    )
    return leaves, gradients, tensors


def _family(kind: type) -> set[type]:
    """A class and all that are derived from it."""
    return {kind}.union(*(_family(each) for each in kind.__subclasses__()))
