"""Panels drawn side by side, two a row, and written as one PNG file."""

from collections.abc import Sequence
from functools import partial, singledispatch
from importlib.util import find_spec
from itertools import cycle
from os import PathLike

from seqloom._files import write_atomic
from seqloom.errors import MissingExtraError
from seqloom.report._panels import Areas, Bars, Lines, Panel, Quantiles, Shares
from seqloom.report._theme import LIGHT, Axes, Figure, Theme, figure, style_axes, to_png

_COLUMNS = 2
# Bases have colours of their own: places in the theme's lines, and behind them its ink.
_OF_BASES = {"A": 1, "C": 3, "G": 2, "T": 0, "U": 0, "N": 4}


def write_panels(path: str | PathLike[str], title: str, panels: Sequence[Panel]) -> None:
    """Draws panels under one title and writes them as a PNG file, whole or not at all.

    Args:
        path: The file.
        title: What stands above the panels.
        panels: What is drawn, from left to right and from top to bottom.

    Raises:
        MissingExtraError: matplotlib is not installed.
        FileError: The file cannot be written.

    Examples:
        >>> from pathlib import Path
        >>> write_panels("a.png", "a.fa", [Bars("lengths", [1, 5, 9], [3, 4])])
        >>> Path("a.png").read_bytes()[1:4]
        b'PNG'
    """
    if find_spec("matplotlib") is None:
        raise MissingExtraError(
            "a picture needs matplotlib: pip install matplotlib; the numbers are "
            "there without it"
        )
    write_atomic(path, to_png(partial(_draw, title, panels), LIGHT))


def _draw(title: str, panels: Sequence[Panel], theme: Theme) -> Figure:
    """Draws all panels."""
    columns = min(len(panels), _COLUMNS)
    rows = -(-len(panels) // columns)
    whole = figure(5.4 * columns, 3.2 * rows + 0.4, theme)
    whole.get_layout_engine().set(w_pad=0.15, h_pad=0.12)
    whole.suptitle(title, x=0.01, ha="left", color=theme.text, fontsize=13)
    grid = whole.subplots(rows, columns, squeeze=False).ravel()
    for axes, panel in zip(grid, panels, strict=False):
        style_axes(axes, theme, panel.title)
        _draw_panel(panel, axes, theme)
    for axes in grid[len(panels) :]:
        axes.set_visible(False)
    return whole


def draw_alone(panel: Panel, theme: Theme) -> Figure:
    """Draws one panel as a figure of its own."""
    whole = figure(5.4, 3.0, theme)
    axes = whole.subplots()
    style_axes(axes, theme, panel.title)
    _draw_panel(panel, axes, theme)
    return whole


@singledispatch
def _draw_panel(panel: Panel, axes: Axes, theme: Theme) -> None:
    """Draws one panel."""
    raise TypeError(f"no picture of {panel}, {axes}, {theme}")


@_draw_panel.register
def _(panel: Bars, axes: Axes, theme: Theme) -> None:
    """Draws counts as bars that touch."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axes.stairs(panel.counts, panel.edges, fill=True, color=theme.accent)
    axes.set_xlabel(panel.axis, fontsize=9)
    axes.set_ylabel(panel.unit, fontsize=9)
    axes.grid(visible=False, axis="x")
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    axes.yaxis.set_major_formatter(FuncFormatter(_spell))
    if panel.is_wide:
        axes.set_xscale("log")
    else:
        is_whole = all(float(edge).is_integer() for edge in panel.edges)
        steps = {"integer": True} if is_whole else {"steps": [1, 2, 5, 10]}
        axes.xaxis.set_major_locator(MaxNLocator(8, **steps))
    if len(panel.counts) == 1:  # one bar, not a wall
        axes.set_xlim(panel.edges[0] - 3, panel.edges[1] + 3)
    axes.xaxis.set_major_formatter(FuncFormatter(_spell))


@_draw_panel.register
def _(panel: Lines, axes: Axes, theme: Theme) -> None:
    """Draws a line for each name, and the band behind them."""
    from matplotlib.ticker import FuncFormatter, PercentFormatter

    if panel.band is not None:
        name, low, high = panel.band
        axes.fill_between(
            panel.places, low, high, color=theme.accent, alpha=0.18, lw=0, label=name
        )
    colours = (*theme.lines, theme.text)
    for number, (name, values) in enumerate(panel.series.items()):
        colour = colours[_OF_BASES.get(name, number + 1) % len(colours)]
        axes.plot(panel.places, values, color=colour, lw=1.8, label=name)
    axes.set_xlabel(panel.axis, fontsize=9)
    axes.set_ylim(0, panel.top)
    if len(panel.series) > 1 or panel.band is not None:  # one line is what the title says
        axes.legend(frameon=False, fontsize=9, labelcolor=theme.text, loc="best", ncols=3)
    axes.yaxis.set_major_formatter(
        PercentFormatter(1, decimals=0) if panel.is_share else FuncFormatter(_spell)
    )


@_draw_panel.register
def _(panel: Areas, axes: Axes, theme: Theme) -> None:
    """Draws areas on each other, each as a step for each span."""
    from matplotlib.ticker import PercentFormatter

    floor = [0.0] * (len(panel.edges) - 1)
    colours = (theme.accent, theme.lines[0], theme.lines[2], theme.lines[3])
    for (name, values), colour in zip(panel.series.items(), cycle(colours), strict=False):
        top = [low + value for low, value in zip(floor, values, strict=True)]
        axes.stairs(
            top, panel.edges, baseline=floor, fill=True, color=colour, lw=0, label=name
        )
        floor = top
    axes.set_xlabel(panel.axis, fontsize=9)
    axes.set_ylim(0, 1)
    axes.set_xlim(panel.edges[0], panel.edges[-1])
    axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    axes.figure.legend(
        frameon=False,
        fontsize=9,
        labelcolor=theme.text,
        loc="outside lower center",
        ncols=2,
    )


@_draw_panel.register
def _(panel: Shares, axes: Axes, theme: Theme) -> None:
    """Draws a bar for each name."""
    from matplotlib.ticker import PercentFormatter

    axes.bar(list(panel.shares), list(panel.shares.values()), color=theme.accent, width=0.8)
    axes.grid(visible=False, axis="x")
    axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))


@_draw_panel.register
def _(panel: Quantiles, axes: Axes, theme: Theme) -> None:
    """Draws a point for each quantile, and the line on which chance alone would put it."""
    end = max(panel.expected, default=1)
    axes.plot(
        [0, end], [0, end], color=theme.faint_text, lw=1, ls="--", label="chance alone"
    )
    axes.scatter(
        panel.expected,
        panel.observed,
        s=9,
        color=theme.accent,
        lw=0,
        zorder=3,
        label="found",
    )
    axes.set_xlabel("expected -log10 p", fontsize=9)
    axes.set_ylabel("observed -log10 p", fontsize=9)
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False, fontsize=9, labelcolor=theme.text, loc="upper left")


def _spell(value: float, place: int | None = None) -> str:
    """Spells a number at an axis."""
    del place  # part of the protocol
    return f"{value:,.10g}"
