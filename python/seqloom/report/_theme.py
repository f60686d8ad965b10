"""Colours and style of pictures: each is drawn for a light page and for a dark one."""

from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from typing import Any, TypeAlias
from warnings import catch_warnings, filterwarnings

# Any, because matplotlib's own type stubs leave the types of keywords open.
Axes: TypeAlias = Any
Figure: TypeAlias = Any

DOTS_PER_INCH = 180


@dataclass(frozen=True, slots=True, kw_only=True)
class Theme:
    """Holds the colours of a light or of a dark page."""

    background: str
    text: str
    faint_text: str  # of axes and their numbers
    grid: str
    lines: tuple[str, ...]  # of curves, in order
    accent: str  # of what is right, and of what stands alone
    wrong: str  # of what is wrong


LIGHT = Theme(
    background="#ffffff",
    text="#1b2430",
    faint_text="#5d6b7a",
    grid="#e4e9ee",
    lines=("#8a97a6", "#0f766e", "#c2570c", "#6d4bc3"),
    accent="#0f766e",
    wrong="#c2570c",
)
DARK = Theme(
    background="#151b22",
    text="#e8edf2",
    faint_text="#98a6b5",
    grid="#2a343f",
    lines=("#77879a", "#2dd4bf", "#fb923c", "#a78bfa"),
    accent="#2dd4bf",
    wrong="#fb923c",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """Holds one drawing as two PNG files, and its alternative text."""

    light: bytes
    dark: bytes
    alt_text: str


def draw_in_both_themes(drawing: Callable[[Theme], Figure], alt_text: str) -> Picture:
    """Draws the same figure in both themes."""
    return Picture(
        light=to_png(drawing, LIGHT), dark=to_png(drawing, DARK), alt_text=alt_text
    )


def figure(width: float, height: float, theme: Theme) -> Figure:
    """Makes an empty figure, in inches, without a display or global state."""
    from matplotlib import figure as matplotlib_figure

    return matplotlib_figure.Figure(
        (width, height), facecolor=theme.background, layout="constrained"
    )


def style_axes(axes: Axes, theme: Theme, title: str) -> None:
    """Sets title and colours of axes: the title to the left, a faint grid, no box."""
    axes.set_facecolor(theme.background)
    axes.set_title(
        title, loc="left", color=theme.text, fontsize=11, fontweight="bold", pad=10
    )
    axes.tick_params(colors=theme.faint_text, labelsize=9, length=0)
    axes.grid(visible=True, color=theme.grid, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[:].set_visible(False)
    axes.xaxis.label.set_color(theme.faint_text)
    axes.yaxis.label.set_color(theme.faint_text)


def to_png(drawing: Callable[[Theme], Figure], theme: Theme) -> bytes:
    """Draws in one theme and returns the bytes of a PNG file."""
    buffer = BytesIO()
    with catch_warnings():
        # The font of matplotlib lacks many scripts; the page has the names as text too.
        filterwarnings("ignore", r"Glyph \d+ .* missing from", UserWarning)
        drawing(theme).savefig(buffer, format="png", dpi=DOTS_PER_INCH)
    return buffer.getvalue()
