"""Plot time and memory against input size, on logarithmic axes."""

import math
import re
from typing import Any, TypeAlias

from benchmarks._page import BENCHMARKS_PAGE
from benchmarks._processor import name_processor
from benchmarks.scale._growth import FITTED_DECADES, Points, growth_exponent
from benchmarks.scale._sweeps import LOWER_BOUND, UNIT_OF_AXIS, Sweep

# The type is Any, because the type stubs of matplotlib do not type keyword arguments.
Axes: TypeAlias = Any
Figure: TypeAlias = Any

PLOTS_FOLDER = BENCHMARKS_PAGE.with_suffix("")  # directory of the plots
TEXT, FAINT_TEXT, GRID = "#1b2430", "#5d6b7a", "#e4e9ee"
COLOURS = ("#0f766e", "#c2570c", "#6d4bc3", FAINT_TEXT)
MARKER_SHAPES = "osD^"


def write_plot(sweep: Sweep, points: Points) -> str:
    """Write the plot of one sweep as SVG and return the Markdown line that includes it."""
    import matplotlib as mpl

    title = f"{sweep.name}, {name_processor()}"
    name = f"scale-{re.sub(r'[^a-z0-9]+', '-', title.lower()).strip('-')}.svg"
    PLOTS_FOLDER.mkdir(exist_ok=True)
    with mpl.rc_context({"svg.hashsalt": name}):  # Makes the SVG file reproducible.
        _plot_sweep(sweep, points, title).savefig(
            PLOTS_FOLDER / name, metadata={"Date": None}
        )
    return f"![{sweep.name}: time and memory]({PLOTS_FOLDER.name}/{name}){{ loading=lazy }}"


def _plot_sweep(sweep: Sweep, points: Points, title: str) -> Figure:
    """Plot time and memory with one title, and a legend below the plots."""
    whole = _empty_figure()
    whole.get_layout_engine().set(w_pad=0.15, h_pad=0.12)
    whole.suptitle(title, x=0.01, ha="left", color=TEXT, fontsize=13)
    left, right = whole.subplots(1, 2)
    seconds = {side: [each.seconds for each in found] for side, found in points.items()}
    megabytes = {side: [each.megabytes for each in found] for side, found in points.items()}
    megabytes.pop(LOWER_BOUND, None)  # The memory of the lower bound is not measured.
    _draw_panel(left, sweep, seconds)
    _draw_panel(right, sweep, megabytes)
    _style_axes(left, "time")
    _style_axes(right, "memory added at the peak")
    left.set_ylabel("seconds", fontsize=9)
    right.set_ylabel("MB", fontsize=9)
    labels = [_legend_text(sweep, side, [seconds, megabytes]) for side in points]
    below = {"loc": "outside lower left", "ncols": 2, "labelcolor": TEXT}
    legend = whole.legend(left.get_lines(), labels, frameon=False, fontsize=9, **below)
    legend.set_title(f"slopes over the last {FITTED_DECADES} decades", prop={"size": 9})
    legend.get_title().set_color(FAINT_TEXT)
    legend.set_alignment("left")
    return whole


def _empty_figure() -> Figure:
    """Return a matplotlib figure without a display or global state."""
    from matplotlib import figure

    return figure.Figure((9.6, 4.6), facecolor="#ffffff", layout="constrained")


def _style_axes(axes: Axes, title: str) -> None:
    """Set the style of axes: the title on the left, a faint grid, no box."""
    axes.set_facecolor("#ffffff")
    axes.set_title(title, loc="left", color=TEXT, fontsize=11, fontweight="bold", pad=10)
    axes.tick_params(colors=FAINT_TEXT, labelsize=9, length=0)
    axes.grid(visible=True, color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[:].set_visible(False)
    axes.xaxis.label.set_color(FAINT_TEXT)
    axes.yaxis.label.set_color(FAINT_TEXT)


def _draw_panel(axes: Axes, sweep: Sweep, values: dict[str, list[float]]) -> None:
    """Plot one line per library, and a dotted line for the lower bound."""
    for number, (side, found) in enumerate(values.items()):
        style = {"color": TEXT, "lw": 1.2, "ls": ":"}
        if side != LOWER_BOUND:
            style = {"color": COLOURS[number], "lw": 1.8, "marker": MARKER_SHAPES[number]}
        # The line of seqloom is drawn last, with outlined markers.
        style |= {"ms": 7 if number else 5, "zorder": 9 - number}
        axes.loglog(sweep.values, found, clip_on=False, **style)
    axes.set_xticks(sweep.values, [f"{each:,}" for each in sweep.values])
    axes.minorticks_off()
    axes.tick_params(pad=7)  # Markers can overlap the lowest line.
    axes.set_ylim(*_decade_limits([y for found in values.values() for y in found]))
    axes.set_xlabel(UNIT_OF_AXIS[sweep.axis], fontsize=9)


def _legend_text(sweep: Sweep, side: str, quantities: list[dict[str, list[float]]]) -> str:
    """Return the legend text of a library: its name and its slopes."""
    slopes = [
        f"{growth_exponent(sweep.values, each[side], decades=FITTED_DECADES):z.2f}"
        for each in quantities
        if side in each
    ]
    return f"{side}: time {', memory '.join(slopes)}"


def _decade_limits(values: list[float]) -> tuple[float, float]:
    """Return the powers of ten directly below and above the range of all values."""
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return 10.0**low, 10.0 ** max(high, low + 1)
