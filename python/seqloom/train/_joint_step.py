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
    """The sums over processes that make their step that of one process with all records."""

    ranks: Ranks
    own: int  # the records of the batch that this process has

    def weigh(self, objective: Callable[..., Any], weight: float) -> Callable[..., Any]:
        """Makes the part of the loss that this process computes."""
        # The mean over all is the mean of means, weighted by what each is the mean of.
        (total,) = self.ranks.sum_numbers(weight)
        share = weight / total if total else math.nan

        def weighted(*args: Any) -> tuple[Any, Any]:
            loss, extra = objective(*args)
            return loss * share, extra

        return weighted

    @contextmanager
    def computing(self) -> Generator[None]:
        """Lets statistics of the batch be those of the whole batch."""
        with self.ranks.sharing(has_records=self.own > 0):
            yield

    def reduce(self, model: Module, grads: Gradients) -> Gradients:
        """Sums the gradients; buffers are those of the first process."""
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
        """Gives the loss, the share of right answers and the numbers of the whole batch."""
        means = {} if right is None else {"right": right}
        means |= {f"number {name}": value for name, value in numbers.items()}
        (value,) = self.ranks.sum_numbers(float(loss.item()))
        found, records = self.ranks.average(means, self.own)
        named = {name: found[f"number {name}"] for name in numbers}
        return Sums(records, value, found.get("right"), named)
