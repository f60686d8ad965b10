"""All pictures of a report, or none where matplotlib is not installed."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec

from seqloom.report._confusion import draw_confusion
from seqloom.report._curve import draw_curves
from seqloom.report._draw_panels import draw_alone
from seqloom.report._scatter import draw_scatters
from seqloom.report._theme import Picture, paint
from seqloom.report._values import Confusion, Curve, Report, Scatter


@dataclass(frozen=True, slots=True, kw_only=True)
class Pictures:
    """Holds what could be drawn; ``drawable`` is false without matplotlib."""

    drawable: bool
    curve: Picture | None = None
    confusions: Sequence[Picture] = ()
    scatter: Picture | None = None
    course: Sequence[Picture] = ()


def draw(report: Report) -> Pictures:
    """Draws what the report has numbers for."""
    if find_spec("matplotlib") is None:
        return Pictures(drawable=False)
    return Pictures(
        drawable=True,
        curve=_curve(report.curves, report.best_epoch) if report.curves else None,
        confusions=[_confusion(confusion) for confusion in report.confusions],
        scatter=_scatter(report.scatters) if report.scatters else None,
        course=[paint(partial(draw_alone, it), it.title) for it in report.course],
    )


def _curve(curves: Sequence[Curve], best_epoch: int | None) -> Picture:
    """Draws the learning curve."""
    names = " and ".join(curve.name for curve in curves)
    kept = f"; epoch {best_epoch} was kept" if best_epoch else ""
    return paint(partial(draw_curves, curves, best_epoch), f"{names} by epoch{kept}")


def _confusion(confusion: Confusion) -> Picture:
    """Draws one confusion matrix."""
    words = f"{confusion.name}: {confusion.correct:,} of {confusion.total:,} right"
    return paint(partial(draw_confusion, confusion), words)


def _scatter(scatters: Sequence[Scatter]) -> Picture:
    """Draws the regression outputs."""
    names = ", ".join(scatter.name for scatter in scatters)
    return paint(partial(draw_scatters, scatters), f"true against predicted: {names}")
