"""JAX as a backend."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import jax

from seqloom.errors import BackendError
from seqloom.tensor._backend import Backend, backend, check_overrides, functions_of
from seqloom.tensor._graph import lower_graph
from seqloom.tensor.backends._jax import _lookup, _neural, _random, _standard
from seqloom.tensor.backends._jax._lookup import GivenPositions

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from seqloom.tensor._backend import Array
    from seqloom.tensor._compile import Graph


def program(b: Backend, graph: Graph) -> Callable[[Sequence[Array]], Sequence[Array]]:
    """One flat function of jax's, compiled; new state takes the memory of the old."""
    # Indices and labels that follow from the inputs are checked before it runs.
    function: Callable[..., Any] = jax.jit(
        lower_graph(graph, b), donate_argnums=tuple(graph.donated)
    )
    positions = GivenPositions(graph)

    def run(arrays: Sequence[Array]) -> Sequence[Array]:
        positions.require(arrays)
        return function(*arrays)

    return run


_FUNCTIONS = functions_of(_lookup, _neural, _random, _standard)
_FUNCTIONS["program"] = program


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
        """Copy and pickles are the one backend of that device and number of threads."""
        return partial(backend, self.name, num_threads=self.threads), ()

    def sync(self) -> None:
        """Wait until every array that is alive is computed."""
        jax.block_until_ready(jax.live_arrays())


def _find_device(device: str) -> Any:
    """Return a device that jax has here."""
    platform, _, number = device.partition(":")
    try:
        return jax.devices(platform)[int(number or 0)]
    except (RuntimeError, IndexError, ValueError) as error:
        raise BackendError(f"jax has no device {device!r} here: {error}") from error
