"""Plots as SVG inside the page: its style sheet colours them, light and dark."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seqloom.report._html import show_text
from seqloom.report._panels import Plot, Trace

# So large that text of 12 units can be read where a page is as narrow as a telephone.
_WIDTH, _HEIGHT = 380, 280
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 12, 8, 42
_TICKS = 5
# The style sheet has so many colours.
COLOURS = 8
# With more lines than these, intervals around them hide each other.
_MOST_BANDS = 4
# And with more points than these, large ones would cover each other.
_MOST_LARGE = 60

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Frame:
    """Turns values into places of the drawing."""

    x_range: tuple[float, float]
    y_range: tuple[float, float]

    def x(self, values: ArrayLike) -> Floats:
        """Gives horizontal places."""
        low, high = self.x_range
        share = (np.asarray(values, float) - low) / (high - low)
        return _LEFT + share * (_WIDTH - _LEFT - _RIGHT)

    def y(self, values: ArrayLike) -> Floats:
        """Gives vertical places, which are counted from the top."""
        low, high = self.y_range
        share = (np.asarray(values, float) - low) / (high - low)
        return _HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM)


def show_plot(plot: Plot) -> str:
    """Shows a plot with its title and its legend."""
    frame = Frame(
        plot.x_range or _find_range([trace.x for trace in plot.traces]),
        plot.y_range or _find_range(list(_heights(plot.traces))),
    )
    inside = "".join((*_axes(plot, frame), *_traces(plot.traces, frame)))
    shape = (
        f'viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{show_text(plot.title)}"'
    )
    title = f"<figcaption>{show_text(plot.title)}</figcaption>"
    return f"<figure>{title}<svg {shape}>{inside}</svg>{_legend(plot.traces)}</figure>"


def _heights(traces: Sequence[Trace]) -> Iterator[ArrayLike]:
    """Gives all that the vertical axis must hold; bars stand on 0."""
    for trace in traces:
        yield from (it for it in (trace.y, trace.low, trace.high) if it is not None)
        if trace.shape == "bars":
            yield [0.0]


def _find_range(values: Sequence[ArrayLike]) -> tuple[float, float]:
    """Finds round ends around all finite values."""
    every = np.concatenate([np.ravel(np.asarray(it, float)) for it in values] or [[0.0]])
    every = every[np.isfinite(every)]
    low, high = (float(every.min()), float(every.max())) if every.size else (0.0, 1.0)
    if low == high:
        low, high = low - 0.5, high + 0.5
    return _round(*_round(low, high))


def _round(low: float, high: float) -> tuple[float, float]:
    """Moves two ends outwards to ticks; twice, because farther ends have fewer ticks."""
    step = find_step(low, high)
    return math.floor(low / step) * step, math.ceil(high / step) * step


def find_step(low: float, high: float) -> float:
    """Chooses the distance of ticks: 1, 2 or 5 times a power of ten."""
    rough = (high - low) / _TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    return next(it * power for it in (1, 2, 5, 10) if it * power >= rough * 0.999)


def list_ticks(ends: tuple[float, float], *, least: float = 0.0) -> list[float]:
    """Lists the ticks between two ends, at least so far from each other."""
    step = max(find_step(*ends), least)
    first, last = math.ceil(ends[0] / step - 1e-9), math.floor(ends[1] / step + 1e-9)
    return [round(it * step, 12) for it in range(first, last + 1)]


def _axes(plot: Plot, frame: Frame) -> Iterator[str]:
    """Draws the grid, the ticks and the names of the axes."""
    bottom, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
    for tick in list_ticks(frame.y_range):
        y = f"{float(frame.y(tick)):.1f}"
        yield f'<path class="grid" d="M{_LEFT} {y}H{right}"/>'
        place = f'x="{_LEFT - 6}" y="{y}" dy="4" text-anchor="end"'
        yield f"<text {place}>{spell(tick)}</text>"
    for tick in list_ticks(frame.x_range, least=float(plot.is_counted)):
        x = f"{float(frame.x(tick)):.1f}"
        yield f'<path class="grid" d="M{x} {_TOP}V{bottom}"/>'
        yield f'<text x="{x}" y="{bottom + 16}" text-anchor="middle">{spell(tick)}</text>'
    middle = (_LEFT + right) / 2
    label = f'x="{middle}" y="{_HEIGHT - 6}" text-anchor="middle"'
    yield f"<text {label}>{show_text(plot.x_label)}</text>"
    height = (_TOP + bottom) / 2
    turned = f'transform="translate(11 {height}) rotate(-90)" text-anchor="middle"'
    yield f"<text {turned}>{show_text(plot.y_label)}</text>"


def spell(value: float) -> str:
    """Spells a number at an axis."""
    return f"{value:,.10g}".replace("-", "\N{MINUS SIGN}")


def _traces(traces: Sequence[Trace], frame: Frame) -> Iterator[str]:
    """Draws all intervals, then all values, so that none lies below an interval."""
    lines = [trace for trace in traces if trace.shape == "line"]
    numbered = list(zip(_colours(traces), traces, strict=True))
    for colour, trace in numbered:
        if trace.shape == "line" and len(lines) <= _MOST_BANDS:
            yield from _band(trace, frame, colour)
    for colour, trace in numbered:
        yield from _DRAWN[trace.shape](trace, frame, colour)


def _colours(traces: Sequence[Trace]) -> list[str]:
    """Gives each trace the style of its colour; a guide has none."""
    found: list[str] = []
    number = 0
    for trace in traces:
        found.append("guide" if trace.shape == "guide" else f"c{number % COLOURS}")
        number += trace.shape != "guide"
    return found


def _band(trace: Trace, frame: Frame, colour: str) -> Iterator[str]:
    """Draws the interval around a line."""
    if trace.low is None or trace.high is None:
        return
    x = frame.x(trace.x)
    low, high = _join(x, frame.y(trace.low)), _join(x, frame.y(trace.high))
    if low and high:
        yield f'<path class="band {colour}" d="M{"L".join([*high, *reversed(low)])}Z"/>'


def _line(trace: Trace, frame: Frame, colour: str) -> Iterator[str]:
    """Draws a line, parted where a value is missing."""
    x, y = frame.x(trace.x), frame.y(trace.y)
    holes = np.flatnonzero(~np.isfinite(y))
    pieces = (
        _join(*piece) for piece in zip(np.split(x, holes), np.split(y, holes), strict=True)
    )
    path = "".join(f"M{'L'.join(piece)}" for piece in pieces if piece)
    if path:
        yield f'<path class="line {colour}" d="{path}"/>'


def _points(trace: Trace, frame: Frame, colour: str) -> Iterator[str]:
    """Draws points as lines without length, whose ends are round."""
    x, y = frame.x(trace.x), frame.y(trace.y)
    if trace.low is not None and trace.high is not None:
        ends = zip(x, frame.y(trace.low), frame.y(trace.high), strict=True)
        bars = "".join(f"M{at:.1f} {low:.1f}V{high:.1f}" for at, low, high in ends)
        yield f'<path class="bar {colour}" d="{bars}"/>'
    places = dict.fromkeys(_join(x, y))
    size = "small points" if len(places) > _MOST_LARGE else "points"
    dots = "".join(f"M{place}h0" for place in places)
    yield f'<path class="{size} {colour}" d="{dots}"/>'


def _bars(trace: Trace, frame: Frame, colour: str) -> Iterator[str]:
    """Draws bars that stand on 0 and touch."""
    x, y, floor = frame.x(trace.x), frame.y(trace.y), float(frame.y(0.0))
    boxes = zip(x[:-1], x[1:], y, strict=True)
    path = "".join(
        f"M{left:.1f} {floor:.1f}V{top:.1f}H{right:.1f}V{floor:.1f}Z"
        for left, right, top in boxes
        if top < floor
    )
    yield f'<path class="bars {colour}" d="{path}"/>'


_DRAWN = {"line": _line, "guide": _line, "points": _points, "bars": _bars}


def _join(x: Floats, y: Floats) -> list[str]:
    """Spells places; those that are the same to the eye are one."""
    is_there = np.isfinite(x) & np.isfinite(y)
    places = np.column_stack([x[is_there], y[is_there]])
    is_new = np.ones(len(places), dtype=bool)
    is_new[1:] = np.diff(np.round(2 * places), axis=0).any(axis=1)
    return [f"{a:g} {b:g}" for a, b in np.round(places[is_new], 1).tolist()]


def _legend(traces: Sequence[Trace]) -> str:
    """Names the traces that have a name."""
    items = "".join(
        f'<li><i class="{colour} of-{trace.shape}"></i>{show_text(trace.name)}</li>'
        for colour, trace in zip(_colours(traces), traces, strict=True)
        if trace.name
    )
    return f'<ul class="legend">{items}</ul>' if items else ""
