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


class SpeedColumn(ProgressColumn):
    """A progress bar column with the speed, such as samples per second."""

    def __init__(self, noun: str = "samples") -> None:
        super().__init__()
        self.noun = noun

    def render(self, task: Task) -> Text:
        """Return the speed as text; empty until the speed is known."""
        return Text(f"{task.speed:,.0f} {self.noun}/s" if task.speed else "")


@contextmanager
def score_bar(
    console: Console, *, noun: str = "samples"
) -> Generator[Callable[[int, int], None]]:
    """Yield a progress function, called with the numbers of finished and all records."""
    speed, left = SpeedColumn(noun), TimeRemainingColumn()
    columns = BarColumn(bar_width=24), MofNCompleteColumn(), speed, left
    with _show_bar(console, *columns) as report:
        yield report


@contextmanager
def byte_progress_bar(console: Console, what: str) -> Generator[Callable[[int, int], None]]:
    """Yield a progress function, called with the numbers of finished and all bytes."""
    columns = TextColumn(what), BarColumn(bar_width=24), DownloadColumn()
    with _show_bar(console, *columns, TimeRemainingColumn()) as report:
        yield report


@contextmanager
def _show_bar(
    console: Console, *columns: ProgressColumn
) -> Generator[Callable[[int, int], None]]:
    """Show a progress bar after the first report, and remove the bar at the end."""
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task("", total=None, visible=False)

        def report(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total, visible=True)

        yield report
