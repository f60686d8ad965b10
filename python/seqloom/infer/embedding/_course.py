"""The course of a job: shares of time, speed, fill and memory by time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from seqloom.infer.embedding._summary import SPENT_ON
from seqloom.infer.monitor._clock import KINDS
from seqloom.report import Areas, Lines, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from seqloom.infer.embedding._job import Job
    from seqloom.infer.monitor._clock import Mark

# A job that is over sooner has no course to look at, and its picture would take longer.
_LEAST_SECONDS = 5.0
_MOST_SPANS, _MOST_ROWS = 150, 15
_FROM_BELOW = ("device", "host", "input", "output")


@dataclass(frozen=True, slots=True)
class Course:
    """What happened between one moment and the next."""

    edges: NDArray[np.float64]
    shares: dict[str, NDArray[np.float64]]
    speed: NDArray[np.float64]  # tokens/s
    fill: NDArray[np.float64]
    memory: NDArray[np.float64]  # MiB

    @classmethod
    def of(cls, marks: Sequence[Mark], *, spans: int, max_tokens: int) -> Course:
        """Divides the time of a job into spans, as equal as its batches allow."""
        kept = _thin(marks, spans)
        edges = np.array([mark.seconds for mark in kept])
        spent = np.diff([mark.spent for mark in kept], axis=0)
        tokens = np.diff([mark.tokens for mark in kept])
        batches = np.diff([mark.batches for mark in kept])
        seconds = np.maximum(np.diff(edges), 1e-9)
        # A wait counts when it ends: where that is, there may be more of it than time.
        whole = np.maximum(seconds, spent.sum(axis=1))
        return cls(
            edges=edges,
            shares={kind: spent[:, i] / whole for i, kind in enumerate(KINDS)},
            speed=tokens / seconds,
            fill=tokens / np.maximum(batches * max_tokens, 1),
            memory=np.array([mark.memory for mark in kept[1:]]) / 2**20,
        )


def _thin(marks: Sequence[Mark], spans: int) -> list[Mark]:
    """Keeps the first and the last mark, and between them the nearest to equal steps."""
    seconds = [mark.seconds for mark in marks]
    wanted = np.linspace(seconds[0], seconds[-1], spans + 1)
    places = np.unique(np.searchsorted(seconds, wanted).clip(0, len(marks) - 1))
    return [marks[place] for place in places]


def _course(job: Job, spans: int) -> Course | None:
    """Makes the course of a job that took long enough to have one."""
    marks = job.clock.timeline.rows
    if len(marks) < 3 or marks[-1].seconds < _LEAST_SECONDS:  # noqa: PLR2004 - a course
        return None
    return Course.of(marks, spans=spans, max_tokens=job.settings.max_tokens)


def course_panels(job: Job) -> tuple[Areas | Lines, ...]:
    """Draws where the time went, the speed, the fill and the memory."""
    course = _course(job, _MOST_SPANS)
    if course is None:
        return ()
    shares = {SPENT_ON[kind]: course.shares[kind].tolist() for kind in _FROM_BELOW}
    middles = ((course.edges[1:] + course.edges[:-1]) / 2).tolist()
    seconds = "seconds"
    return (
        Areas("Shares of the time", course.edges.tolist(), shares, axis=seconds),
        Lines("Tokens/s", middles, {"": course.speed.tolist()}, axis=seconds),
        Lines(
            "Fill of the batches",
            middles,
            {"": course.fill.tolist()},
            axis=seconds,
            top=1.05,
            is_share=True,
        ),
        Lines("Memory (MiB)", middles, {"": course.memory.tolist()}, axis=seconds),
    )


def course_table(job: Job) -> Table | None:
    """Spells the course out in a few rows."""
    course = _course(job, _MOST_ROWS)
    if course is None:
        return None
    shares = [(course.shares[kind] * 100).round().astype(int) for kind in KINDS]
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
    return Table("Shares, speed, fill and memory by time", names, rows)
