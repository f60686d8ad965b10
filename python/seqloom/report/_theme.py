"""Colours and canvas: every picture is drawn for a light page and for a dark one."""

from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from typing import Any, TypeAlias
from warnings import catch_warnings, filterwarnings

# matplotlib's own stubs leave every keyword's type unknown: to a strict checker, Any.
Axes: TypeAlias = Any
Figure: TypeAlias = Any

DOTS_PER_INCH = 180


@dataclass(frozen=True, slots=True, kw_only=True)
class Theme:
    """Holds the colours of one kind of page."""

    paper: str
    ink: str
    quiet: str
    grid: str
    lines: tuple[str, ...]
    accent: str
    wrong: str


LIGHT = Theme(
    paper="#ffffff",
    ink="#1b2430",
    quiet="#5d6b7a",
    grid="#e4e9ee",
    lines=("#8a97a6", "#0f766e", "#c2570c", "#6d4bc3"),
    accent="#0f766e",
    wrong="#c2570c",
)
DARK = Theme(
    paper="#151b22",
    ink="#e8edf2",
    quiet="#98a6b5",
    grid="#2a343f",
    lines=("#77879a", "#2dd4bf", "#fb923c", "#a78bfa"),
    accent="#2dd4bf",
    wrong="#fb923c",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """Holds one drawing as two PNG files and the words that stand in for it."""

    light: bytes
    dark: bytes
    words: str


def paint(drawing: Callable[[Theme], Figure], words: str) -> Picture:
    """Draws the same figure in both themes."""
    return Picture(light=to_png(drawing, LIGHT), dark=to_png(drawing, DARK), words=words)


def figure(width: float, height: float, theme: Theme) -> Figure:
    """Starts a figure of so many inches; no display and no global state is touched."""
    from matplotlib import figure as matplotlib_figure

    return matplotlib_figure.Figure(
        (width, height), facecolor=theme.paper, layout="constrained"
    )


def dress(axes: Axes, theme: Theme, title: str) -> None:
    """Gives axes their colours: a title to the left, a quiet grid, no box."""
    axes.set_facecolor(theme.paper)
    axes.set_title(
        title, loc="left", color=theme.ink, fontsize=11, fontweight="bold", pad=10
    )
    axes.tick_params(colors=theme.quiet, labelsize=9, length=0)
    axes.grid(visible=True, color=theme.grid, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[:].set_visible(False)
    axes.xaxis.label.set_color(theme.quiet)
    axes.yaxis.label.set_color(theme.quiet)


def to_png(drawing: Callable[[Theme], Figure], theme: Theme) -> bytes:
    """Draws once and returns the bytes of a PNG file."""
    buffer = BytesIO()
    with catch_warnings():
        # The font of matplotlib lacks many scripts; the page has the names as text too.
        filterwarnings("ignore", r"Glyph \d+ .* missing from", UserWarning)
        drawing(theme).savefig(buffer, format="png", dpi=DOTS_PER_INCH)
    return buffer.getvalue()
