"""Functions for the terminal output of all commands."""

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from seqloom._text import printable
from seqloom.errors import FileError

if TYPE_CHECKING:
    from seqloom.tensor import Backend


def version() -> str:
    """Return the installed version of seqloom."""
    return metadata.version("seqloom")


class PlainConsole(Console):
    """A rich console that prints ids and file names without interpreting markup."""

    def render_str(self, text: str, **options: Any) -> Text:
        """Convert a string or a table cell to one line without control characters."""
        return super().render_str(printable(text), **options)


def open_console(*, stderr: bool = False, quiet: bool = False) -> Console:
    """Create a console for standard output or standard error."""
    return PlainConsole(
        stderr=stderr,
        quiet=quiet,
        markup=False,
        highlight=False,
        soft_wrap=True,
        emoji=False,
    )


def make_fact_table(facts: Mapping[str, str]) -> Table:
    """Create a table with two columns: a name and a value."""
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, fact in facts.items():
        table.add_row(name, fact)
    return table


def print_setup(console: Console, backend: "str | Backend", threads: int | None) -> None:
    """Print version, backend, device and threads before a long computation."""
    from seqloom.tensor import backend as find_backend

    found = find_backend(backend, num_threads=threads)
    device = found.name.partition(":")[2] or "cpu"
    plural = "" if found.threads == 1 else "s"
    console.print(
        f"seqloom {version()}, backend {found.name.partition(':')[0]}, device {device}, "
        f"{found.threads} thread{plural}"
    )


@contextmanager
def counter_bar() -> Generator[Callable[[int, int], object]]:
    """Show a progress bar on a terminal; yield a function that updates the bar."""
    console = open_console(stderr=True)
    columns = (
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeRemainingColumn(compact=True),
    )
    is_hidden = not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=is_hidden) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def check_not_existing(*targets: Path | None, overwrite: bool) -> None:
    """Raise if an output file exists and --overwrite is not given."""
    for target in targets:
        if target is not None and target.is_file() and not overwrite:
            raise FileError(f"{target}: already exists; --overwrite replaces it")
