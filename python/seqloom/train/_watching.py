"""Who watches a run: the caller's object, a person, or nobody."""

import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from seqloom._arguments import quote
from seqloom.errors import ArgumentError
from seqloom.train._progress import Progress, Silent

_METHODS = ("on_start", "on_batch", "on_epoch", "on_more", "on_end")


@contextmanager
def watching(progress: Progress | bool | None) -> Generator[Progress]:  # noqa: FBT001 - as `fit` takes it
    """Gives what hears of a run, as `fit` takes it."""
    if progress is True or (progress is None and is_watched()):
        # Imported here, because rich takes time to load and most runs print nothing.
        from seqloom.train._watch import Watch, open_console

        with Watch(open_console()) as watch:
            yield watch
    elif progress is None or progress is False:
        yield Silent()
    else:
        yield _add_missing_methods(progress)


def is_watched() -> bool:
    """Says whether a person sees what is printed: at a terminal, or in a notebook."""
    return is_notebook() or (sys.stdout is not None and sys.stdout.isatty())


def is_notebook() -> bool:
    """Says whether this process is a notebook's."""
    shell: Any = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel")


def _add_missing_methods(progress: object) -> Any:
    """Gives an object all of the methods; those it lacks do nothing."""
    own = {name: getattr(progress, name) for name in _METHODS if hasattr(progress, name)}
    if not own:
        raise ArgumentError(
            "progress must be True, False or an object with some of the methods "
            f"{', '.join(_METHODS)}, got {quote(progress)}"
        )
    if len(own) == len(_METHODS):
        return progress
    whole: Any = Silent()
    for name, method in own.items():
        setattr(whole, name, method)
    return whole
