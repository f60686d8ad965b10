"""Creates SVG plots and sequence logos, and sequences coloured by weights."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from os import PathLike

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seqloom.report._figure import Figure, check_svg, html_text, write_figures
from seqloom.report._values import Letters, Logo, MarkedSequence, Plot, Scale, Trace

# At this width, text of 12 SVG units is legible on a phone.
_WIDTH, _HEIGHT = 340, 256
_RIGHT_MARGIN, _TOP_MARGIN, _BOTTOM_MARGIN = 12, 8, 42
# Widths of the label of the vertical axis, and of one digit of a tick label.
_LABEL_WIDTH, _DIGIT_WIDTH = 26, 7
_TARGET_TICKS = 5
# The number of colours in the style sheet.
N_COLOURS = 8
# Plots with more lines than this omit the intervals, which would overlap.
_MAX_BANDS = 4
# Traces with more values than this have small points, or bars without gaps.
_MAX_LARGE_MARKS = 60

Floats = NDArray[np.float64]


def write_plots(path: str | PathLike[str], title: str, plots: Sequence[Plot]) -> None:
    """Draw plots under one title, and atomically write them as an SVG file.

    Args:
        path: The path of the file, which ends in ``.svg``.
        title: The title above the plots.
        plots: The plots, from left to right and from top to bottom, two in a row.

    Raises:
        ArgumentError: The name does not end in ``.svg``.
        FileError: The file cannot be written.

    Examples:
        >>> from pathlib import Path
        >>> lengths = Trace("", [1, 5, 9], [3, 4], shape="bars")
        >>> write_plots("a.svg", "a.fa", [Plot("lengths", [lengths])])
        >>> Path("a.svg").read_text()[:4]
        '<svg'
    """
    check_svg(path)
    write_figures(path, title, [draw_plot(plot) for plot in plots])


def draw_plot(plot: Plot) -> Figure:
    """Draw a plot."""
    frame = _PlotFrame.of(plot)
    named = list(zip(_assign_colours(plot.traces), plot.traces, strict=True))
    return Figure(
        title=plot.title,
        width=_WIDTH,
        height=_HEIGHT,
        body="".join((*_draw_axes(plot, frame), *_draw_traces(named, frame))),
        legend=[(colour, it.shape, it.name) for colour, it in named if it.name],
    )


@dataclass(frozen=True, slots=True)
class _PlotFrame:
    """Converts values of a plot to SVG coordinates."""

    x_range: tuple[float, float]
    y_range: tuple[float, float]
    left: int
    is_log: bool

    @classmethod
    def of(cls, plot: Plot) -> "_PlotFrame":
        """Return the coordinates of a plot; axes without a range are fitted to the data."""
        is_log = plot.x_scale == "log"
        x = [np.log10(it.x) if is_log else it.x for it in plot.traces]
        y: list[ArrayLike] = []
        for trace in plot.traces:
            y += [it for it in (trace.y, trace.low, trace.high) if it is not None]
            y += [[0.0]] if trace.shape == "bars" else []
        has_points = any(trace.shape == "points" for trace in plot.traces)
        x_range = plot.x_range or _axis_range(x, is_rounded=has_points)
        y_range = plot.y_range or _axis_range(y, is_rounded=True)
        ticks = list_ticks(y_range, scale=plot.y_scale)
        numbers = [format_tick(it, scale=plot.y_scale) for it in ticks]
        longest = max(map(len, numbers), default=1)
        return cls(x_range, y_range, _LABEL_WIDTH + _DIGIT_WIDTH * longest, is_log)

    def x(self, values: ArrayLike) -> Floats:
        """Convert values to horizontal coordinates."""
        low, high = self.x_range
        share = (np.log10(values) if self.is_log else np.asarray(values, float)) - low
        return self.left + share / (high - low) * (_WIDTH - self.left - _RIGHT_MARGIN)

    def y(self, values: ArrayLike) -> Floats:
        """Convert values to vertical coordinates, which increase downwards."""
        low, high = self.y_range
        share = (np.asarray(values, float) - low) / (high - low)
        return _HEIGHT - _BOTTOM_MARGIN - share * (_HEIGHT - _TOP_MARGIN - _BOTTOM_MARGIN)


def _axis_range(values: Sequence[ArrayLike], *, is_rounded: bool) -> tuple[float, float]:
    """Return the range of all finite values, for an axis."""
    every = np.concatenate([np.ravel(np.asarray(it, float)) for it in values] or [[0.0]])
    every = every[np.isfinite(every)]
    low, high = (float(every.min()), float(every.max())) if every.size else (0.0, 1.0)
    if low == high:
        low, high = low - 0.5, high + 0.5
    return round_axis_range(low, high) if is_rounded else (low, high)


def round_axis_range(low: float, high: float) -> tuple[float, float]:
    """Widen the range of an axis to the next multiples of half the tick distance."""
    step = find_tick_step(low, high) / 2
    return math.floor(low / step) * step, math.ceil(high / step) * step


def find_tick_step(low: float, high: float) -> float:
    """Choose the distance between ticks: 1, 2 or 5 times a power of ten."""
    rough = (high - low) / _TARGET_TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    return next(it * power for it in (1, 2, 5, 10) if it * power >= rough * 0.999)


def list_ticks(ends: tuple[float, float], *, scale: Scale = "linear") -> list[float]:
    """List the ticks of an axis, with integer steps for counts and logarithms."""
    step = max(find_tick_step(*ends), 1.0 if scale in {"whole", "log"} else 0.0)
    first, last = math.ceil(ends[0] / step - 1e-9), math.floor(ends[1] / step + 1e-9)
    return [round(it * step, 12) for it in range(first, last + 1)]


def format_tick(value: float, *, scale: Scale = "linear") -> str:
    """Format the label of a tick."""
    if scale == "share":
        return f"{100 * value:.10g} %"
    number = 10.0**value if scale == "log" else value
    return f"{number:,.10g}".replace("-", "\N{MINUS SIGN}")


def _draw_axes(plot: Plot, frame: _PlotFrame) -> Iterator[str]:
    """Draw the grid, the ticks and the labels of the axes."""
    bottom, left, right = _HEIGHT - _BOTTOM_MARGIN, frame.left, _WIDTH - _RIGHT_MARGIN
    for tick in list_ticks(frame.y_range, scale=plot.y_scale):
        name = format_tick(tick, scale=plot.y_scale)
        yield draw_grid_line(float(frame.y(tick)), name, left=left, right=right)
    for value, name in _find_x_ticks(plot, frame):
        x = f"{float(frame.x(value)):.1f}"
        if not plot.x_names:
            yield f'<path class="grid" d="M{x} {_TOP_MARGIN}V{bottom}"/>'
        yield f'<text x="{x}" y="{bottom + 16}" text-anchor="middle">{name}</text>'
    label = f'x="{(left + right) / 2}" y="{_HEIGHT - 6}" text-anchor="middle"'
    yield f"<text {label}>{html_text(plot.x_label)}</text>"
    yield draw_vertical_label(plot.y_label, (_TOP_MARGIN + bottom) / 2)


def draw_grid_line(y: float, name: str, *, left: int, right: int) -> str:
    """Draw a horizontal grid line with its label on the left."""
    line = f'<path class="grid" d="M{left} {y:.1f}H{right}"/>'
    place = f'x="{left - 6}" y="{y:.1f}" dy="4" text-anchor="end"'
    return f"{line}<text {place}>{name}</text>"


def draw_vertical_label(text: str, middle: float) -> str:
    """Draw the label of a vertical axis."""
    turned = f'transform="translate(11 {middle}) rotate(-90)" text-anchor="middle"'
    return f"<text {turned}>{html_text(text)}</text>"


def _find_x_ticks(plot: Plot, frame: _PlotFrame) -> list[tuple[float, str]]:
    """Return pairs of value and label for the ticks of the horizontal axis."""
    if plot.x_names:
        return [(it, html_text(name)) for it, name in enumerate(plot.x_names)]
    ticks = list_ticks(frame.x_range, scale=plot.x_scale)
    names = [format_tick(tick, scale=plot.x_scale) for tick in ticks]
    values = [10.0**tick for tick in ticks] if frame.is_log else ticks
    return list(zip(values, names, strict=True))


def _assign_colours(traces: Sequence[Trace]) -> Iterator[str]:
    """Yield the CSS class of each trace's colour; guide lines have no colour."""
    number = 0
    for trace in traces:
        yield "guide" if trace.shape == "guide" else f"c{number % N_COLOURS}"
        number += trace.shape != "guide"


