"""What a stream goes on from, checked before it does."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from seqloom.data.loader._state import whole_number
from seqloom.errors import ArgumentError
from seqloom.io._origin import check_regular

VERSION = 1
_ENDS = 1 << 16


def mark_of(path: str) -> str:
    """Tells a file from others by its size, its beginning and its end."""
    check_regular(path)
    digest = hashlib.blake2b(digest_size=16)
    with Path(path).open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        digest.update(b"%d:" % size)
        digest.update(file.read(_ENDS))
        file.seek(max(size - _ENDS, 0))
        digest.update(file.read(_ENDS))
    return digest.hexdigest()


def check_stream_state(state: Any, identity: dict[str, Any]) -> None:
    """Refuses a state that is not whole, or of another stream."""
    wanted = ["version", "epoch", "position", *identity]
    if not isinstance(state, Mapping) or any(name not in state for name in wanted):
        raise ArgumentError(
            f"a stream's state is a dict with {', '.join(wanted)}, as state_dict() gives "
            f"it; got {state!r}"
        )
    if state["version"] != VERSION:
        raise ArgumentError(
            f"the state has version {state['version']!r}, this seqloom reads {VERSION}"
        )
    for name, value in identity.items():
        if state[name] != value:
            raise ArgumentError(
                f"the state is of a stream with {name} {state[name]!r}, "
                f"this one has {value!r}"
            )
    for name in ("epoch", "position"):
        whole_number(f"the state's {name}", state[name])
