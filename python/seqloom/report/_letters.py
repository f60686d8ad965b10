"""Letters of sequences: coloured by their weights, and as logos."""

from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter

import numpy as np

from seqloom.report._figure import Figure
from seqloom.report._html import show_text
from seqloom.report._plot import Floats, format_tick, list_ticks, round_range
from seqloom.report._values import Letters, Logo, MarkedSequence

# Each group of ten letters has a number above it.
_GROUP = 10
# The shades of a colour; a letter below a tenth of the strongest one has none.
_SHADES = 4
_FAINT = 0.1
# A logo, in units of its drawing.
_LEFT, _RIGHT, _TOP, _BOTTOM, _HEIGHT = 56, 8, 8, 40, 210
_COLUMN = 11
# The height of a capital letter in text of 12 units.
_CAPITAL = 8.75
# The height below which a letter is invisible.
_LEAST = 0.8
# The pixels that a column has at least on a narrow page.
_NARROW = 9
_COLOURS = {"A": 0, "C": 2, "G": 1, "T": 6, "U": 6}
# Amino acids by their side chains: acidic, basic, polar, and the others.
_GROUPS = {"DE": 1, "HKR": 3, "CGNQSTY": 0, "AFILMPVW": 6}


def show_letters(letters: Letters) -> str:
    """Shows sequences below each other, with the legend of their colours above."""
    names = {"up": letters.toward, "down": letters.away}
    legend = "".join(
        f'<li><i class="{way}4">A</i>{show_text(name)}</li>' for way, name in names.items()
    )
    rows = "".join(map(_show_sequence, letters.sequences))
    return f'<div class="letters"><ul class="legend">{legend}</ul>{rows}</div>'


def _show_sequence(sequence: MarkedSequence) -> str:
    """Shows one sequence in groups, each with the position of its first letter."""
    title = f"<h3>{show_text(sequence.title)}</h3>"
    note = f'<p class="note">{show_text(sequence.note)}</p>' if sequence.note else ""
    styled = list(zip(_styles(sequence), sequence.letters, strict=True))
    groups: list[str] = []
    start = 0
    while start < len(styled):
        position = sequence.first + start
        stop = start + _GROUP - position % _GROUP
        letters = "".join(
            _mark(style, "".join(letter for _, letter in run))
            for style, run in groupby(styled[start:stop], key=itemgetter(0))
        )
        groups.append(f"<span><b>{position:,}</b>{letters}</span>")
        start = stop
    return f"{title}{note}<p>{' '.join(groups)}</p>"


def _mark(style: str, text: str) -> str:
    """Colours letters that have one style."""
    return f'<i class="{style}">{show_text(text)}</i>' if style else show_text(text)


def _styles(sequence: MarkedSequence) -> list[str]:
    """Gives each letter a shade; the strongest letter of a sequence has the darkest."""
    weights = np.asarray(sequence.weights, float)
    shares = weights / max(float(np.abs(weights).max(initial=0)), np.finfo(float).tiny)
    shades = np.ceil(np.abs(shares) * _SHADES).astype(int)
    return [
        "" if abs(share) < _FAINT else f"{'up' if share > 0 else 'down'}{shade}"
        for share, shade in zip(shares.tolist(), shades.tolist(), strict=True)
    ]


def draw_logo(logo: Logo) -> Figure:
    """Draws a logo: letters as high as their numbers."""
    heights = np.asarray(logo.heights, float)
    up = float(np.maximum(heights, 0).sum(axis=1).max(initial=0))
    down = float(np.minimum(heights, 0).sum(axis=1).min(initial=0))
    ends = round_range(down, up) if up > down else (-0.1, 0.1)
    width = _LEFT + _COLUMN * len(heights) + _RIGHT
    return Figure(
        title=logo.title,
        width=width,
        height=_HEIGHT,
        body="".join((*_axes(logo, ends, width), *_stacks(logo, heights, ends))),
        least_width=_LEFT + _NARROW * len(heights),
    )


def _to_y(value: float, ends: tuple[float, float]) -> float:
    """Converts a height to a vertical position."""
    share = (value - ends[0]) / (ends[1] - ends[0])
    return _HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM)


def _axes(logo: Logo, ends: tuple[float, float], width: int) -> Iterator[str]:
    """Draws the grid, and the numbers and names of the axes."""
    for tick in list_ticks(ends):
        y = f"{_to_y(tick, ends):.1f}"
        yield f'<path class="grid" d="M{_LEFT} {y}H{width - _RIGHT}"/>'
        place = f'x="{_LEFT - 6}" y="{y}" dy="4" text-anchor="end"'
        yield f"<text {place}>{format_tick(tick)}</text>"
    for number in range(-logo.first % _GROUP, np.shape(logo.heights)[0], _GROUP):
        x = _LEFT + _COLUMN * (number + 0.5)
        place = f'x="{x}" y="{_HEIGHT - _BOTTOM + 16}" text-anchor="middle"'
        yield f"<text {place}>{format_tick(logo.first + number)}</text>"
    yield f'<text x="{_LEFT}" y="{_HEIGHT - 6}">{show_text(logo.axis)}</text>'
    middle = (_TOP + _HEIGHT - _BOTTOM) / 2
    turned = f'transform="translate(11 {middle}) rotate(-90)" text-anchor="middle"'
    yield f"<text {turned}>{show_text(logo.unit)}</text>"


def _stacks(logo: Logo, heights: Floats, ends: tuple[float, float]) -> Iterator[str]:
    """Stacks the letters of each position from 0 up and down, the smallest first."""
    shape = f'textLength="{_COLUMN - 1}" lengthAdjust="spacingAndGlyphs"'
    for column, row in enumerate(heights.tolist()):
        x, floors = _LEFT + _COLUMN * column, {True: 0.0, False: 0.0}
        for height, letter in sorted(zip(row, logo.letters, strict=True), key=_size):
            floor = floors[height > 0]
            floors[height > 0] += height
            y = _to_y(floor, ends), _to_y(floor + height, ends)
            tall = abs(y[0] - y[1])
            if tall >= _LEAST:
                name = show_text(letter)
                place = f"translate({x:g} {max(y):.1f}) scale(1 {tall / _CAPITAL:.3f})"
                colour = f'class="letter c{_find_colour(letter)}"'
                yield f'<text {colour} transform="{place}" {shape}>{name}</text>'


def _size(pair: tuple[float, str]) -> float:
    """Gives the size of a height without its sign."""
    return abs(pair[0])


def _find_colour(letter: str) -> int:
    """Finds the colour of a base, or of an amino acid's group."""
    groups = (number for names, number in _GROUPS.items() if letter in names)
    return _COLOURS.get(letter, next(groups, 6))