def _draw_traces(named: Sequence[tuple[str, Trace]], frame: _PlotFrame) -> Iterator[str]:
    """Draw the traces; shaded bands are drawn first, so that they do not cover lines."""
    lines = [(colour, trace) for colour, trace in named if trace.shape == "line"]
    if len(lines) <= _MAX_BANDS:
        for colour, trace in lines:
            yield from _draw_band(trace, frame, colour)
    draw = {"line": _draw_line, "points": _draw_points, "bars": _draw_bars}
    for colour, trace in named:
        kind = "line" if trace.shape == "guide" else trace.shape
        yield from draw[kind](trace, frame, colour)


def _draw_band(trace: Trace, frame: _PlotFrame, colour: str) -> Iterator[str]:
    """Draw the interval around a line as a shaded band."""
    if trace.low is None or trace.high is None:
        return
    x = frame.x(trace.x)
    low, high = _svg_points(x, frame.y(trace.low)), _svg_points(x, frame.y(trace.high))
    if low and high:
        yield f'<path class="band {colour}" d="M{"L".join([*high, *reversed(low)])}Z"/>'


def _draw_line(trace: Trace, frame: _PlotFrame, colour: str) -> Iterator[str]:
    """Draw a line with gaps at missing values; a guide line is clipped to the plot."""
    x, y = frame.x(trace.x), frame.y(trace.y)
    if trace.shape == "guide":
        x, y = (
            x.clip(frame.left, _WIDTH - _RIGHT_MARGIN),
            y.clip(_TOP_MARGIN, _HEIGHT - _BOTTOM_MARGIN),
        )
    holes = np.flatnonzero(~np.isfinite(y))
    pieces = (
        _svg_points(*piece)
        for piece in zip(np.split(x, holes), np.split(y, holes), strict=True)
    )
    path = "".join(f"M{'L'.join(piece)}" for piece in pieces if piece)
    if path:
        yield f'<path class="line {colour}" d="{path}"/>'


