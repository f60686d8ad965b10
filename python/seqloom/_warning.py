"""Issue warnings that point to the user's line of code."""

import inspect
import warnings

from seqloom.errors import DataWarning

# Frames of contextlib are skipped too, because contextlib calls context managers of
# seqloom.
_INTERNAL_PACKAGES = ("seqloom", "contextlib")


def warn_user(text: str, category: type[Warning] = DataWarning) -> None:
    """Issue a warning at the line of code that called this package."""
    frame, level = inspect.currentframe(), 1
    while frame is not None:
        package = str(frame.f_globals.get("__name__")).partition(".")[0]
        if package not in _INTERNAL_PACKAGES:
            break
        frame, level = frame.f_back, level + 1
    warnings.warn(text, category, stacklevel=level)
