"""The bar of a job, and the table at its end."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress as RichProgress,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from seqloom.infer.embedding._summary import SPENT_ON

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from rich.console import Console

    from seqloom.infer.embedding._summary import EmbedSummary, Progress


# Columns of a terminal from which on all words fit, or at least their short forms.
_WIDE, _NARROW = 125, 80


@contextmanager
def embed_bar(console: Console) -> Generator[Callable[[Progress], None]]:
    """Lends a function that shows how far a job is; nothing where nobody looks."""
    columns = (
        BarColumn(bar_width=24 if console.width >= _WIDE else 10),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rates]}"),
        TimeRemainingColumn(),
    )
    with RichProgress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task("", total=None, visible=False, rates="")
        before: list[int] = []

        def tell(news: Progress) -> None:
            # What was finished before this call tells nothing of its speed.
            if not before:
                before.append(news.done)
                bar.reset(task, total=news.records, completed=news.done)
            done = max(news.done, min(before[0] + news.sequences, news.records))
            bar.update(
                task, completed=done, rates=_rates(news, console.width), visible=True
            )

        yield tell


def _rates(news: Progress, width: int) -> str:
    """Spells speeds, fill and the share of waiting, as the terminal has room for."""
    seconds = max(news.seconds, 1e-9)
    sequences, tokens = news.sequences / seconds, news.tokens / seconds
    if width < _NARROW:
        return f"{sequences:,.0f}/s, waiting {news.waiting:.0%}"
    if width < _WIDE:
        speed = f"{sequences:,.0f} seq/s {_shorten(tokens)} tok/s"
        return f"{speed} fill {news.fill:.0%} wait {news.waiting:.1%}"
    return (
        f"{sequences:,.0f} sequences/s, {tokens:,.0f} tokens/s, "
        f"fill {news.fill:.1%}, waiting {news.waiting:.1%}"
    )


def _shorten(number: float) -> str:
    """Spells a large number in three or four letters."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            value = number / size
            return f"{value:.1f}{letter}" if value < 10 else f"{value:.0f}{letter}"  # noqa: PLR2004 - shown
    return f"{number:.0f}"


def summary_table(summary: EmbedSummary) -> Table:
    """Lays out what a job did."""
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column()
    table.add_column(justify="right")
    done = f"{summary.computed:,} of {summary.shards:,}"
    table.add_row("records in the folder", f"{summary.records:,}")
    table.add_row("shards computed by this call", done)
    if not summary.computed:
        return table
    table.add_row("sequences and windows", f"{summary.sequences:,}")
    table.add_row("tokens", f"{summary.tokens:,}")
    table.add_row("seconds", f"{summary.seconds:,.1f}")
    table.add_row("tokens a second", f"{summary.tokens_per_second:,.0f}")
    table.add_row("fill of the batches", f"{summary.fill:.1%}")
    for kind, share in summary.shares.items():
        table.add_row(f"time: {SPENT_ON[kind]}", f"{share:.1%}")
    return table