def _draw_points(trace: Trace, frame: _PlotFrame, colour: str) -> Iterator[str]:
    """Draw each point as a line of length 0 with round ends."""
    x, y = frame.x(trace.x), frame.y(trace.y)
    if trace.low is not None and trace.high is not None:
        ends = zip(x, frame.y(trace.low), frame.y(trace.high), strict=True)
        bars = "".join(f"M{at:.1f} {low:.1f}V{high:.1f}" for at, low, high in ends)
        yield f'<path class="interval {colour}" d="{bars}"/>'
    places = dict.fromkeys(_svg_points(x, y))
    size = "small points" if len(places) > _MAX_LARGE_MARKS else "points"
    dots = "".join(f"M{place}h0" for place in places)
    yield f'<path class="{size} {colour}" d="{dots}"/>'


def _draw_bars(trace: Trace, frame: _PlotFrame, colour: str) -> Iterator[str]:
    """Draw the bars of a histogram without gaps."""
    x, y = frame.x(trace.x), frame.y(trace.y)
    floor = frame.y(np.zeros(np.size(trace.y)) if trace.low is None else trace.low)
    boxes = zip(x[:-1], x[1:], floor, y, strict=True)
    path = "".join(
        f"M{left:.1f} {low:.1f}V{top:.1f}H{right:.1f}V{low:.1f}Z"
        for left, right, low, top in boxes
        if top < low
    )
    size = "small bars" if np.size(trace.y) > _MAX_LARGE_MARKS else "bars"
    yield f'<path class="{size} {colour}" d="{path}"/>'


