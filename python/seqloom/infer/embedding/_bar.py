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

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from rich.console import Console

    from seqloom.infer.embedding._summary import EmbedSummary, Progress

_NAMES = {
    "input": "waiting for input",
    "host": "preparing and pooling",
    "device": "model",
    "output": "waiting for output",
    "rest": "rest",
}


@contextmanager
def embed_bar(console: Console) -> Generator[Callable[[Progress], None]]:
    """Lends a function that shows how far a job is; nothing where nobody looks."""
    columns = (
        BarColumn(bar_width=24),
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
            bar.update(task, completed=done, rates=_rates(news), visible=True)

        yield tell


def _rates(news: Progress) -> str:
    """Spells speeds, fill and the share of waiting."""
    seconds = max(news.seconds, 1e-9)
    return (
        f"{news.sequences / seconds:,.0f} sequences/s, {news.tokens / seconds:,.0f} "
        f"tokens/s, fill {news.fill:.1%}, waiting {news.waiting:.1%}"
    )


def summary_table(summary: EmbedSummary) -> Table:
    """Lays out what a job did."""
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column()
    table.add_column(justify="right")
    done = f"{summary.computed:,} of {summary.shards:,}"
    table.add_row("records in the folder", f"{summary.records:,}")
    table.add_row("shards computed by this call", done)
    table.add_row("sequences and windows", f"{summary.sequences:,}")
    table.add_row("tokens", f"{summary.tokens:,}")
    table.add_row("seconds", f"{summary.seconds:,.1f}")
    table.add_row("tokens a second", f"{summary.tokens_per_second:,.0f}")
    table.add_row("fill of the batches", f"{summary.fill:.1%}")
    for kind, share in summary.shares.items():
        table.add_row(f"time: {_NAMES[kind]}", f"{share:.1%}")
    return table
