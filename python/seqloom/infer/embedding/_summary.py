"""The results of an embedding job as values and a table, and its progress bar."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from rich.console import Console
    from rich.table import Table

# Activity -> its description in the summary.
ACTIVITY_NAMES = {
    "input": "waiting for input",
    "host": "preparing and pooling",
    "device": "model",
    "output": "waiting for output",
    "rest": "rest",
}

# Minimum terminal widths for the full and for the short text of the progress bar.
_FULL_BAR_WIDTH, _SHORT_BAR_WIDTH = 125, 80


@dataclass(frozen=True, slots=True)
class EmbedSummary:
    """The results of a call of `embed`.

    Attributes:
        records: The number of records in all shards of the job.
        shards: The number of shards of the job.
        computed: The number of shards that this call computed and published.
        sequences: The number of sequences, or windows, that this call embedded.
        tokens: The number of tokens that this call embedded.
        seconds: The seconds that this call took, without loading the model.
        shares: The fraction of time of each activity. ``input`` is waiting for batches.
            ``host`` is preparing and pooling on the CPU. ``device`` is running the model.
            ``output`` is waiting for the writer thread. ``rest`` is other work, such as
            opening the files.
        fill: The number of tokens divided by the maximum that the batches could contain.
        verdict: A sentence about the activity that limits the speed; see `Bottleneck`.
        notes: Notes for the user, for example that memory was full.
        missing: The number of shards that were not published at the end of this call. If
            the number is 0, the folder contains all records.

    Examples:
        >>> from pathlib import Path
        >>> import seqloom as sl
        >>> _ = Path("a.fa").write_text(">x\\nMKT\\n>y\\nMK\\n")
        >>> def count_tokens(batch):
        ...     return batch["input_ids"][:, None].astype("float32")
        >>> summary = sl.infer.embed(count_tokens, "a.fa", out="embeddings")
        >>> summary.records, summary.computed, summary.sequences, summary.tokens
        (2, 1, 2, 9)
    """

    records: int
    shards: int
    computed: int
    sequences: int
    tokens: int
    seconds: float
    shares: dict[str, float]
    fill: float
    verdict: str
    notes: tuple[str, ...] = ()
    missing: int = 0

    @property
    def tokens_per_second(self) -> float:
        """The number of tokens per second."""
        return self.tokens / self.seconds if self.seconds else 0.0


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a job, which `embed` reports after each batch.

    Attributes:
        records: The number of records of the job, or of the part that this call computes.
        done: The number of records that are in published shards.
        sequences: The number of sequences, or windows, that this call embedded.
        tokens: The number of tokens that this call embedded.
        seconds: The seconds since the start of the call.
        fill: The number of tokens divided by the maximum that the batches could contain.
        waiting: The fraction of the time in which the model waited for batches.

    Examples:
        >>> from pathlib import Path
        >>> import seqloom as sl
        >>> _ = Path("a1.fa").write_text(">x\\nMKT\\n")
        >>> def count_tokens(batch):
        ...     return batch["input_ids"][:, None].astype("float32")
        >>> seen = []
        >>> _ = sl.infer.embed(count_tokens, "a1.fa", out="e1", progress=seen.append)
        >>> seen[-1].records, seen[-1].done
        (1, 1)
    """

    records: int
    done: int
    sequences: int
    tokens: int
    seconds: float
    fill: float
    waiting: float


@contextmanager
def embed_bar(console: Console) -> Generator[Callable[[Progress], None]]:
    """Yield a function that updates a progress bar, or does nothing without a terminal."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress as RichProgress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        BarColumn(bar_width=24 if console.width >= _FULL_BAR_WIDTH else 10),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rates]}"),
        TimeRemainingColumn(),
    )
    with RichProgress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task("", total=None, visible=False, rates="")
        before: list[int] = []

        def report(progress: Progress) -> None:
            # The speed excludes shards that earlier calls finished.
            if not before:
                before.append(progress.done)
                bar.reset(task, total=progress.records, completed=progress.done)
            done = max(progress.done, min(before[0] + progress.sequences, progress.records))
            rates = _format_rates(progress, console.width)
            # The total grows, because each process adds its records when it starts.
            bar.update(
                task, total=progress.records, completed=done, rates=rates, visible=True
            )

        yield report


def _format_rates(progress: Progress, width: int) -> str:
    """Format speed, batch fill and waiting time to fit the width of the terminal."""
    seconds = max(progress.seconds, 1e-9)
    sequences, tokens = progress.sequences / seconds, progress.tokens / seconds
    if width < _SHORT_BAR_WIDTH:
        return f"{sequences:,.0f}/s, waiting {progress.waiting:.0%}"
    if width < _FULL_BAR_WIDTH:
        speed = f"{sequences:,.0f} seq/s {_format_short_number(tokens)} tok/s"
        return f"{speed} fill {progress.fill:.0%} wait {progress.waiting:.1%}"
    return (
        f"{sequences:,.0f} sequences/s, {tokens:,.0f} tokens/s, "
        f"fill {progress.fill:.1%}, waiting {progress.waiting:.1%}"
    )


def _format_short_number(number: float) -> str:
    """Format a large number in three or four characters."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            value = number / size
            return f"{value:.1f}{letter}" if value < 10 else f"{value:.0f}{letter}"  # noqa: PLR2004 - shown
    return f"{number:.0f}"


def summary_table(summary: EmbedSummary) -> Table:
    """Return a table of the results of a job."""
    from rich.table import Table

    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column()
    table.add_column(justify="right")
    done = f"{summary.computed:,} of {summary.shards:,}"
    name = "records of the job" if summary.missing else "records in the folder"
    table.add_row(name, f"{summary.records:,}")
    table.add_row("shards computed by this call", done)
    if summary.missing:
        table.add_row("unfinished shards of other parts", f"{summary.missing:,}")
    if not summary.computed:
        return table
    table.add_row("sequences and windows", f"{summary.sequences:,}")
    table.add_row("tokens", f"{summary.tokens:,}")
    table.add_row("seconds", f"{summary.seconds:,.1f}")
    table.add_row("tokens per second", f"{summary.tokens_per_second:,.0f}")
    table.add_row("batch fill", f"{summary.fill:.1%}")
    for kind, share in summary.shares.items():
        table.add_row(f"time: {ACTIVITY_NAMES[kind]}", f"{share:.1%}")
    return table
