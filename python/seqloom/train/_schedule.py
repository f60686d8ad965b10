"""The learning rate of each step, and how many epochs a run has."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

from seqloom._arguments import quote
from seqloom.errors import ArgumentError
from seqloom.optim import Schedule, WarmupCosine

ScheduleLike: TypeAlias = Schedule | Callable[[int], float]
# The share of the steps in which the learning rate rises.
_WARMUP = 0.1
# The first round, and how many there are at most; each is twice as long as the one before.
FIRST = 20
_ROUNDS = 3
# The best epoch of a first round that is worth another lies behind this share of it.
_LATE = 0.75
# A later round has helped if the validation loss is so much lower.
_HELPED = 0.99


@dataclass(frozen=True, slots=True)
class Round:
    """Epochs over which the learning rate rises and falls once: `start`, to before `end`.

    A run has one round, unless it chooses its number of epochs (`ends_of_rounds`).
    """

    start: int
    end: int

    @classmethod
    def of(cls, epoch: int, ends: list[int]) -> "Round | None":
        """Finds the round of an epoch among rounds with these ends; None after the last."""
        rounds = (cls(start, end) for start, end in pairwise([0, *ends]))
        return next((found for found in rounds if epoch < found.end), None)


def make_rates(
    lr: float,
    schedule: ScheduleLike | None,
    *,
    current: Round,
    count_steps: Callable[[], int],
    history: list[dict[str, Any]],
) -> Callable[[int], float]:
    """Makes the learning rates of the next epoch, as a function of the step of the run."""
    if schedule is not None:
        return _observe(schedule, history)
    # Counted here only: a loader without a length needs a schedule.
    count = count_steps()  # of an epoch
    start, steps = current.start * count, (current.end - current.start) * count
    rates = WarmupCosine(lr, round(_WARMUP * steps), steps)
    return lambda step: rates(step - start)


def check_schedule(schedule: object) -> None:
    """Refuses a schedule that cannot be called, and a class instead of an object."""
    if schedule is None:
        return
    if isinstance(schedule, type) or not callable(schedule):
        raise ArgumentError(
            "schedule must be an object such as sl.optim.CosineDecay(1e-3, total=1000), "
            f"or a function of the step, got {quote(schedule)}"
        )


def describe_schedule(schedule: ScheduleLike | None) -> Any:
    """Describes a schedule by plain values, so that a resumed run notices a change."""
    if schedule is None:
        return None
    return schedule.to_dict() if isinstance(schedule, Schedule) else name_of(schedule)


def _observe(schedule: Any, history: list[dict[str, Any]]) -> Callable[[int], float]:
    """Shows the losses of all epochs so far to a schedule that asks for them."""
    # From the history, which a checkpoint holds: a resumed run sees the same losses.
    if hasattr(schedule, "observe"):
        for row in history:
            schedule = schedule.observe(row.get("valid_loss", row["train_loss"]))
    return schedule


def ends_of_rounds(epochs: int | None, history: list[dict[str, Any]]) -> list[int]:
    """Says after which epochs the learning rate has fallen to nothing."""
    if epochs is not None:
        return [epochs]
    ends = [FIRST]
    while len(history) >= ends[-1] and len(ends) < _ROUNDS and _is_improving(history, ends):
        ends.append(ends[-1] + FIRST * 2 ** len(ends))
    return ends


def most_epochs(epochs: int | None, *, has_valid: bool) -> int:
    """Says how many epochs a run has at most."""
    if epochs is not None:
        return epochs
    return FIRST * (2**_ROUNDS - 1) if has_valid else FIRST


def _is_improving(history: list[dict[str, Any]], ends: list[int]) -> bool:
    """Says whether the validation loss fell in the last round, and may fall further."""
    if "valid_loss" not in history[0]:
        return False
    losses = [float(row["valid_loss"]) for row in history[: ends[-1]]]
    start = ends[-2] if len(ends) > 1 else 0
    before, here = losses[:start], losses[start:]
    if before:
        return min(here) < _HELPED * min(before)
    return losses.index(min(here)) + 1 > _LATE * ends[-1]


def name_of(value: Any) -> str:
    """Gives module and name of a function, or of the class of another object."""
    name = getattr(value, "__qualname__", type(value).__qualname__)
    return f"{value.__module__}.{name}"
