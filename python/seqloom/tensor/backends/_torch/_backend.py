"""Torch as a backend: plain functions over its tensors, on any of its devices."""

from __future__ import annotations

from typing import Any

import torch

from seqloom.errors import BackendError
from seqloom.tensor._backend import Backend
from seqloom.tensor.backends._table import check_overrides, functions_of
from seqloom.tensor.backends._torch import (
    _activation,
    _attention,
    _convolution,
    _creation,
    _elementwise,
    _int8,
    _lookup,
    _loss,
    _norm,
    _optimiser,
    _pooling,
    _program,
    _random,
    _recurrent,
    _reduction,
    _shape,
)

_FUNCTIONS = functions_of(
    _activation,
    _attention,
    _convolution,
    _creation,
    _elementwise,
    _int8,
    _lookup,
    _loss,
    _norm,
    _optimiser,
    _pooling,
    _program,
    _random,
    _recurrent,
    _reduction,
    _shape,
)


class TorchBackend(Backend, functions=check_overrides("torch", _FUNCTIONS)):
    """Torch's tensors as plain arrays: nothing here records a graph of torch's.

    Args:
        device: ``"cpu"``, ``"cuda:0"``, ``"mps"``; default the CPU.
        threads: Threads for torch's CPU kernels, for the whole process.

    Raises:
        BackendError: There is no such device.

    Examples:
        >>> from seqloom.tensor import backend
        >>> B = backend("torch")
        >>> B.relu(B.asarray([-1.0, 2.0])).tolist()
        [0.0, 2.0]
    """

    conv_grads = staticmethod(_convolution.conv_grads)  # of torch alone

    def __init__(self, device: str | None = None, *, threads: int = 1) -> None:
        self.device = _require_device(device or "cpu")
        self.name = "torch" if self.device == "cpu" else f"torch:{self.device}"
        self.threads = threads
        if self.device == "cpu":
            torch.set_num_threads(threads)

    def __reduce__(self) -> Any:
        """Copies and pickles are the one backend of that device and number of threads."""
        return _again, (self.name, self.threads)

    def sync(self) -> None:
        """Waits until all that was asked of the device is computed."""
        if self.device.startswith("cuda"):
            torch.cuda.synchronize(self.device)
        elif self.device.startswith("mps"):
            torch.mps.synchronize()


def _require_device(device: str) -> str:
    """A device that torch has here."""
    try:
        torch.empty(0, device=device)
    except (AssertionError, NotImplementedError, RuntimeError) as error:
        reason = str(error).partition("\n")[0]
        raise BackendError(f"torch has no device {device!r} here: {reason}") from error
    return device


def _again(name: str, threads: int) -> Backend:
    """The backend that a pickle meant."""
    from seqloom.tensor._backend import backend

    return backend(name, num_threads=threads)
