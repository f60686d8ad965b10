"""Who is told how far scoring is: a function, a bar, or nobody."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, TypeAlias

from seqloom._arguments import quote
from seqloom.errors import ArgumentError

# Called after each batch with the records done and the records in all.
OnBatch: TypeAlias = Callable[[int, int], Any]
Watching: TypeAlias = OnBatch | bool | None


@contextmanager
def report_batches(
    progress: Watching, *, noun: str = "samples"
) -> Generator[OnBatch | None]:
    """Gives what is called after each batch, as `predict` and `evaluate` take it."""
    if progress is True:
        # Imported here, because rich takes longer to load than most files to score.
        from rich.console import Console

        from seqloom.infer._score_bar import score_bar

        with score_bar(Console(), noun=noun) as tell:
            yield tell
    elif callable(progress):
        yield progress
    elif progress is None or progress is False:
        yield None
    else:
        raise ArgumentError(
            "progress must be True, False or a function of the records done and the "
            f"records in all, got {quote(progress)}"
        )
