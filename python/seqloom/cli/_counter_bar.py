"""How many of so many are done, as a bar on a terminal."""

from collections.abc import Callable, Generator
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

from seqloom.cli._machine import open_console


@contextmanager
def counter_bar() -> Generator[Callable[[int, int], object]]:
    """Lends what is to be told how many are done and how many there are."""
    console = open_console(stderr=True)
    if not console.is_terminal:
        yield _say_nothing
        return
    columns = (
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeRemainingColumn(compact=True),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _say_nothing(done: int, total: int) -> None:
    """Heeds nothing."""
    del done, total
