"""Ids of many records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seqloom._rust import _native

if TYPE_CHECKING:
    from seqloom._ragged import Ragged


def ids_of(headers: Ragged) -> list[str]:
    """Reads headers up to their first blanks, as text."""
    return _native.header_ids(headers.data, headers.offsets)
