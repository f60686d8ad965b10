"""The processes that train one network together: by default one, which is alone."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from seqloom._arguments import quote
from seqloom.errors import ArgumentError
from seqloom.models import TorchModule
from seqloom.nn._joint import joined
from seqloom.nn._stored import Stored

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from numpy.typing import NDArray

    from seqloom.nn import Module
    from seqloom.tensor._backend import Array, Backend

Result = TypeVar("Result")


@dataclass(slots=True)
class Ranks:
    """This process among those that train together.

    Each has the same weights, reads its part of each batch, and knows the sums over all.
    """

    number: int = 0
    world: int = 1
    # Whether a record of the batch belongs to this process; if not, it computes with the
    # record of another one, which does not count.
    has_records: bool = True

    @property
    def is_first(self) -> bool:
        """Whether this process writes, prints and reports."""
        return self.number == 0

    @property
    def are_several(self) -> bool:
        """Whether there are other processes."""
        return self.world > 1

    @contextmanager
    def sharing(self, *, has_records: bool = True) -> Generator[None]:
        """Let modules and scores be computed by all processes together in the block."""
        self.has_records = has_records
        with joined(self if self.are_several else None):
            yield

    def count_own(self, records: int) -> int:
        """Count the records of a batch that this process reads."""
        return len(range(self.number, records, self.world))

    def on_first(self, work: Callable[[], Result]) -> Result | None:
        """Run work in the first process only; an error there is raised in all."""
        return work()

    def sum_array(self, array: Array, backend: Backend) -> Array:
        """Sum an array over all processes."""
        del backend  # of other processes
        return array

    def sum_arrays(self, arrays: list[Array], backend: Backend) -> list[Array]:
        """Sum many arrays over all processes, in buckets."""
        del backend  # of other processes
        return arrays

    def sum_numbers(self, *numbers: float) -> list[float]:
        """Sum numbers over all processes."""
        return list(numbers)

    def average(self, means: dict[str, float], count: int) -> tuple[dict[str, float], int]:
        """Average means over the records of all processes, and counts these."""
        if not self.are_several:
            return means, count
        parts = [value * count for value in means.values()]
        records, *sums = self.sum_numbers(count, *parts)
        found = (total / max(records, 1) for total in sums)
        return dict(zip(means, found, strict=True)), int(records)

    def sum_values(self, values: NDArray[Any]) -> NDArray[Any]:
        """Sum a NumPy array over all processes."""
        return values

    def take_first(self, model: Module) -> None:
        """Copy the parameters and buffers of the first process to all."""
        if not self.are_several:
            return
        parts = [part for _, part in model.named(Stored)]
        backend = parts[0].value.backend
        arrays = self.mask_others([part.value.raw for part in parts], backend)
        summed = self.sum_arrays(arrays, backend)
        for part, array in zip(parts, summed, strict=True):
            part.put(array)
        if isinstance(model, TorchModule):
            model.update_torch()

    def mask_others(self, arrays: list[Array], backend: Backend) -> list[Array]:
        """Return zeros in all processes but the first, so that a sum gives its values."""
        return arrays if self.is_first else [backend.zeros_like(it) for it in arrays]

    def require_same(self, facts: object) -> None:
        """Refuse processes that were called with other data or settings."""


def are_started() -> bool:
    """Return whether there are several processes: torchrun's, or those a program joined."""
    group: Any = sys.modules.get("torch.distributed")
    # Another thread may be importing torch at this moment.
    if getattr(group, "is_initialized", bool)():
        return group.get_world_size() > 1
    return "RANK" in os.environ and _read_number("WORLD_SIZE", 1) > 1


def choose_device(backend: object) -> Any:
    """Return each process of a machine a GPU of its own, where none is named."""
    if backend == "torch:cuda" and are_started():
        return f"torch:cuda:{_read_number('LOCAL_RANK', 0)}"
    return backend


def _read_number(name: str, default: int) -> int:
    """Read what torchrun has set."""
    text = os.environ.get(name, str(default))
    if not text.isdecimal():
        raise ArgumentError(
            f"the variable {name} must be a number, as torchrun sets it, got {quote(text)}"
        )
    return int(text)
