"""The JAX backend."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import jax

from seqloom.errors import BackendError
from seqloom.tensor._backend import Backend, backend, check_overrides, collect_functions
from seqloom.tensor._graph import lower_graph
from seqloom.tensor.backends._jax import _lookup, _neural, _random, _standard
from seqloom.tensor.backends._jax._lookup import InputIndexChecks

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from seqloom.tensor._backend import Array
    from seqloom.tensor._compile import Graph


def program(b: Backend, graph: Graph) -> Callable[[Sequence[Array]], Sequence[Array]]:
    """Compile a graph with ``jax.jit``, and reuse the memory of donated inputs."""
    # Each run first checks all indices and labels that can be computed from the inputs.
    function: Callable[..., Any] = jax.jit(
        lower_graph(graph, b), donate_argnums=tuple(graph.donated)
    )
    positions = InputIndexChecks(graph)

    def run_program(arrays: Sequence[Array]) -> Sequence[Array]:
        positions.require(arrays)
        return function(*arrays)

    return run_program


_JAX_FUNCTIONS = collect_functions(_lookup, _neural, _random, _standard)
_JAX_FUNCTIONS["program"] = program


class JaxBackend(Backend, functions=check_overrides("jax", _JAX_FUNCTIONS)):
    """Backend of JAX arrays. Results are computed in the background; `sync` waits for them.

    64-bit dtypes require ``jax_enable_x64``. Without this setting, 64-bit integers are
    converted to 32 bits if they are in range and no dtype is requested; all other
    64-bit data are rejected.

    Args:
        device: ``"cpu"``, ``"gpu:0"`` or ``"tpu"``; default: the choice of JAX.
        threads: Number of threads of the backend; XLA ignores this number and uses its
            own pool.

    Raises:
        BackendError: The device does not exist.

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
        """Copy or pickle only the name of the backend, which identifies the object."""
        return partial(backend, self.name, num_threads=self.threads), ()

    def sync(self) -> None:
        """Wait until all operations have finished."""
        jax.block_until_ready(jax.live_arrays())


def _find_device(device: str) -> Any:
    """Return the JAX device with a name; raise if the device does not exist."""
    platform, _, number = device.partition(":")
    try:
        return jax.devices(platform)[int(number or 0)]
    except (RuntimeError, IndexError, ValueError) as error:
        raise BackendError(f"jax found no device {device!r}: {error}") from error