def _svg_points(x: Floats, y: Floats) -> list[str]:
    """Format points as SVG, and merge neighbours within half a pixel."""
    is_finite = np.isfinite(x) & np.isfinite(y)
    places = np.column_stack([x[is_finite], y[is_finite]])
    is_new = np.ones(len(places), dtype=bool)
    is_new[1:] = np.diff(np.round(2 * places), axis=0).any(axis=1)
    return [f"{a:g} {b:g}" for a, b in np.round(places[is_new], 1).tolist()]


# Residues per group; the position is printed above each group.
_GROUP_SIZE = 10
# Number of shades of a colour. Weights below a tenth of the largest are not coloured.
_SHADE_COUNT = 4
_MIN_SHADED_SHARE = 0.1
# Sizes of a sequence logo in SVG units.
_LOGO_LEFT, _LOGO_RIGHT, _LOGO_TOP, _LOGO_BOTTOM, _LOGO_HEIGHT = 56, 8, 8, 40, 210
_COLUMN_WIDTH = 11
# Height of capitals in text of 12 SVG units.
_CAP_HEIGHT = 8.75
# Symbols below this height are not drawn.
_MIN_SYMBOL_HEIGHT = 0.8
# The width in pixels of a column on a narrow page.
_MIN_COLUMN_WIDTH = 9
_COLOUR_BY_BASE = {"A": 0, "C": 2, "G": 1, "T": 6, "U": 6}
# Amino acids by side chain: acidic, basic, polar, hydrophobic.
_COLOUR_BY_GROUP = {"DE": 1, "HKR": 3, "CGNQSTY": 0, "AFILMPVW": 6}


def show_coloured_letters(letters: Letters) -> str:
    """Return the HTML of coloured sequences, below the legend of their colours."""
    names = {"up": letters.toward, "down": letters.away}
    legend = "".join(
        f'<li><i class="{way}4">A</i>{html_text(name)}</li>' for way, name in names.items()
    )
    rows = "".join(map(_show_sequence, letters.sequences))
    return f'<div class="letters"><ul class="legend">{legend}</ul>{rows}</div>'


def _show_sequence(sequence: MarkedSequence) -> str:
    """Return the HTML of a sequence in groups of ten residues with their positions."""
    title = f"<h3>{html_text(sequence.title)}</h3>"
    note = f'<p class="note">{html_text(sequence.note)}</p>' if sequence.note else ""
    styled = list(zip(_find_shade_classes(sequence), sequence.letters, strict=True))
    groups: list[str] = []
    start = 0
    while start < len(styled):
        position = sequence.first + start
        stop = start + _GROUP_SIZE - position % _GROUP_SIZE
        letters = ""
        for style, run in groupby(styled[start:stop], key=itemgetter(0)):
            text = html_text("".join(letter for _, letter in run))
            letters += f'<i class="{style}">{text}</i>' if style else text
        groups.append(f"<span><b>{position:,}</b>{letters}</span>")
        start = stop
    return f"{title}{note}<p>{' '.join(groups)}</p>"


def _find_shade_classes(sequence: MarkedSequence) -> list[str]:
    """Return the CSS class of each residue; the largest weight has the darkest shade."""
    weights = np.asarray(sequence.weights, float)
    shares = weights / max(float(np.abs(weights).max(initial=0)), np.finfo(float).tiny)
    shades = np.ceil(np.abs(shares) * _SHADE_COUNT).astype(int)
    return [
        "" if abs(share) < _MIN_SHADED_SHARE else f"{'up' if share > 0 else 'down'}{shade}"
        for share, shade in zip(shares.tolist(), shades.tolist(), strict=True)
    ]


