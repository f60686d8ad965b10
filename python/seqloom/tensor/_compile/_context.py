"""Which capture runs on this thread, and whether it may read an array."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from seqloom.errors import CaptureError
from seqloom.tensor._memory._origin import here

if TYPE_CHECKING:
    from seqloom.tensor._backend import Backend

# The backend of symbols of the capture that runs on this thread.
capturing: ContextVar[Backend | None] = ContextVar("capturing", default=None)


def check_declared(stored: Any) -> None:
    """Refuses a parameter that a captured step reads without having been given it.

    Args:
        stored: A parameter or buffer.

    Raises:
        CaptureError: It belongs to no argument of the step, so that the program would keep
            the numbers it has now.
    """
    capture = capturing.get()
    if capture is not None and stored.backend is not capture:
        raise CaptureError(
            f"{here()} reads {stored.path or stored!r}, which belongs to none of the "
            "compiled step's arguments, so the program would never see it change; pass the "
            "module as an argument of the step"
        )
