"""Draws the aligned sequences of two alleles, each with a value for every base."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from seqloom.report._allele_pair import AllelePair
from seqloom.report._figure import Figure, html_text, make_svg
from seqloom.report._plot import (
    draw_grid_line,
    draw_symbol,
    draw_vertical_label,
    format_tick,
    list_ticks,
    round_axis_range,
)

# Sizes in SVG units. The upper track has the values of the reference allele, the lower
# track those of the alternative allele; the sequences are between the tracks.
_LEFT, _RIGHT, _COLUMN_WIDTH = 74, 12, 13
_TRACK_HEIGHT, _CAPTION_HEIGHT, _ROW_HEIGHT, _AXIS_HEIGHT = 104, 26, 18, 40
_UPPER_TOP = _CAPTION_HEIGHT
_ROWS_TOP = _UPPER_TOP + _TRACK_HEIGHT + 6
_LOWER_TOP = _ROWS_TOP + 2 * _ROW_HEIGHT + _CAPTION_HEIGHT + 4
_BOTTOM = _LOWER_TOP + _TRACK_HEIGHT
_TICK_DISTANCE = 10
# The width in pixels of a column on a narrow page.
_MIN_COLUMN_WIDTH = 10


def make_alleles_svg(pair: AllelePair, title: str) -> str:
    """Return the picture of two alleles as an SVG image in the colours of the light theme.

    Args:
        pair: The alleles and their values.
        title: The title above the picture.

    Returns:
        The text of an SVG file.

    Examples:
        >>> pair = AllelePair(
        ...     title="a",
        ...     captions=("REF", "ALT"),
        ...     letters=("ACG", "ATG"),
        ...     values=([0, 1, 0], [0, 0, 0]),
        ...     positions=(7, 8, 9),
        ... )
        >>> make_alleles_svg(pair, "chr1:8:C:T")[:4]
        '<svg'
    """
    return make_svg(title, [draw_alleles(pair)])


def draw_alleles(pair: AllelePair) -> Figure:
    """Draw both alleles, with a coloured band over the columns that differ."""
    count = len(pair.positions)
    values = np.nan_to_num(np.asarray(pair.values, float))
    low, high = min(0.0, float(values.min())), max(0.0, float(values.max()))
    ends = round_axis_range(low, high) if high > low else (-0.1, 0.1)
    width = _LEFT + _COLUMN_WIDTH * count + _RIGHT
    return Figure(
        title=pair.title,
        width=width,
        height=_BOTTOM + _AXIS_HEIGHT,
        body="".join(
            (
                *_draw_frame(pair, ends, width),
                *_draw_sequences(pair),
                *_draw_values(pair, values, ends),
            )
        ),
        least_width=_LEFT + _MIN_COLUMN_WIDTH * count,
    )


def _draw_frame(pair: AllelePair, ends: tuple[float, float], width: int) -> Iterator[str]:
    """Draw the band, the grids and the labels."""
    band = f'y="{_UPPER_TOP}" height="{_BOTTOM - _UPPER_TOP}" width="{_COLUMN_WIDTH}"'
    for column in pair.changed_columns:
        yield f'<rect class="band c4" x="{_column_left(column):g}" {band}/>'
    for top, caption in zip((_UPPER_TOP, _LOWER_TOP), pair.captions, strict=True):
        yield f'<text class="title" x="{_LEFT}" y="{top - 9}">{html_text(caption)}</text>'
        for tick in list_ticks(ends):
            y, name = _to_vertical(tick, ends, top), format_tick(tick)
            yield draw_grid_line(y, name, left=_LEFT, right=width - _RIGHT)
        yield draw_vertical_label(pair.unit, top + _TRACK_HEIGHT / 2)
    for column, position in enumerate(pair.positions):
        if position is not None and position % _TICK_DISTANCE == 0:
            place = f'{_place_text(column)} y="{_BOTTOM + 16}"'
            yield f"<text {place}>{position:,}</text>"
    yield f'<text x="{_LEFT}" y="{_BOTTOM + 34}">{html_text(pair.axis)}</text>'


def _draw_sequences(pair: AllelePair) -> Iterator[str]:
    """Draw the bases of both alleles below each other."""
    for row, (name, letters) in enumerate(zip(("REF", "ALT"), pair.letters, strict=True)):
        y = _ROWS_TOP + _ROW_HEIGHT * (row + 1) - 4
        yield f'<text class="ink" x="{_LEFT - 6}" y="{y}" text-anchor="end">{name}</text>'
        for column, letter in enumerate(letters):
            style = "title c4 letter" if column in pair.changed_columns else "ink"
            text = html_text(letter.replace("-", "\N{EN DASH}"))
            yield f'<text class="{style}" {_place_text(column)} y="{y}">{text}</text>'


def _place_text(column: int) -> str:
    """Return the attributes of a text in the middle of a column."""
    return f'x="{_column_left(column) + _COLUMN_WIDTH / 2:g}" text-anchor="middle"'


def _draw_values(
    pair: AllelePair, values: NDArray[np.float64], ends: tuple[float, float]
) -> Iterator[str]:
    """Draw the values of both alleles, as bars or as the heights of bases."""
    for top, letters, row in zip(
        (_UPPER_TOP, _LOWER_TOP), pair.letters, values.tolist(), strict=True
    ):
        floor = _to_vertical(0.0, ends, top)
        for column, (letter, value) in enumerate(zip(letters, row, strict=True)):
            if letter == "-":
                continue
            x, y = _column_left(column), _to_vertical(value, ends, top)
            if pair.has_bars:
                box = f"M{x + 1.5:g} {floor:.1f}V{y:.1f}h{_COLUMN_WIDTH - 3}V{floor:.1f}Z"
                yield f'<path class="small bars c0" d="{box}"/>'
            else:
                yield draw_symbol(letter, x, (floor, y), width=_COLUMN_WIDTH)


def _column_left(column: int) -> float:
    return _LEFT + _COLUMN_WIDTH * column


def _to_vertical(value: float, ends: tuple[float, float], top: int) -> float:
    """Convert a value to a vertical coordinate of the track that begins at `top`."""
    return top + _TRACK_HEIGHT * (1 - (value - ends[0]) / (ends[1] - ends[0]))
