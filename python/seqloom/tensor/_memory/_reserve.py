"""Memory that waits to be used again: whoever keeps some says here how much."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

reserves: list[Callable[[], int]] = []
