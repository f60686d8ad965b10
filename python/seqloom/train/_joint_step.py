"""One step that several processes make together."""

import math
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from seqloom.nn import Buffer, Module
from seqloom.tensor import Gradients
from seqloom.train._ranks import Ranks


@dataclass(frozen=True, slots=True)
class Sums:
    """What a step gave, over all processes."""

    records: int
    loss: float
    right: float | None
    numbers: dict[str, float]


@dataclass(frozen=True, slots=True)
class JointStep:
    """Sums over processes, by which their step equals that of one process alone."""

    ranks: Ranks
    own: int  # the records of the batch that this process has

    def weigh(
        self, objective: Callable[..., Any], weight: float
    ) -> tuple[Callable[..., Any], float]:
        """Returns this process's term of the loss, and the sum of all weights."""
        # The mean over all records is the weighted mean of the means of the processes.
        (total,) = self.ranks.sum_numbers(weight)
        share = weight / total if total else math.nan

        def weighted(*args: Any) -> tuple[Any, Any]:
            loss, extra = objective(*args)
            return loss * share, extra

        return weighted, total

    @contextmanager
    def computing(self) -> Generator[None]:
        """Computes statistics, as of batch normalisation, over the whole batch."""
        with self.ranks.sharing(has_records=self.own > 0):
            yield

    def reduce(self, model: Module, grads: Gradients) -> Gradients:
        """Sums the gradients, and copies the buffers of the first process to all."""
        backend = grads.backend
        ids = [p.id for _, p in model.parameters() if grads.get(p.id) is not None]
        arrays = [grads.get(number) for number in ids]
        buffers = [part for _, part in model.named(Buffer)]
        own = self.ranks.mask_others([it.value.raw for it in buffers], backend)
        summed = self.ranks.sum_arrays([*arrays, *own], backend)
        for buffer, array in zip(buffers, summed[len(ids) :], strict=True):
            buffer.put(array)
        return Gradients(dict(zip(ids, summed, strict=False)), backend)

    def sum_up(self, loss: Any, right: float | None, numbers: dict[str, float]) -> Sums:
        """Computes loss, accuracy and further numbers of the batch of all processes."""
        means = {} if right is None else {"right": right}
        means |= {f"number {name}": value for name, value in numbers.items()}
        (value,) = self.ranks.sum_numbers(float(loss.item()))
        found, records = self.ranks.average(means, self.own)
        named = {name: found[f"number {name}"] for name in numbers}
        return Sums(records, value, found.get("right"), named)
