"""How much memory codes may take."""

from __future__ import annotations

import re

from seqloom._system import available_memory
from seqloom.errors import ArgumentError

_UNITS = {
    "": 1,
    **{unit: 1000**power for power, unit in enumerate("kmgt", 1)},
    **{f"{unit}i": 1024**power for power, unit in enumerate("kmgt", 1)},
}
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]i?)?b?\s*", re.IGNORECASE)
_MOST = 1 << 30
# The share of the free memory that is taken where nobody says how much.
_SHARE = 4


def memory_of(memory: int | str | None) -> int:
    """Reads a number of bytes, such as ``"1 GB"`` or ``"512 MiB"``."""
    if memory is None:
        return min(_MOST, _free() // _SHARE)
    found = _SIZE.fullmatch(str(memory))
    if found is None or isinstance(memory, bool):
        raise ArgumentError(
            f'memory must be a number of bytes or a text such as "1 GB", got {memory!r}'
        )
    return int(float(found[1]) * _UNITS[(found[2] or "").lower()])


def _free() -> int:
    """Asks how many bytes of memory can be had."""
    return available_memory() or _SHARE * _MOST
