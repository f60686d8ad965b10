"""Learning rate schedules."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Self

from seqloom._config import JsonConfig
from seqloom.errors import ArgumentError


class Schedule(JsonConfig, ABC):
    """Base class of schedules: settings that determine the learning rate of each step.

    A schedule does not count steps: call it with the number of a step, and pass the
    learning rate to `Optimizer.step`. A subclass is a frozen dataclass that defines
    ``__call__``; `to_json` and `from_json` save and restore it.

    Examples:
        >>> from dataclasses import dataclass
        >>> import seqloom as sl
        >>> @dataclass(frozen=True)
        ... class Inverse(sl.optim.Schedule):
        ...     lr: float
        ...
        ...     def __call__(self, step):
        ...         return self.lr / (1 + step)
        >>> sl.optim.Schedule.from_json(Inverse(0.1).to_json())(4)
        0.02
    """

    @abstractmethod
    def __call__(self, step: int) -> float:
        """Return the learning rate of a step.

        Args:
            step: Number of the step; the first step has number 0.

        Returns:
            The learning rate.
        """


@dataclass(frozen=True, slots=True)
class Constant(Schedule):
    """Constant learning rate.

    Attributes:
        lr: Learning rate.

    Examples:
        >>> Constant(1e-3)(17)
        0.001
    """

    lr: float

    def __call__(self, step: int) -> float:  # noqa: ARG002
        """Return the learning rate."""
        return self.lr


@dataclass(frozen=True, slots=True)
class LinearDecay(Schedule):
    """Learning rate that changes linearly and is constant afterwards.

    If ``end`` is above ``start``, the schedule is a linear warmup.

    Attributes:
        start: Learning rate of step 0.
        end: Learning rate from step ``total`` on.
        total: Number of steps from ``start`` to ``end``, 1 or more.

    Examples:
        >>> [LinearDecay(start=1.0, end=0.0, total=4)(step) for step in (0, 1, 4, 9)]
        [1.0, 0.75, 0.0, 0.0]
    """

    start: float
    end: float
    total: int

    def __post_init__(self) -> None:
        _check_number("total", self.total, 1)

    def __call__(self, step: int) -> float:
        """Return the learning rate of a step, counted from 0."""
        return self.start + (self.end - self.start) * min(step / self.total, 1.0)


@dataclass(frozen=True, slots=True)
class CosineDecay(Schedule):
    """Learning rate that decays along half a cosine wave (Loshchilov and Hutter 2017).

    Attributes:
        start: Learning rate of step 0.
        total: Number of steps until ``floor`` is reached, 1 or more.
        floor: Learning rate from step ``total`` on.

    Examples:
        >>> [round(CosineDecay(1.0, total=4)(step), 3) for step in (0, 1, 2, 4, 9)]
        [1.0, 0.854, 0.5, 0.0, 0.0]
    """

    start: float
    total: int
    floor: float = 0.0

    def __post_init__(self) -> None:
        _check_number("total", self.total, 1)

    def __call__(self, step: int) -> float:
        """Return the learning rate of a step, counted from 0."""
        return _interpolate_cosine(self.start, self.floor, min(step / self.total, 1.0))


@dataclass(frozen=True, slots=True)
class WarmupCosine(Schedule):
    """Linear warmup followed by cosine decay (Loshchilov and Hutter 2017).

    Attributes:
        peak: Highest learning rate, reached at step ``warmup``.
        warmup: Number of warmup steps, 0 or more.
        total: Number of all steps; later steps use ``floor``.
        floor: Lowest learning rate.

    Examples:
        >>> schedule = WarmupCosine(peak=1.0, warmup=2, total=10)
        >>> [round(schedule(step), 3) for step in (0, 1, 2, 6, 10)]
        [0.333, 0.667, 1.0, 0.5, 0.0]
    """

    peak: float
    warmup: int
    total: int
    floor: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.warmup <= self.total:
            raise ArgumentError(
                f"warmup must be from 0 to total={self.total}, got {self.warmup}"
            )

    def __call__(self, step: int) -> float:
        """Return the learning rate of a step, counted from 0."""
        if step < self.warmup:
            return self.peak * (step + 1) / (self.warmup + 1)
        done = min((step - self.warmup) / max(self.total - self.warmup, 1), 1.0)
        return _interpolate_cosine(self.peak, self.floor, done)


@dataclass(frozen=True, slots=True)
class OneCycle(Schedule):
    """Learning rate that rises to a peak, then decays far below its start (Smith 2018).

    The schedule corresponds to PyTorch's ``OneCycleLR`` with cosine annealing.

    Attributes:
        peak: Highest learning rate.
        total: Number of all steps, 2 or more; the last step has the lowest learning
            rate.
        rise: Fraction of the steps before the peak, in (0, 1).
        start_divisor: The initial learning rate is ``peak / start_divisor``.
        end_divisor: The final learning rate is ``peak / start_divisor / end_divisor``.

    Examples:
        >>> [round(OneCycle(1.0, total=10, rise=0.5)(step), 3) for step in (0, 2, 4, 9)]
        [0.04, 0.52, 1.0, 0.0]
    """

    peak: float
    total: int
    rise: float = 0.3
    start_divisor: float = 25.0
    end_divisor: float = 1e4

    def __post_init__(self) -> None:
        _check_number("total", self.total, 2)
        if not 0 < self.rise < 1:
            raise ArgumentError(f"rise must be between 0 and 1, got {self.rise}")
        if self.rise * self.total <= 1:
            raise ArgumentError(
                f"rise={self.rise} of total={self.total} steps is less than one step; pass "
                "a larger rise or total"
            )

    def __call__(self, step: int) -> float:
        """Return the learning rate of a step, counted from 0."""
        start, top = self.peak / self.start_divisor, self.rise * self.total - 1
        if step <= top:
            return _interpolate_cosine(start, self.peak, step / top)
        done = min((step - top) / (self.total - 1 - top), 1.0)
        return _interpolate_cosine(self.peak, start / self.end_divisor, done)


@dataclass(frozen=True, slots=True)
class ExponentialDecay(Schedule):
    """Exponential decay: each step multiplies the learning rate by a factor.

    Attributes:
        start: Learning rate of step 0.
        factor: Factor by which each step multiplies the learning rate, above 0.

    Examples:
        >>> [ExponentialDecay(start=1.0, factor=0.5)(step) for step in (0, 1, 3)]
        [1.0, 0.5, 0.125]
    """

    start: float
    factor: float

    def __post_init__(self) -> None:
        _check_number("factor", self.factor)

    def __call__(self, step: int) -> float:
        """Return the learning rate of a step, counted from 0."""
        return self.start * self.factor**step


@dataclass(frozen=True, slots=True)
class StepDecay(Schedule):
    """Step decay: multiplies the learning rate by a factor at regular intervals.

    Attributes:
        start: Learning rate of step 0.
        every: Number of steps between two changes, 1 or more.
        factor: Factor by which each change multiplies the learning rate, above 0.

    Examples:
        >>> [StepDecay(start=1.0, every=10, factor=0.5)(step) for step in (0, 9, 10, 25)]
        [1.0, 1.0, 0.5, 0.25]
    """

    start: float
    every: int
    factor: float = 0.1

    def __post_init__(self) -> None:
        _check_number("every", self.every, 1)
        _check_number("factor", self.factor)

    def __call__(self, step: int) -> float:
        """Return the learning rate of a step, counted from 0."""
        return self.start * self.factor ** (step // self.every)


@dataclass(frozen=True, slots=True)
class Noam(Schedule):
    """Linear warmup, then decay with the inverse square root (Vaswani et al. 2017).

    Attributes:
        width: Number of features of the model (d_model), 1 or more.
        warmup: Number of warmup steps, 1 or more.
        factor: Factor by which all learning rates are multiplied, above 0.

    Examples:
        >>> [round(Noam(512, warmup=4000)(step), 6) for step in (0, 3999, 15999)]
        [0.0, 0.000699, 0.000349]
    """

    width: int
    warmup: int
    factor: float = 1.0

    def __post_init__(self) -> None:
        _check_number("width", self.width, 1)
        _check_number("warmup", self.warmup, 1)
        _check_number("factor", self.factor)

    def __call__(self, step: int) -> float:
        """Return the learning rate of a step, counted from 0."""
        number = step + 1
        scale = min(number**-0.5, number * self.warmup**-1.5)
        return self.factor * self.width**-0.5 * scale


@dataclass(frozen=True, slots=True)
class Plateau(Schedule):
    """Learning rate that is reduced when a metric stops improving.

    The schedule follows the rules of PyTorch's ``ReduceLROnPlateau``. A schedule
    never changes; `observe` returns a new schedule. A saved schedule that is loaded
    again continues with the same best value and counts.

    Attributes:
        lr: Current learning rate.
        factor: Factor by which each reduction multiplies the learning rate, in (0, 1).
        patience: Number of consecutive values without improvement before a reduction, 0
            or more.
        threshold: Smallest relative change of the best value that counts as an improvement.
        highest: If True, higher values are better, as for an accuracy.
        floor: Lowest learning rate.
        best: Best value so far; None before the first value.
        waited: Number of values since the last improvement or reduction.

    Examples:
        >>> schedule = Plateau(0.1, patience=1)
        >>> for loss in (1.0, 0.9, 0.9, 0.9):
        ...     schedule = schedule.observe(loss)
        >>> round(schedule(4), 3)
        0.01
    """

    lr: float
    factor: float = 0.1
    patience: int = 10
    threshold: float = 1e-4
    highest: bool = False
    floor: float = 0.0
    best: float | None = None
    waited: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.factor < 1:
            raise ArgumentError(f"factor must be between 0 and 1, got {self.factor}")
        _check_number("patience", self.patience, 0)

    def __call__(self, step: int) -> float:  # noqa: ARG002
        """Return the current learning rate."""
        return self.lr

    def observe(self, value: float) -> Self:
        """Return the schedule after another value of the metric, such as a validation loss.

        Args:
            value: Value of the metric; NaN is not an improvement.

        Returns:
            A new schedule; the old schedule does not change.

        Examples:
            >>> import seqloom as sl
            >>> sl.optim.Plateau(0.1, patience=0).observe(1.0).observe(2.0).lr
            0.010000000000000002
        """
        sign = 1 if self.highest else -1
        best = self.best
        if best is None or math.isnan(best):
            best = -sign * math.inf
        # Comparisons with NaN are false.
        if sign * value > sign * best * (1 + sign * self.threshold):
            return replace(self, best=value, waited=0)
        if self.waited < self.patience:
            return replace(self, waited=self.waited + 1)
        return replace(self, lr=max(self.lr * self.factor, self.floor), waited=0)


@dataclass(frozen=True)
class Chain(Schedule):
    """Sequence of schedules: each schedule runs for a number of steps, counted from 0.

    Attributes:
        schedules: Schedules in the order of their use, at least one.
        lengths: Number of steps of each schedule except the last.

    Raises:
        ArgumentError: The number of `lengths` is not the number of `schedules` minus
            one, or a length is not an integer.

    Examples:
        >>> import seqloom as sl
        >>> warmup = sl.optim.LinearDecay(0.0, 1.0, total=2)
        >>> schedule = sl.optim.Chain((warmup, sl.optim.Constant(1.0)), (2,))
        >>> [schedule(step) for step in (0, 1, 2, 9)]
        [0.0, 0.5, 1.0, 1.0]
    """

    schedules: tuple[Schedule, ...]
    lengths: tuple[int, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "schedules", tuple(self.schedules))
        object.__setattr__(self, "lengths", tuple(self.lengths))
        if not self.schedules:
            raise ArgumentError("a chain needs at least one schedule, got none")
        if len(self.lengths) != len(self.schedules) - 1:
            raise ArgumentError(
                "lengths must have one number for each schedule except the last, got "
                f"{len(self.lengths)} lengths for {len(self.schedules)} schedules"
            )
        for length in self.lengths:
            _check_number("every number in lengths", length, 1)

    def __call__(self, step: int) -> float:
        """Return the learning rate of a step, counted from 0."""
        for schedule, length in zip(self.schedules, self.lengths, strict=False):
            if step < length:
                return schedule(step)
            step -= length
        return self.schedules[-1](step)


def _interpolate_cosine(start: float, end: float, done: float) -> float:
    """Interpolate between two values along half a cosine wave."""
    return end + (start - end) * 0.5 * (1 + math.cos(math.pi * done))


def _check_number(name: str, value: float, least: int | None = None) -> None:
    """Raise unless a number is at least `least`, or above 0 if `least` is None."""
    if value < least if least is not None else not value > 0:
        limit = "above 0" if least is None else f"at least {least}"
        raise ArgumentError(f"{name} must be {limit}, got {value}")
