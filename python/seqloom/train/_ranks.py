"""Communication between the processes (ranks) that train one network together."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from seqloom._arguments import quote
from seqloom.errors import ArgumentError
from seqloom.models import TorchModule
from seqloom.nn._parameters import ModuleArray
from seqloom.nn._processes import set_batch_processes

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from numpy.typing import NDArray

    from seqloom.nn import Module
    from seqloom.tensor._backend import Array, Backend

Result = TypeVar("Result")


@dataclass(slots=True)
class Ranks:
    """The rank of this process among the processes that train together.

    All processes have the same weights. Each process reads a fraction of every batch
    and receives sums over all processes.
    """

    number: int = 0
    world: int = 1
    # False if the batch has no record for this process, which then computes with
    # another record of weight 0.
    has_records: bool = True

    @property
    def is_first(self) -> bool:
        """True if this process writes files and reports progress."""
        return self.number == 0

    @property
    def are_several(self) -> bool:
        """True if there are other processes."""
        return self.world > 1

    @contextmanager
    def sharing(self, *, has_records: bool = True) -> Generator[None]:
        """Let all processes compute scores together within a ``with`` block."""
        self.has_records = has_records
        with set_batch_processes(self if self.are_several else None):
            yield

    def count_local_records(self, records: int) -> int:
        """Return the number of records of a batch that this process reads."""
        return len(range(self.number, records, self.world))

    def on_first(self, work: Callable[[], Result]) -> Result | None:
        """Call a function only in the first process; raise its error in all processes."""
        return work()

    def sum_array(self, array: Array, backend: Backend) -> Array:
        """Sum an array over all processes."""
        del backend
        return array

    def sum_arrays(self, arrays: list[Array], backend: Backend) -> list[Array]:
        """Sum many arrays over all processes, several arrays in each operation."""
        del backend
        return arrays

    def sum_numbers(self, *numbers: float) -> list[float]:
        """Sum numbers over all processes."""
        return list(numbers)

    def average(self, means: dict[str, float], count: int) -> tuple[dict[str, float], int]:
        """Return the means over the records of all processes, and the number of records."""
        if not self.are_several:
            return means, count
        parts = [value * count for value in means.values()]
        records, *sums = self.sum_numbers(count, *parts)
        found = (total / max(records, 1) for total in sums)
        return dict(zip(means, found, strict=True)), int(records)

    def sum_values(self, values: NDArray[Any]) -> NDArray[Any]:
        """Sum a NumPy array over all processes."""
        return values

    def copy_first(self, model: Module) -> None:
        """Copy the parameters and buffers of the first process to all processes."""
        if not self.are_several:
            return
        parts = [part for _, part in model.named(ModuleArray)]
        backend = parts[0].value.backend
        arrays = self.zeros_unless_first([part.value.raw for part in parts], backend)
        summed = self.sum_arrays(arrays, backend)
        for part, array in zip(parts, summed, strict=True):
            part.put(array)
        if isinstance(model, TorchModule):
            model.update_torch()

    def zeros_unless_first(self, arrays: list[Array], backend: Backend) -> list[Array]:
        """Return the values in the first process and zeros in all others, to be summed."""
        return arrays if self.is_first else [backend.zeros_like(it) for it in arrays]

    def require_same(self, facts: object) -> None:
        """Raise if processes were called with different data or settings."""


def have_several_processes() -> bool:
    """Return whether torchrun or a PyTorch process group provides several processes."""
    group: Any = sys.modules.get("torch.distributed")
    # The module may be incomplete if another thread is importing PyTorch.
    if getattr(group, "is_initialized", bool)():
        return group.get_world_size() > 1
    return "RANK" in os.environ and _read_number("WORLD_SIZE", 1) > 1


def choose_device(backend: object) -> Any:
    """Choose a different GPU for each process of a machine, unless the user chose a GPU."""
    if backend == "torch:cuda" and have_several_processes():
        return f"torch:cuda:{_read_number('LOCAL_RANK', 0)}"
    return backend


def _read_number(name: str, default: int) -> int:
    """Read an environment variable that torchrun sets."""
    text = os.environ.get(name, str(default))
    if not text.isdecimal():
        raise ArgumentError(
            f"the variable {name} must be a number, as torchrun sets it, got {quote(text)}"
        )
    return int(text)
