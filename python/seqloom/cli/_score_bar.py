"""A bar for scoring; nothing where nobody looks."""

from collections.abc import Callable, Generator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

from seqloom.cli._watch import Speed


@contextmanager
def score_bar(console: Console) -> Generator[Callable[[int, int], None]]:
    """Lends a function that is told how many records are done, and of how many."""
    columns = BarColumn(bar_width=24), MofNCompleteColumn(), Speed(), TimeRemainingColumn()
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task("", total=None)

        def tell(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        yield tell
