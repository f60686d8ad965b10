"""Of several processes that torchrun has started, the first one prints."""

import os
from collections.abc import Generator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path


def number_among_others() -> int:
    """Gives the number of this process; 0 for the first one, and for one that is alone."""
    several = os.environ.get("WORLD_SIZE", "1") != "1"
    rank = os.environ.get("RANK", "0")
    return int(rank) if several and rank.isdecimal() else 0


@contextmanager
def silencing_others() -> Generator[None]:
    """Lets only the first process print in the block; errors are spelled outside of it."""
    if not number_among_others():
        yield
        return
    with (
        Path(os.devnull).open("w", encoding="utf-8") as nothing,
        redirect_stdout(nothing),
        redirect_stderr(nothing),
    ):
        yield
