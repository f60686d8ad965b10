"""report.html: what a job computed, and where its time went."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from seqloom.infer.embedding._course import course_panels, course_table
from seqloom.infer.embedding._shard_file import read_done
from seqloom.infer.embedding._summary import SPENT_ON
from seqloom.report import Report, Table, Tile, make_page, percent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from seqloom.infer.embedding._job import Job
    from seqloom.infer.embedding._summary import EmbedSummary

REPORT = "report.html"
# With more shards or files than this a table of them is no reading.
_MOST_ROWS = 50


def write_report(job: Job, summary: EmbedSummary) -> None:
    """Writes the report, once; a call that computed nothing has nothing to tell."""
    if summary.computed and REPORT not in job.folder.names():
        job.folder.create(REPORT, [make_page(make_report(job, summary))])


def make_report(job: Job, summary: EmbedSummary) -> Report:
    """Says what was computed and how long it took."""
    plan = job.plan
    files = f"{len(plan.sources)} files" if len(plan.sources) > 1 else "one file"
    whole = "" if summary.computed == summary.shards else _part(summary)
    return Report(
        title=f"Embeddings: {Path(job.folder.where('')).absolute().name}",
        lead=f"{summary.records:,} records of {files}, each embedded once. {whole}".strip(),
        tiles=tuple(_tiles(summary)),
        notes=(summary.verdict, *summary.notes),
        course=course_panels(job),
        course_table=course_table(job),
        tables=tuple(_tables(job, summary)),
        facts=_facts(job),
    )


def _part(summary: EmbedSummary) -> str:
    """Says that this page is about a part of the work."""
    return (
        f"This page is about {summary.computed:,} of the {summary.shards:,} shards: those "
        "that one process computed in one go. The others were there before, or other "
        "processes made them."
    )


def _tiles(summary: EmbedSummary) -> Iterator[Tile]:
    """Picks the key figures."""
    seconds = max(summary.seconds, 1e-9)
    speed = f"{summary.sequences / seconds:,.0f} sequences/s"
    yield Tile("tokens/s", f"{summary.tokens_per_second:,.0f}", note=speed)
    yield Tile("time", _spell_time(summary.seconds), note=f"{summary.tokens:,} tokens")
    waiting = percent(summary.shares["input"])
    yield Tile("waiting for input", waiting, note="of the time")
    yield Tile("fill", percent(summary.fill), note="of the room in batches")


def _spell_time(seconds: float) -> str:
    """Spells a time as a person says it."""
    if seconds < 60:  # noqa: PLR2004 - a minute
        return f"{seconds:.1f} s"
    minutes, hours = round(seconds / 60), seconds / 3600
    return f"{minutes} min" if minutes < 100 else f"{hours:,.1f} h"  # noqa: PLR2004 - shown


def _tables(job: Job, summary: EmbedSummary) -> Iterator[Table]:
    """Makes the tables."""
    rows = [
        (SPENT_ON[kind], percent(share), f"{share * summary.seconds:,.2f} s")
        for kind, share in summary.shares.items()
    ]
    yield Table("Where the time went", ("what", "share", "time"), rows)
    yield _table_of_files(job)
    if len(job.plan.shards) <= _MOST_ROWS:
        yield _table_of_shards(job)


def _table_of_files(job: Job) -> Table:
    """Lists the files, with their records."""
    sources, shards = job.plan.sources, job.plan.shards
    counts = np.zeros(len(sources), np.int64)
    np.add.at(counts, [shard.file for shard in shards], [len(shard) for shard in shards])
    rows = [
        (Path(source.path).name, int(count), source.size)
        for source, count in zip(sources, counts, strict=True)
    ]
    note = f"The first {_MOST_ROWS} of {len(rows):,}." if len(rows) > _MOST_ROWS else ""
    return Table("Files", ("file", "records", "bytes"), rows[:_MOST_ROWS], note=note)


def _table_of_shards(job: Job) -> Table:
    """Lists the shards, whoever computed them."""
    done = [read_done(job.folder, shard) for shard in job.plan.shards]
    rows = [(it.file, it.records, f"{it.first:,}", it.bytes, it.sha256[:12]) for it in done]
    names = ("file", "records", "first ordinal", "bytes", "sha256 begins")
    return Table("Shards", names, rows)


def _facts(job: Job) -> dict[str, str]:
    """Lists what another person needs to run it again."""
    rules, settings = job.plan.rules, job.settings
    windows = f"windows of {rules.max_length} letters, {rules.overlap} of them shared"
    return {
        "model": rules.model,
        "tokens": rules.tokens,
        "layers": ", ".join(map(str, rules.layers)),
        "pool": rules.pool,
        "written as": f"{rules.dtype}, {rules.format}",
        "long sequences": "whole" if rules.max_length is None else windows,
        "batches": f"{settings.max_tokens:,} tokens at most, "
        + ("packed" if rules.packing else "padded"),
        "device": job.embedder.device.name,
        "threads": str(settings.threads),
        "plan": job.digest,
    }
