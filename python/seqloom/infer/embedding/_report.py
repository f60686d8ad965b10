"""Write report.html, with the results of an embedding job and its use of time."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.infer.embedding._job import EmbedJob
from seqloom.infer.embedding._shard_file import read_marker
from seqloom.infer.embedding._summary import ACTIVITY_NAMES
from seqloom.infer.monitor._clock import ACTIVITIES
from seqloom.report import Plot, Report, Section, Table, Tile, Trace, make_page, percent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from seqloom.infer.embedding._settings import EmbedSettings
    from seqloom.infer.embedding._summary import EmbedSummary, Progress
    from seqloom.infer.monitor._clock import TimeMark

_REPORT_NAME = "report.html"
# The maximum number of rows in a table.
_MAX_ROWS = 50
# The minimum seconds that a job must take to be plotted over time.
_MIN_PLOTTED_SECONDS = 5.0
_MAX_PLOT_INTERVALS, _MAX_TABLE_INTERVALS = 150, 15
_STACKING_ORDER = ("device", "host", "input", "output")


def run_job(
    model: Any, settings: EmbedSettings, progress: Callable[[Progress], Any] | None = None
) -> EmbedSummary:
    """Compute the shards of this process; after the last shard, write the report."""
    job = EmbedJob(model, settings, progress)
    summary = job.run()
    write_report(job, summary)
    return summary


def write_report(job: EmbedJob, summary: EmbedSummary) -> None:
    """Write the report of a finished job, unless the report exists."""
    is_last = summary.computed and not summary.missing
    if is_last and _REPORT_NAME not in job.folder.names():
        job.folder.create(_REPORT_NAME, make_page(_make_report(job, summary)))


def _make_report(job: EmbedJob, summary: EmbedSummary) -> Report:
    """Return the report of a job."""
    number = len(job.plan.sources)
    files = f"{number} files" if number > 1 else "one file"
    course = _timeline_section(job)
    whole = ""
    if summary.computed != summary.shards:
        whole = (
            f"This page describes {summary.computed:,} of the {summary.shards:,} shards, "
            "which one process computed in one call. The other shards were computed by "
            "earlier calls or other processes."
        )
    return Report(
        title=f"Embeddings: {Path(job.folder.where('')).absolute().name}",
        lead=f"{summary.records:,} records of {files}, each embedded once. {whole}".strip(),
        tiles=tuple(_make_tiles(summary)),
        notes=(summary.verdict, *summary.notes),
        sections=() if course is None else (course,),
        tables=tuple(_make_tables(job, summary)),
        facts=_list_job_settings(job),
    )


def _make_tiles(summary: EmbedSummary) -> Iterator[Tile]:
    """Yield the key figures of the report."""
    seconds = max(summary.seconds, 1e-9)
    speed = f"{summary.sequences / seconds:,.0f} sequences/s"
    yield Tile("tokens/s", f"{summary.tokens_per_second:,.0f}", note=speed)
    yield Tile("time", _format_time(summary.seconds), note=f"{summary.tokens:,} tokens")
    waiting = percent(summary.shares["input"])
    yield Tile("waiting for input", waiting, note="of the time")
    yield Tile("fill", percent(summary.fill), note="of the batch capacity")


def _format_time(seconds: float) -> str:
    """Format a time in seconds, minutes or hours."""
    if seconds < 60:  # noqa: PLR2004 - a minute
        return f"{seconds:.1f} s"
    minutes, hours = round(seconds / 60), seconds / 3600
    return f"{minutes} min" if minutes < 100 else f"{hours:,.1f} h"  # noqa: PLR2004 - shown


def _make_tables(job: EmbedJob, summary: EmbedSummary) -> Iterator[Table]:
    """Yield the tables of time, files and shards."""
    rows = [
        (ACTIVITY_NAMES[kind], percent(share), f"{share * summary.seconds:,.2f} s")
        for kind, share in summary.shares.items()
    ]
    yield Table("Use of time", ("activity", "share", "time"), rows)
    sources, shards = job.plan.sources, job.plan.shards
    counts = np.zeros(len(sources), np.int64)
    np.add.at(counts, [shard.file for shard in shards], [len(shard) for shard in shards])
    rows = [
        (Path(source.path).name, int(count), source.size)
        for source, count in zip(sources, counts, strict=True)
    ]
    note = f"The first {_MAX_ROWS} of {len(rows):,}." if len(rows) > _MAX_ROWS else ""
    yield Table("Files", ("file", "records", "bytes"), rows[:_MAX_ROWS], note=note)
    if len(shards) <= _MAX_ROWS:
        done = [read_marker(job.folder, shard) for shard in shards]
        rows = [(x.file, x.records, f"{x.first:,}", x.bytes, x.sha256[:12]) for x in done]
        names = ("file", "records", "first ordinal", "bytes", "start of SHA-256")
        yield Table("Shards", names, rows)


def _list_job_settings(job: EmbedJob) -> dict[str, str]:
    """Return the settings that are needed to repeat the job."""
    rules, settings = job.plan.rules, job.settings
    windows = f"windows of {rules.max_length} residues, overlap {rules.overlap}"
    return {
        "model": rules.model,
        "tokens": rules.tokens,
        "layers": ", ".join(map(str, rules.layers)),
        "pool": rules.pool,
        "written as": f"{rules.dtype}, {rules.format}",
        "long sequences": "not divided" if rules.max_length is None else windows,
        "batches": f"at most {settings.max_tokens:,} tokens, "
        + ("packed" if rules.packing else "padded"),
        "device": job.embedder.device.name,
        "threads": str(settings.threads),
        "plan": job.plan.digest,
    }


@dataclass(frozen=True, slots=True)
class JobTimeline:
    """Use of time, speed, batch fill and memory of a job in consecutive intervals."""

    edges: NDArray[np.float64]
    shares: dict[str, NDArray[np.float64]]
    speed: NDArray[np.float64]  # tokens/s
    fill: NDArray[np.float64]
    memory: NDArray[np.float64]  # MiB

    @classmethod
    def of(cls, marks: Sequence[TimeMark], *, spans: int, max_tokens: int) -> JobTimeline:
        """Divide the time of a job into intervals of nearly equal length."""
        # Select the first and last row, and the rows nearest to equal time steps.
        seconds = [mark.seconds for mark in marks]
        wanted = np.linspace(seconds[0], seconds[-1], spans + 1)
        places = np.unique(np.searchsorted(seconds, wanted).clip(0, len(marks) - 1))
        kept: list[TimeMark] = [marks[int(place)] for place in places]
        edges = np.array([mark.seconds for mark in kept])
        spent = np.diff([mark.spent for mark in kept], axis=0)
        tokens = np.diff([mark.tokens for mark in kept])
        batches = np.diff([mark.batches for mark in kept])
        durations = np.maximum(np.diff(edges), 1e-9)
        # A waiting time is recorded when it ends, so it may exceed the length of its
        # interval.
        whole = np.maximum(durations, spent.sum(axis=1))
        return cls(
            edges=edges,
            shares={kind: spent[:, i] / whole for i, kind in enumerate(ACTIVITIES)},
            speed=tokens / durations,
            fill=tokens / np.maximum(batches * max_tokens, 1),
            memory=np.array([mark.memory for mark in kept[1:]]) / 2**20,
        )


def _find_timeline(job: EmbedJob, spans: int) -> JobTimeline | None:
    """Return the timeline of a job; None if the job was short."""
    marks = job.clock.timeline.rows
    if len(marks) < 3 or marks[-1].seconds < _MIN_PLOTTED_SECONDS:  # noqa: PLR2004 - a course
        return None
    return JobTimeline.of(marks, spans=spans, max_tokens=job.settings.max_tokens)


def _timeline_section(job: EmbedJob) -> Section | None:
    """Return plots of time, speed, batch fill and memory; None if the job was short."""
    course = _find_timeline(job, _MAX_PLOT_INTERVALS)
    if course is None:
        return None
    middles = (course.edges[1:] + course.edges[:-1]) / 2
    speed, memory = (
        Plot(title, [Trace("", middles, values)], x_label="seconds")
        for title, values in (("Tokens/s", course.speed), ("Memory (MiB)", course.memory))
    )
    fill = Plot(
        "Batch fill",
        [Trace("", middles, course.fill)],
        x_label="seconds",
        y_range=(0, 1),
        y_scale="share",
    )
    drawings = (_plot_shares(course), speed, fill, memory)
    return Section(title="Timeline", drawings=drawings, details=_timeline_table(job))


def _plot_shares(course: JobTimeline) -> Plot:
    """Plot the fraction of time of each activity as stacked bars."""
    traces: list[Trace] = []
    floor = np.zeros(len(course.speed))
    for kind in _STACKING_ORDER:
        top = floor + course.shares[kind]
        traces.append(
            Trace(ACTIVITY_NAMES[kind], course.edges, top, low=floor, shape="bars")
        )
        floor = top
    return Plot(
        "Shares of time",
        traces,
        x_label="seconds",
        x_range=(float(course.edges[0]), float(course.edges[-1])),
        y_range=(0, 1),
        y_scale="share",
    )


def _timeline_table(job: EmbedJob) -> Table | None:
    """Return the timeline as a table with at most 15 rows."""
    course = _find_timeline(job, _MAX_TABLE_INTERVALS)
    if course is None:
        return None
    shares = [(course.shares[kind] * 100).round().astype(int) for kind in ACTIVITIES]
    columns = [
        [f"{edge:,.1f} s" for edge in course.edges[1:]],
        *(share.tolist() for share in shares),
        course.speed.astype(int).tolist(),
        (course.fill * 100).round().astype(int).tolist(),
        course.memory.astype(int).tolist(),
    ]
    shown = ("input (%)", "host (%)", "model (%)", "output (%)")
    names = ("until", *shown, "tokens/s", "fill (%)", "memory (MiB)")
    rows = list(zip(*columns, strict=True))
    return Table("Use of time, speed, batch fill and memory", names, rows)
