"""JAX as a backend."""

from __future__ import annotations

from typing import Any

import jax

from seqloom.errors import BackendError
from seqloom.tensor._backend import Backend
from seqloom.tensor.backends._jax import (
    _convolution,
    _lookup,
    _loop,
    _neural,
    _program,
    _random,
    _standard,
)
from seqloom.tensor.backends._table import check_overrides, functions_of

_FUNCTIONS = functions_of(
    _convolution,
    _lookup,
    _loop,
    _neural,
    _program,
    _random,
    _standard,
)


class JaxBackend(Backend, functions=check_overrides("jax", _FUNCTIONS)):
    """JAX's arrays. What is asked for is computed later; `sync` waits.

    Types of 64 bits exist only where ``jax_enable_x64`` is switched on. Without it, whole
    numbers of 64 bits become those of 32 where all of them fit and no type is asked for;
    anything else of 64 bits is refused.

    Args:
        device: ``"cpu"``, ``"gpu:0"``, ``"tpu"``; default jax's own choice.
        threads: Said by the registry; XLA has a pool of its own.

    Raises:
        BackendError: There is no such device.

    Examples:
        >>> from seqloom.tensor import backend
        >>> B = backend("jax")
        >>> B.relu(B.asarray([-1.0, 2.0])).tolist()
        [0.0, 2.0]
    """

    defers = True

    def __init__(self, device: str | None = None, *, threads: int = 1) -> None:
        self.jax_device = None if device is None else _find_device(device)
        self.device = device or jax.default_backend()
        self.name = "jax" if device is None else f"jax:{device}"
        self.threads = threads

    def __reduce__(self) -> Any:
        """Copies and pickles are the one backend of that device and number of threads."""
        return _again, (self.name, self.threads)

    def sync(self) -> None:
        """Waits until every array that is alive is computed."""
        jax.block_until_ready(jax.live_arrays())


def _find_device(device: str) -> Any:
    """A device that jax has here."""
    platform, _, number = device.partition(":")
    try:
        return jax.devices(platform)[int(number or 0)]
    except (RuntimeError, IndexError, ValueError) as error:
        raise BackendError(f"jax has no device {device!r} here: {error}") from error


def _again(name: str, threads: int) -> Backend:
    """The backend that a pickle meant."""
    from seqloom.tensor._backend import backend

    return backend(name, num_threads=threads)
