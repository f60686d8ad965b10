"""The learning curve: a panel a quantity, the chosen epoch marked."""

from collections.abc import Sequence
from itertools import chain, cycle, islice
from math import isfinite

from seqloom.report._panels import Plot, Trace
from seqloom.report._tables import curve_table
from seqloom.report._theme import Axes, Figure, Theme, figure, style_axes
from seqloom.report._values import Curve, Section

# One epoch is a point, and two are hardly a line.
FEWEST_FOR_A_LINE = 3


def curve_section(curves: Sequence[Curve], best_epoch: int | None) -> Section:
    """Makes the section of the page: a plot a quantity."""
    return Section(
        title="Learning curve",
        drawings=[_plot(curve, best_epoch) for curve in curves],
        details=curve_table(curves),
    )


def _plot(curve: Curve, best_epoch: int | None) -> Plot:
    """Plots one quantity; what chose the epoch comes first, in the first colour."""
    traces = [_trace(name, values) for name, values in curve.series.items()][::-1]
    if best_epoch is not None:
        every = [value for value in chain(*curve.series.values()) if isfinite(value)]
        ends = (min(every), max(every)) if every else (0.0, 1.0)
        kept = f"epoch {best_epoch}, kept"
        traces.append(Trace(kept, [best_epoch] * 2, ends, shape="guide"))
    return Plot(curve.name, traces, x_label="epoch", y_label=curve.name, is_counted=True)


def _trace(name: str, values: Sequence[float]) -> Trace:
    """Traces one line; one epoch is a point."""
    shape = "line" if len(values) >= FEWEST_FOR_A_LINE else "points"
    return Trace(name, range(1, len(values) + 1), values, shape=shape)


def draw_curves(curves: Sequence[Curve], best_epoch: int | None, theme: Theme) -> Figure:
    """Draws the panels side by side, for a file of their own."""
    whole = figure(5.2 * len(curves), 3.5, theme)
    for axes, curve in zip(
        whole.subplots(1, len(curves), squeeze=False)[0], curves, strict=True
    ):
        style_axes(axes, theme, curve.name)
        kept = "" if best_epoch is None else f"  (kept: {best_epoch})"
        axes.set_xlabel(f"epoch{kept}", fontsize=9)
        _draw_lines(axes, curve, theme)
        if best_epoch is not None:
            _mark(axes, curve, theme, epoch=best_epoch)
    return whole


def _draw_lines(axes: Axes, curve: Curve, theme: Theme) -> None:
    """Draws each series with its name."""
    from matplotlib.ticker import MaxNLocator

    for colour, (name, values) in zip(
        _colours(curve, theme), curve.series.items(), strict=True
    ):
        epochs = range(1, len(values) + 1)
        marker = "o" if len(values) < FEWEST_FOR_A_LINE else None
        axes.plot(epochs, values, marker=marker, color=colour, label=name, lw=2)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    axes.legend(frameon=False, fontsize=9, labelcolor=theme.text, loc="best")


def _mark(axes: Axes, curve: Curve, theme: Theme, *, epoch: int) -> None:
    """Marks the epoch whose weights were kept, on the line that chose it."""
    values, colour = list(curve.series.values())[-1], _colours(curve, theme)[-1]
    axes.axvline(epoch, color=theme.faint_text, lw=1, ls=(0, (3, 3)), zorder=1)
    axes.plot(
        epoch, values[epoch - 1], "o", ms=8, mfc=colour, mec=theme.background, mew=1.5
    )


def _colours(curve: Curve, theme: Theme) -> list[str]:
    """Gives each series its colour; of several, the first is quiet."""
    count = len(curve.series)
    skipped = 1 if count == 1 else 0
    return list(islice(cycle(theme.lines), skipped, skipped + count))
