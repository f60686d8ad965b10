"""Bars for scoring and for copying; nothing where nobody looks."""

from collections.abc import Callable, Generator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text


class Speed(ProgressColumn):
    """Shows samples, or what else is counted, a second."""

    def __init__(self, noun: str = "samples") -> None:
        super().__init__()
        self.noun = noun

    def render(self, task: Task) -> Text:
        """Write the speed, once there is one."""
        return Text(f"{task.speed:,.0f} {self.noun}/s" if task.speed else "")


@contextmanager
def score_bar(
    console: Console, *, noun: str = "samples"
) -> Generator[Callable[[int, int], None]]:
    """Lend a function that is told how many records are done, and of how many."""
    speed, left = Speed(noun), TimeRemainingColumn()
    columns = BarColumn(bar_width=24), MofNCompleteColumn(), speed, left
    with _bar(console, *columns) as tell:
        yield tell


@contextmanager
def work_bar(console: Console, what: str) -> Generator[Callable[[int, int], None]]:
    """Lend a function that is told how many bytes are done, if it ever is."""
    columns = TextColumn(what), BarColumn(bar_width=24), DownloadColumn()
    with _bar(console, *columns, TimeRemainingColumn()) as tell:
        yield tell


@contextmanager
def _bar(
    console: Console, *columns: ProgressColumn
) -> Generator[Callable[[int, int], None]]:
    """Show a bar from its first news on; it vanishes when it is done."""
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task("", total=None, visible=False)

        def tell(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total, visible=True)

        yield tell
