"""All pictures of a report, or none where matplotlib is not installed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec

from seqloom.report._confusion import draw_confusion
from seqloom.report._curve import draw_curves
from seqloom.report._draw_panels import draw_alone
from seqloom.report._scatter import draw_scatters
from seqloom.report._theme import LIGHT, Picture, draw_in_both_themes, to_png
from seqloom.report._values import Confusion, Report


@dataclass(frozen=True, slots=True, kw_only=True)
class Pictures:
    """Holds what could be drawn; ``drawable`` is false without matplotlib."""

    drawable: bool
    confusions: Sequence[Picture] = ()
    course: Sequence[Picture] = ()


def draw(report: Report) -> Pictures:
    """Draws what the report has numbers for."""
    if find_spec("matplotlib") is None:
        return Pictures(drawable=False)
    return Pictures(
        drawable=True,
        confusions=[_confusion(confusion) for confusion in report.confusions],
        course=[
            draw_in_both_themes(partial(draw_alone, it), it.title) for it in report.course
        ],
    )


def draw_files(report: Report, pictures: Pictures) -> Iterator[tuple[str, bytes]]:
    """Draws the pictures that get a file of their own; files are always light."""
    if not pictures.drawable:
        return
    if report.curves:
        drawing = partial(draw_curves, report.curves, report.best_epoch)
        yield "learning-curve.png", to_png(drawing, LIGHT)
    if pictures.confusions:
        yield "confusion.png", pictures.confusions[0].light
    if report.scatters:
        yield "scatter.png", to_png(partial(draw_scatters, report.scatters), LIGHT)


def _confusion(confusion: Confusion) -> Picture:
    """Draws one confusion matrix."""
    alt_text = f"{confusion.name}: {confusion.correct:,} of {confusion.total:,} right"
    return draw_in_both_themes(partial(draw_confusion, confusion), alt_text)
