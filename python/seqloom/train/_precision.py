"""Half precision: what computes a step, and the scale of its loss."""

from collections.abc import Callable
from typing import Any

from seqloom._arguments import quote
from seqloom.errors import ArgumentError, BackendError, GradientError
from seqloom.models import TorchModule
from seqloom.optim import LossScale
from seqloom.tensor import Backend
from seqloom.tensor._autocast import find_reason

FULL = "float32"
_CHOICES = (FULL, "bfloat16", "float16")
# Below it a loss in float16 does not overflow by the scale: the run itself is lost.
_LEAST_SCALE = 1.0

Objective = Callable[..., tuple[Any, Any]]


def check_precision(precision: object, model: object, backend: Backend) -> None:
    """Refuses another precision, and one that would be slower than float32."""
    if precision not in _CHOICES:
        expected = ", ".join(map(quote, _CHOICES))
        raise ArgumentError(f"precision must be one of {expected}, got {quote(precision)}")
    if precision == FULL:
        return
    if isinstance(model, TorchModule):
        raise ArgumentError(
            f"precision={quote(precision)} is for networks of ours; write torch.autocast "
            "into the forward of a torch.nn.Module"
        )
    if reason := find_reason(backend, str(precision)):
        raise BackendError(
            f"precision={quote(precision)}: {reason}, so training would be slower than in "
            "float32; leave precision out (--precision), or choose a backend and device "
            "that have them"
        )


def widen(loss: Any) -> Any:
    """Gives a loss of half precision in float32: 65536, a scale, is infinite in float16."""
    return loss.astype(FULL) if loss.dtype.name in _CHOICES else loss


def scale_of(precision: str) -> dict[str, LossScale]:
    """Makes the state that a precision needs; bfloat16 needs none."""
    return {"loss_scale": LossScale()} if precision == "float16" else {}


def scaled(objective: Objective, scale: LossScale) -> Objective:
    """Multiplies the loss of an objective."""

    def compute(model: Any, arrays: Any, key: Any) -> tuple[Any, Any]:
        loss, extra = objective(model, arrays, key)
        return loss * scale.value, extra

    return compute


def unscale(gradients: Any, scale: LossScale) -> Any | None:
    """Divides gradients by the scale; None where the step must be skipped."""
    found = scale.unscale(gradients)
    if found is None and scale.value < _LEAST_SCALE:
        raise GradientError(
            "the gradients are not finite in float16, though the loss is hardly scaled; a "
            'lower lr (--lr) or precision="bfloat16" may help'
        )
    return found