def draw_logo(logo: Logo) -> Figure:
    """Draw a sequence logo, in which the height of a symbol is its value."""
    heights = np.asarray(logo.heights, float)
    up = float(np.maximum(heights, 0).sum(axis=1).max(initial=0))
    down = float(np.minimum(heights, 0).sum(axis=1).min(initial=0))
    ends = round_axis_range(down, up) if up > down else (-0.1, 0.1)
    width = _LOGO_LEFT + _COLUMN_WIDTH * len(heights) + _LOGO_RIGHT
    return Figure(
        title=logo.title,
        width=width,
        height=_LOGO_HEIGHT,
        body="".join((*_logo_axes(logo, ends, width), *_logo_stacks(logo, heights, ends))),
        least_width=_LOGO_LEFT + _MIN_COLUMN_WIDTH * len(heights),
    )


def _to_vertical(value: float, ends: tuple[float, float]) -> float:
    """Convert the height of a logo to a vertical coordinate."""
    share = (value - ends[0]) / (ends[1] - ends[0])
    return _LOGO_HEIGHT - _LOGO_BOTTOM - share * (_LOGO_HEIGHT - _LOGO_TOP - _LOGO_BOTTOM)


def _logo_axes(logo: Logo, ends: tuple[float, float], width: int) -> Iterator[str]:
    """Draw the grid, the tick labels and the labels of the axes."""
    for tick in list_ticks(ends):
        y, name = _to_vertical(tick, ends), format_tick(tick)
        yield draw_grid_line(y, name, left=_LOGO_LEFT, right=width - _LOGO_RIGHT)
    for number in range(-logo.first % _GROUP_SIZE, np.shape(logo.heights)[0], _GROUP_SIZE):
        x = _LOGO_LEFT + _COLUMN_WIDTH * (number + 0.5)
        place = f'x="{x}" y="{_LOGO_HEIGHT - _LOGO_BOTTOM + 16}" text-anchor="middle"'
        yield f"<text {place}>{format_tick(logo.first + number)}</text>"
    yield f'<text x="{_LOGO_LEFT}" y="{_LOGO_HEIGHT - 6}">{html_text(logo.axis)}</text>'
    yield draw_vertical_label(logo.unit, (_LOGO_TOP + _LOGO_HEIGHT - _LOGO_BOTTOM) / 2)


def _logo_stacks(logo: Logo, heights: Floats, ends: tuple[float, float]) -> Iterator[str]:
    """Stack the symbols of each position above and below 0, the smallest first."""
    for column, row in enumerate(heights.tolist()):
        x, floors = _LOGO_LEFT + _COLUMN_WIDTH * column, {True: 0.0, False: 0.0}
        pairs = zip(row, logo.letters, strict=True)
        for height, letter in sorted(pairs, key=lambda pair: abs(pair[0])):
            floor = floors[height > 0]
            floors[height > 0] += height
            y = _to_vertical(floor, ends), _to_vertical(floor + height, ends)
            yield draw_symbol(letter, x, y, width=_COLUMN_WIDTH)


def draw_symbol(letter: str, x: float, ends: tuple[float, float], *, width: int) -> str:
    """Draw a symbol between two heights; nothing if they are nearly equal."""
    tall = abs(ends[0] - ends[1])
    if tall < _MIN_SYMBOL_HEIGHT:
        return ""
    shape = f'textLength="{width - 1}" lengthAdjust="spacingAndGlyphs"'
    place = f"translate({x:g} {max(ends):.1f}) scale(1 {tall / _CAP_HEIGHT:.3f})"
    colour = f'class="letter c{_find_colour(letter)}"'
    return f'<text {colour} transform="{place}" {shape}>{html_text(letter)}</text>'


def _find_colour(letter: str) -> int:
    """Return the number of the CSS colour of a base or an amino acid."""
    groups = (number for names, number in _COLOUR_BY_GROUP.items() if letter in names)
    return _COLOUR_BY_BASE.get(letter, next(groups, 6))
