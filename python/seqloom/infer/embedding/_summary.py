"""What a job did and how far it is, as values, as a bar and as a table."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from rich.console import Console
    from rich.table import Table

# The kinds of time, for a person.
SPENT_ON = {
    "input": "waiting for input",
    "host": "preparing and pooling",
    "device": "model",
    "output": "waiting for output",
    "rest": "rest",
}

# Columns of a terminal in which all words of the bar fit, or their short forms.
_WIDE, _NARROW = 125, 80


@dataclass(frozen=True, slots=True)
class EmbedSummary:
    """What a call of `embed` did.

    Attributes:
        records: Records of the job.
        shards: Shards of the job.
        computed: Shards that this call computed and published; another call computed the
            others, or will.
        sequences: Sequences, or windows of them, that this call embedded.
        tokens: Their tokens.
        seconds: Seconds that this call took, without loading the model.
        shares: Shares of the time by what it was spent on: ``input``, waiting for batches;
            ``host``, preparing and pooling them; ``device``, the model; ``output``, waiting
            for what writes; ``rest``, such as the first look at the files.
        fill: Tokens by tokens that the batches could have held.
        verdict: What the job spent its time on, a sentence with its number; `Bottleneck`
            says how it is found.
        notes: What a person should know, such as that memory was full.
        missing: Shards of other parts that were not published when this call ended; with
            0 all records are in the folder.

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
        """Tokens that this call embedded in a second."""
        return self.tokens / self.seconds if self.seconds else 0.0


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a job is, as `embed` tells its caller after each batch.

    Attributes:
        records: Records of the job, or of the part of it that this call computes.
        done: Those of them that are in published shards.
        sequences: Sequences, or windows of them, that this call embedded.
        tokens: Their tokens.
        seconds: Seconds since the call began.
        fill: Tokens by tokens that the batches could have held.
        waiting: Share of the time in which the model waited for batches.

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
    """Return a function that shows how far a job is, if the console is a terminal."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress as RichProgress,
        TextColumn,
        TimeRemainingColumn,
    )

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
            # The speed is that of this call, without what was finished before it.
            if not before:
                before.append(news.done)
                bar.reset(task, total=news.records, completed=news.done)
            done = max(news.done, min(before[0] + news.sequences, news.records))
            rates = _rates(news, console.width)
            # Processes that have just started add their parts to the total.
            bar.update(task, total=news.records, completed=done, rates=rates, visible=True)

        yield tell


def _rates(news: Progress, width: int) -> str:
    """Write speeds, fill and the share of waiting, as the terminal has room for."""
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
    """Write a large number in three or four characters."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            value = number / size
            return f"{value:.1f}{letter}" if value < 10 else f"{value:.0f}{letter}"  # noqa: PLR2004 - shown
    return f"{number:.0f}"


def summary_table(summary: EmbedSummary) -> Table:
    """Return a table of what a job did."""
    from rich.table import Table

    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column()
    table.add_column(justify="right")
    done = f"{summary.computed:,} of {summary.shards:,}"
    name = "records of the job" if summary.missing else "records in the folder"
    table.add_row(name, f"{summary.records:,}")
    table.add_row("shards computed by this call", done)
    if summary.missing:
        table.add_row("shards left to other parts", f"{summary.missing:,}")
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
