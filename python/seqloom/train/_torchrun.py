"""What torchrun tells each of the processes that it starts."""

from __future__ import annotations

import os
import sys
from typing import Any

from seqloom._arguments import quote
from seqloom.errors import ArgumentError, MissingExtraError
from seqloom.train._ranks import Ranks


def find_ranks() -> Ranks:
    """Joins the processes that torchrun has started, if it has."""
    if not are_started():
        return Ranks()
    try:
        from seqloom.train._torch_ranks import join_ranks
    except ImportError:
        raise MissingExtraError(
            f"WORLD_SIZE={os.environ['WORLD_SIZE']}: to train by several processes needs "
            "torch, which is not installed: pip install torch"
        ) from None
    return join_ranks()


def are_started() -> bool:
    """Says whether there are several processes: torchrun's, or those a program joined."""
    group: Any = sys.modules.get("torch.distributed")
    # Another thread may be importing torch at this moment.
    if getattr(group, "is_initialized", bool)():
        return group.get_world_size() > 1
    return "RANK" in os.environ and _read_number("WORLD_SIZE", 1) > 1


def choose_device(backend: object) -> Any:
    """Gives each process of a machine a GPU of its own, where none is named."""
    if backend == "torch:cuda" and are_started():
        return f"torch:cuda:{_read_number('LOCAL_RANK', 0)}"
    return backend


def _read_number(name: str, default: int) -> int:
    """Reads what torchrun has set."""
    text = os.environ.get(name, str(default))
    if not text.isdecimal():
        raise ArgumentError(
            f"the variable {name} must be a number, as torchrun sets it, got {quote(text)}"
        )
    return int(text)
