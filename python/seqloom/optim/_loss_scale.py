"""LossScale: dynamic loss scaling for float16."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from seqloom._arguments import as_integer, as_number
from seqloom.errors import ArgumentError, RecordError
from seqloom.record import Record

if TYPE_CHECKING:
    from seqloom.tensor import Gradients


class LossScale:
    """Dynamic loss scale that keeps float16 gradients finite and above zero.

    In float16, small gradients become zero, and large gradients become infinite.
    Multiply the loss by `value`, and pass the gradients to `unscale`. `unscale` divides
    the gradients by the scale, or returns None if a gradient is not finite; in the
    latter case, skip the step. The scale is reduced after a skipped step, and increased
    after many consecutive steps with finite gradients (Micikevicius et al. 2018). The
    defaults are those of ``torch.amp.GradScaler``. bfloat16 has the range of float32
    and needs no scale. Convert a loss in float16 to float32 first, because the initial
    scale of 65536 is infinite in float16.

    Args:
        value: Initial scale.
        growth: Factor by which the scale is multiplied after `interval` consecutive
            steps with finite gradients; greater than 1.
        backoff: Factor by which the scale is multiplied after a skipped step, in (0,
            1).
        interval: Number of consecutive steps with finite gradients after which the
            scale is increased.

    Attributes:
        value: Current scale, a number that can be passed to a compiled step.
        good_steps: Number of steps with finite gradients since the last change of the
            scale.
        skipped_steps: Number of steps that were skipped because gradients overflowed.

    Raises:
        ArgumentError: An argument is not a number, or is out of range.

    Examples:
        >>> import seqloom as sl
        >>> layer = sl.nn.Linear(2, 1).bind("numpy", sl.Key(0))
        >>> x = layer.backend.tensor([[1.0, 2.0]])
        >>> scale, optimizer = sl.optim.LossScale(1024.0), sl.optim.SGD()
        >>> def scaled_loss(layer, x, factor):
        ...     with sl.tensor.autocast("float16", allow_slow=True):
        ...         return layer(x).mean() * factor
        >>> _, gradients = sl.nn.value_and_grad(scaled_loss)(layer, x, scale.value)
        >>> if (gradients := scale.unscale(gradients)) is not None:
        ...     layer = optimizer.step(0.1, layer, gradients)
        >>> scale.value, scale.good_steps
        (1024.0, 1)
    """

    def __init__(
        self,
        value: float = 65536.0,
        *,
        growth: float = 2.0,
        backoff: float = 0.5,
        interval: int = 2000,
    ) -> None:
        self.value = as_number("value", value)
        self.growth = as_number("growth", growth)
        self.backoff = as_number("backoff", backoff)
        self.interval = as_integer("interval", interval)
        self.good_steps, self.skipped_steps = 0, 0
        for rule, is_kept, given in (
            ("value must be greater than 0", self.value > 0, self.value),
            ("growth must be greater than 1", self.growth > 1, self.growth),
            ("backoff must be between 0 and 1", 0 < self.backoff < 1, self.backoff),
            ("interval must be at least 1", self.interval >= 1, self.interval),
        ):
            if not is_kept:
                raise ArgumentError(f"{rule}, got {given!r}")

    def unscale(self, gradients: Gradients) -> Gradients | None:
        """Divide gradients by the scale, and adjust the scale for the next step.

        Args:
            gradients: Gradients of a loss that was multiplied by `value`.

        Returns:
            The gradients of the unscaled loss; None if a gradient is not finite and the
            step must be skipped.

        Examples:
            >>> import seqloom as sl
            >>> B = sl.tensor.backend("numpy")
            >>> scale = LossScale(8.0)
            >>> scale.unscale(sl.tensor.Gradients({1: B.asarray([4.0])}, B)).get(1).tolist()
            [0.5]
            >>> scale.unscale(sl.tensor.Gradients({1: B.asarray([float("inf")])}, B))
            >>> scale.value
            4.0
        """
        if not _are_gradients_finite(gradients):
            self.value, self.good_steps = self.value * self.backoff, 0
            self.skipped_steps += 1
            return None
        unscaled = gradients.multiply(1.0 / self.value)
        self.good_steps += 1
        if self.good_steps >= self.interval:
            self.value, self.good_steps = self.value * self.growth, 0
        return unscaled

    def to_record(self) -> Record:
        """Return the scale and the numbers of good and skipped steps.

        Returns:
            A record without arrays.

        Examples:
            >>> LossScale().to_record().metadata
            {'loss_scale': 65536.0, 'good_steps': 0, 'skipped_steps': 0}
        """
        facts = {
            "loss_scale": self.value,
            "good_steps": self.good_steps,
            "skipped_steps": self.skipped_steps,
        }
        return Record({}, metadata=facts)

    def load_record(self, record: Record) -> Self:
        """Load the scale and the numbers of good and skipped steps.

        Args:
            record: Record that `to_record` returned.

        Returns:
            This loss scale.

        Raises:
            RecordError: `record` lacks the scale or the number of good steps.

        Examples:
            >>> LossScale().load_record(LossScale(4.0).to_record()).value
            4.0
        """
        facts = record.metadata
        value: Any = facts.get("loss_scale")
        # Records of earlier versions lack the number of skipped steps.
        steps: Any = facts.get("good_steps")
        skipped: Any = facts.get("skipped_steps", 0)
        is_positive = isinstance(value, (int, float)) and 0 < value < float("inf")
        if not (is_positive and _is_count(steps) and _is_count(skipped)):
            raise RecordError(
                "the record does not come from a LossScale: it needs loss_scale, a number "
                f"greater than 0, and good_steps, got {value!r} and {steps!r}"
            )
        self.value = float(value)
        self.good_steps, self.skipped_steps = int(steps), int(skipped)
        return self

    def __repr__(self) -> str:
        return f"LossScale({self.value}, good_steps={self.good_steps})"


def _are_gradients_finite(gradients: Gradients) -> bool:
    """Return whether all gradients are finite; wait for the device only once."""
    backend: Any = gradients.backend
    found = [backend.all(backend.isfinite(array)) for array in gradients.arrays()]
    return not found or bool(backend.to_numpy(backend.all(backend.stack(found))))


def _is_count(value: object) -> bool:
    return isinstance(value, int) and value >= 0
