"""Finding a backend by its name."""

from functools import cache

from seqloom._threads import thread_count
from seqloom.errors import BackendError
from seqloom.tensor._backend import Backend


def backend(name: str, *, num_threads: int | None = None) -> Backend:
    """The backend of that name.

    Args:
        name: ``"numpy"``.
        num_threads: Threads for its kernels; default: what the environment and the
            machine's quota allow.

    Returns:
        The one backend of that name and number of threads.

    Raises:
        BackendError: No backend is called that.

    Examples:
        >>> backend("numpy")
        numpy
    """
    if name != "numpy":
        raise BackendError(f"no backend is called {name!r}; this version has: numpy")
    return _numpy(thread_count(num_threads))


@cache
def _numpy(threads: int) -> Backend:
    """One object for each number of threads."""
    from seqloom.tensor.backends._numpy import NumPyBackend

    return NumPyBackend(threads)
