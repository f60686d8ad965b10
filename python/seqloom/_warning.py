"""Warnings that point to the line of the user's code."""

import inspect
import warnings

from seqloom.errors import DataWarning

# A context manager of ours runs between a frame of ours and one of contextlib.
_INTERNAL = ("seqloom", "contextlib")


def warn_user(text: str, category: type[Warning] = DataWarning) -> None:
    """Warn at the line of the first caller outside this package."""
    frame, level = inspect.currentframe(), 1
    while frame is not None:
        package = str(frame.f_globals.get("__name__")).partition(".")[0]
        if package not in _INTERNAL:
            break
        frame, level = frame.f_back, level + 1
    warnings.warn(text, category, stacklevel=level)
