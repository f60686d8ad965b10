"""Sums over the processes of a step, and lookup of parameters that record gradients.

`seqloom.train.fit` sets the processes during a step. During a step, statistics of the
batch, such as those of batch norm, are computed over the whole batch of all processes.
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


class BatchProcesses(Protocol):
    """Processes that share the batch of one step."""

    number: int
    world: int
    # False if this process has no record of the batch and computes with a dummy record.
    has_records: bool

    def sum_array(self, array: Array, backend: Backend) -> Array:
        """Sum an array over all processes."""
        ...

    def sum_values(self, values: NDArray[Any]) -> NDArray[Any]:
        """Sum a NumPy array over all processes."""
        ...


_batch_processes: ContextVar[BatchProcesses | None] = ContextVar(
    "batch_processes", default=None
)


@contextmanager
def set_batch_processes(processes: BatchProcesses | None) -> Generator[None]:
    """Let modules sum over these processes during the `with` block."""
    token = _batch_processes.set(processes)
    try:
        yield
    finally:
        _batch_processes.reset(token)


def find_batch_processes() -> BatchProcesses | None:
    """Return the processes that share the batch; None for a single process."""
    return _batch_processes.get()


def sum_over_processes(processes: BatchProcesses, values: Tensor) -> Tensor:
    """Sum a tensor and its gradient over the processes."""

    def sum_gradient(_args: object, _out: object, grad: Tensor) -> tuple[Tensor]:
        return (_sum_array(processes, grad),)

    return custom_gradient(partial(_sum_array, processes), sum_gradient)(values)


def _sum_array(processes: BatchProcesses, values: Tensor) -> Tensor:
    """Sum an array over the processes; a process without records contributes zeros."""
    return Tensor(processes.sum_array(values.raw, values.backend), values.backend)


def mean_over_processes(processes: BatchProcesses, rows: Tensor) -> Tensor:
    """Return the mean of ``(n, ...)`` over the rows of all processes."""
    return _channel_means(processes, rows, None)[0]


def batch_norm_over_processes(
    processes: BatchProcesses,
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    mask: Tensor | None,
    *,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Apply `functional.batch_norm` to the whole batch, and count the values."""
    x = x if mask is None else _zero_padding(x, mask)
    mean, count = _channel_means(processes, x, mask)
    centred = x - _to_channel_axis(x, mean)
    squares = centred * centred
    squares = squares if mask is None else _zero_padding(squares, mask)
    variance = (
        sum_over_processes(processes, _sum_channels(squares) * _process_weight(processes))
        / count
    )
    out = centred / _to_channel_axis(x, apply("sqrt", variance + eps))
    out = out if weight is None else out * _to_channel_axis(x, weight)
    out = out if bias is None else out + _to_channel_axis(x, bias)
    return out if mask is None else _zero_padding(out, mask), mean, variance, count


def _channel_means(
    processes: BatchProcesses, x: Tensor, mask: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Return the mean of each channel of ``(n, c, ...)``, and the number of values."""
    if mask is None:
        count = x.backend.tensor([float(x.shape[0] * prod(x.shape[2:]))], dtype=x.dtype)
    else:
        count = apply("reshape", mask.sum(), (1,))
    parts = apply("concat", [_sum_channels(x), count], axis=0)
    sums = sum_over_processes(processes, parts * _process_weight(processes))
    count = apply("maximum", sums[-1], 1.0)
    return sums[:-1] / count, count


def _process_weight(processes: BatchProcesses) -> float:
    """Return 1, or 0 if this process has no record of the batch."""
    return float(processes.has_records)


def _sum_channels(x: Tensor) -> Tensor:
    """Sum each channel of ``(n, c, ...)``."""
    return x.sum(axis=(0, *range(2, x.ndim)))


def _to_channel_axis(x: Tensor, channels: Tensor) -> Tensor:
    """Reshape one number for each channel to broadcast with ``(n, c, ...)``."""
    return apply("reshape", channels, (-1, *(1 for _ in x.shape[2:])))


def _zero_padding(x: Tensor, mask: Tensor) -> Tensor:
    wide = apply("expand_dims", mask, axis=1)
    return apply("where", wide == 0, 0.0, x * wide)


# Parameters by id whose gradients `value_and_grad` records on the current thread.
tracked_params: ContextVar[dict[int, Tensor] | None] = ContextVar(
    "tracked_params", default=None
)


class GradientCall(NamedTuple):
    """A running call of `value_and_grad`, for threads that compute terms of its loss."""

    params: dict[int, Tensor]  # parameter id -> tensor
    owner_thread: int  # Thread that called `value_and_grad`.
    # Threads that existed before a compiled step; newer threads belong to the step.
    existing_threads: frozenset[int] | None


gradient_calls: dict[int, GradientCall] = {}  # call id -> running call


def find_tensor(param: int, path: str) -> Tensor | None:
    """Return the tensor that records a parameter's gradient on this thread, if any."""
    params = tracked_params.get()
    if params is not None:
        return params.get(param)
    # A thread without a `value_and_grad` call records gradients for a call on another
    # thread.
    if not gradient_calls or capturing.get() is not None:
        return None
    running = [one for one in list(gradient_calls.values()) if param in one.params]
    if not running:
        return None
    thread = threading.get_ident()
    if any(
        one.existing_threads is not None and thread not in one.existing_threads
        for one in running
    ):
        raise CaptureError(
            f"{path} is read in a thread that the compiled step started; the program would "
            "not contain that computation. Compute it on the thread of the step, or "
            "switch compiling off: sl.tensor.compile(step, enabled=False)"
        )
    eager = [one for one in running if one.existing_threads is None]
    if len({one.owner_thread for one in eager}) > 1:
        raise GradientError(
            f"{path} is read in a separate thread while value_and_grad runs on "
            f"{len(eager)} other threads with this parameter. Each of them could need the "
            "gradient. Call value_and_grad in this thread, or use a copy of "
            "the module in each thread"
        )
    return eager[-1].params[param] if eager else None
