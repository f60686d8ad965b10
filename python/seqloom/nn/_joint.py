"""Parameters that record gradients in a training step, and sums over its processes.

`seqloom.train.fit` sets the processes during a step. Statistics of the batch, such as those
of batch norm, are then computed over the whole batch of all processes.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from seqloom.errors import CaptureError, GradientError
from seqloom.tensor import Tensor, apply, custom_gradient
from seqloom.tensor._compile._symbol import capturing

if TYPE_CHECKING:
    from collections.abc import Generator

    from numpy.typing import NDArray

    from seqloom.tensor._backend import Array, Backend


class Joint(Protocol):
    """Processes that share the batch of one step."""

    number: int
    world: int
    # False if this process has no record of the batch and computes with another record.
    has_records: bool

    def sum_array(self, array: Array, backend: Backend) -> Array:
        """Sum an array over all processes."""
        ...

    def sum_values(self, values: NDArray[Any]) -> NDArray[Any]:
        """Sum a NumPy array over all processes."""
        ...


_joint: ContextVar[Joint | None] = ContextVar("joint", default=None)


@contextmanager
def joined(joint: Joint | None) -> Generator[None]:
    """Let modules sum over these processes inside the block."""
    token = _joint.set(joint)
    try:
        yield
    finally:
        _joint.reset(token)


def find_joint() -> Joint | None:
    """Return the processes that share the batch; None for a single process."""
    return _joint.get()


def sum_jointly(joint: Joint, values: Tensor) -> Tensor:
    """Sum a tensor and its gradient over the processes."""

    def by_values(_args: object, _out: object, grad: Tensor) -> tuple[Tensor]:
        return (_add(joint, grad),)

    return custom_gradient(partial(_add, joint), by_values)(values)


def _add(joint: Joint, values: Tensor) -> Tensor:
    """Sum an array over the processes; a process without records contributes zeros."""
    return Tensor(joint.sum_array(values.raw, values.backend), values.backend)


def mean_jointly(joint: Joint, rows: Tensor) -> Tensor:
    """Return the mean of ``(n, ...)`` over the rows of all processes."""
    return _measure(joint, rows, None)[0]


def batch_norm_jointly(
    joint: Joint,
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    mask: Tensor | None,
    *,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Apply `functional.batch_norm` to the whole batch; return the count, too."""
    x = x if mask is None else _zero_padding(x, mask)
    mean, count = _measure(joint, x, mask)
    centred = x - _to_channel_axis(x, mean)
    squares = centred * centred
    squares = squares if mask is None else _zero_padding(squares, mask)
    variance = sum_jointly(joint, _sum_channels(squares) * _get_weight(joint)) / count
    out = centred / _to_channel_axis(x, apply("sqrt", variance + eps))
    out = out if weight is None else out * _to_channel_axis(x, weight)
    out = out if bias is None else out + _to_channel_axis(x, bias)
    return out if mask is None else _zero_padding(out, mask), mean, variance, count


def _measure(joint: Joint, x: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
    """Return the mean of each channel of ``(n, c, ...)``, and the number of values."""
    if mask is None:
        count = x.backend.tensor([float(x.shape[0] * prod(x.shape[2:]))], dtype=x.dtype)
    else:
        count = apply("reshape", mask.sum(), (1,))
    parts = apply("concat", [_sum_channels(x), count], axis=0)
    sums = sum_jointly(joint, parts * _get_weight(joint))
    count = apply("maximum", sums[-1], 1.0)
    return sums[:-1] / count, count


def _get_weight(joint: Joint) -> float:
    """Return 1, or 0 if this process has no record of the batch."""
    return float(joint.has_records)


def _sum_channels(x: Tensor) -> Tensor:
    """Sum each channel of ``(n, c, ...)``."""
    return x.sum(axis=(0, *range(2, x.ndim)))


def _to_channel_axis(x: Tensor, channels: Tensor) -> Tensor:
    """Reshape one number for each channel to broadcast with ``(n, c, ...)``."""
    return apply("reshape", channels, (-1, *(1 for _ in x.shape[2:])))


def _zero_padding(x: Tensor, mask: Tensor) -> Tensor:
    """Set padding to 0."""
    wide = apply("expand_dims", mask, axis=1)
    return apply("where", wide == 0, 0.0, x * wide)


# Parameters by id whose gradients `value_and_grad` records on the current thread.
tracked: ContextVar[dict[int, Tensor] | None] = ContextVar("tracked", default=None)


class Tracking(NamedTuple):
    """A running call of `value_and_grad`, for threads that compute terms of its loss."""

    params: dict[int, Tensor]  # by the parameter's id
    owner: int  # thread of the call
    # In a compiled step, the threads that existed before it; newer ones belong to the
    # step.
    before: frozenset[int] | None


trackings: dict[int, Tracking] = {}  # running calls on all threads, by id


def find_tracked(param: int, path: str) -> Tensor | None:
    """Return the tensor that records a parameter's gradient on this thread, if any."""
    params = tracked.get()
    if params is not None:
        return params.get(param)
    # A thread without a `value_and_grad` call records for the call on another thread.
    if not trackings or capturing.get() is not None:
        return None
    running = [one for one in list(trackings.values()) if param in one.params]
    if not running:
        return None
    thread = threading.get_ident()
    if any(one.before is not None and thread not in one.before for one in running):
        raise CaptureError(
            f"{path} is read in a thread that the compiled step started; the program would "
            "not contain that computation. Compute it on the thread of the step, or "
            "switch compiling off: sl.tensor.compile(step, enabled=False)"
        )
    eager = [one for one in running if one.before is None]
    if len({one.owner for one in eager}) > 1:
        raise GradientError(
            f"{path} is read in a separate thread while value_and_grad runs on "
            f"{len(eager)} other threads with this parameter, so it is unclear which of "
            "them needs the gradient. Call value_and_grad in this thread, or use a copy of "
            "the module in each thread"
        )
    return eager[-1].params[param] if eager else None
