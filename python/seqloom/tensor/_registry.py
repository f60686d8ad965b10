"""Finding a backend by its name.

Backends are entry points of the group ``seqloom.backends``: a name, and a class that is
called with a device and a number of threads.
"""

from functools import cache
from importlib.metadata import EntryPoint, distribution, entry_points
from typing import Any

from seqloom._arguments import quote
from seqloom._threads import count_threads
from seqloom.errors import ArgumentError, BackendError, MissingExtraError
from seqloom.tensor._backend import Backend

_GROUP = "seqloom.backends"


def backend(
    name: str | Backend, *, num_threads: int | None = None, deterministic: bool = False
) -> Backend:
    """The backend of that name.

    Args:
        name: ``"numpy"``, ``"torch"``, ``"jax"`` or what another package registered; a
            device may follow, as in ``"torch:cuda:0"``. A backend is given back as it is.
        num_threads: Threads for its kernels; default: what the environment and the
            machine's quota allow.
        deterministic: Whether results must be the same to the bit with any number of
            threads, at some cost in products of matrices; NumPy's backend can.

    Returns:
        The one backend of that name, device, number of threads and promise.

    Raises:
        BackendError: No backend is called that, it has no such device, or it cannot
            promise `deterministic`.
        ArgumentError: `name` is neither, or `num_threads` are others than the backend's.
        MissingExtraError: The library that it is over is not installed.

    Examples:
        >>> backend("numpy")
        numpy
    """
    if isinstance(name, Backend):
        return _given(name, num_threads)
    if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f'backend must be a name such as "numpy", got {quote(name)}')
    library, _, device = name.partition(":")
    return _made(library, device or None, count_threads(num_threads), deterministic)


def _given(found: Backend, num_threads: int | None) -> Backend:
    """Takes a backend as it is; its threads were chosen when it was made."""
    if num_threads is not None and count_threads(num_threads) != found.threads:
        raise ArgumentError(
            f"the backend {found.name} has {found.threads} threads, num_threads asks for "
            f'{num_threads}; give its name: backend="{found.name}"'
        )
    return found


# By name, threads and promise: one device may be called by several names.
_objects: dict[tuple[str, int, bool], Backend] = {}


@cache
def _made(library: str, device: str | None, threads: int, deterministic: bool) -> Backend:  # noqa: FBT001 - a key of the cache
    """One object for each name, device, number of threads and promise."""
    kind = _kind(library)
    if deterministic and not hasattr(kind, "deterministic"):
        raise BackendError(f"the backend {library} cannot promise deterministic results")
    options = {"deterministic": True} if deterministic else {}
    made = kind(device, threads=threads, **options)
    return _objects.setdefault((made.name, threads, deterministic), made)


def _kind(library: str) -> Any:
    """The class of a backend."""
    entry = _entry(library)
    try:
        return entry.load()
    except ImportError as error:
        if (error.name or "").startswith("seqloom"):
            raise  # a fault of ours, not a library that is missing
        package = entry.dist.name if entry.dist else "seqloom"
        raise MissingExtraError(
            f"the backend {library} needs {error.name or library}, which is not installed: "
            f'pip install "{package}[{library}]"'
        ) from error


def _entry(library: str) -> EntryPoint:
    """Where a backend is written: here, or in any package that is installed."""
    # Reading one distribution's list takes a hundredth of the time that all of them take.
    own = distribution("seqloom").entry_points.select(group=_GROUP)
    entries = own if library in own.names else entry_points(group=_GROUP)
    if library not in entries.names:
        known = ", ".join(sorted(own.names | entries.names))
        raise BackendError(f"no backend is called {library!r}; installed are {known}")
    return entries[library]
