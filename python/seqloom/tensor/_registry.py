"""Finding a backend by its name.

Backends are entry points of the group ``seqloom.backends``: a name, and a class that is
called with a device and a number of threads.
"""

from functools import cache
from importlib.metadata import distribution, entry_points
from typing import Any

from seqloom._arguments import quote
from seqloom._threads import count_threads
from seqloom.errors import ArgumentError, BackendError, MissingExtraError
from seqloom.tensor._families import ArrayFunctions

_GROUP = "seqloom.backends"


def find_backend(
    name: object, *, num_threads: int | None = None, deterministic: bool = False
) -> Any:
    """Returns the backend of a name; a backend is returned as it is."""
    if isinstance(name, ArrayFunctions):
        backend: Any = name
        if num_threads is not None and count_threads(num_threads) != backend.threads:
            raise ArgumentError(
                f"the backend {backend.name} has {backend.threads} threads, num_threads is "
                f'{num_threads}; pass the name instead: backend="{backend.name}"'
            )
        return backend
    if not isinstance(name, str):
        raise ArgumentError(f'backend must be a name such as "numpy", got {quote(name)}')
    library, _, device = name.partition(":")
    return _make(library, device or None, count_threads(num_threads), deterministic)


# By name, number of threads and determinism: one device may have several names.
_backends: dict[tuple[str, int, bool], Any] = {}


@cache
def _make(library: str, device: str | None, threads: int, deterministic: bool) -> Any:  # noqa: FBT001 - a key of the cache
    """Makes one backend for each name, device, number of threads and determinism."""
    kind = _load(library)
    if deterministic and not hasattr(kind, "deterministic"):
        raise BackendError(f"the backend {library} cannot compute deterministically")
    options = {"deterministic": True} if deterministic else {}
    made = kind(device, threads=threads, **options)
    return _backends.setdefault((made.name, threads, deterministic), made)


def _load(library: str) -> Any:
    """Imports the class of a backend."""
    # Finds the entry point of a backend: of this package, or of any that is installed.
    # Reading one distribution's list takes a hundredth of the time that all of them take.
    own = distribution("seqloom").entry_points.select(group=_GROUP)
    entries = own if library in own.names else entry_points(group=_GROUP)
    if library not in entries.names:
        known = ", ".join(sorted(own.names | entries.names))
        raise BackendError(f"no backend is called {library!r}; installed are {known}")
    entry = entries[library]
    try:
        return entry.load()
    except ImportError as error:
        if (error.name or "").startswith("seqloom"):
            raise  # our own fault, not a missing library
        package = (error.name or library).partition(".")[0]
        raise MissingExtraError(
            f"the backend {library} needs {package}, which is not installed: pip install "
            f"{package}"
        ) from error
