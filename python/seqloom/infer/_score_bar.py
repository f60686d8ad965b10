"""Progress bars for scoring and copying, shown only on a terminal."""

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
    """Speed as samples, or another noun, per second."""

    def __init__(self, noun: str = "samples") -> None:
        super().__init__()
        self.noun = noun

    def render(self, task: Task) -> Text:
        """Return the speed, once it is known."""
        return Text(f"{task.speed:,.0f} {self.noun}/s" if task.speed else "")


@contextmanager
def score_bar(
    console: Console, *, noun: str = "samples"
) -> Generator[Callable[[int, int], None]]:
    """Yield a function that reports the numbers of finished and of all records."""
    speed, left = Speed(noun), TimeRemainingColumn()
    columns = BarColumn(bar_width=24), MofNCompleteColumn(), speed, left
    with _bar(console, *columns) as report:
        yield report


@contextmanager
def work_bar(console: Console, what: str) -> Generator[Callable[[int, int], None]]:
    """Yield a function that reports the numbers of finished and of all bytes."""
    columns = TextColumn(what), BarColumn(bar_width=24), DownloadColumn()
    with _bar(console, *columns, TimeRemainingColumn()) as report:
        yield report


@contextmanager
def _bar(
    console: Console, *columns: ProgressColumn
) -> Generator[Callable[[int, int], None]]:
    """Show a bar from the first report on; it disappears at the end."""
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task("", total=None, visible=False)

        def report(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total, visible=True)

        yield report
