"""Sequence logos as SVG: letters as high as their numbers."""

from collections.abc import Iterator

import numpy as np

from seqloom.report._html import show_text
from seqloom.report._panels import Logo
from seqloom.report._svg import Floats, find_step, list_ticks, spell

_LEFT, _RIGHT, _TOP, _BOTTOM, _HEIGHT = 56, 8, 8, 40, 210
_COLUMN = 11
# Of text of 12 units: the height of a capital letter.
_CAPITAL = 8.75
# What is lower than this cannot be seen.
_LEAST = 0.8
# On a narrow page a column is at least so wide.
_NARROW = 9
_COLOURS = {"A": 0, "C": 2, "G": 1, "T": 6, "U": 6}
# Amino acids by what their side chains are: acid, base, polar, and the others.
_GROUPS = {"DE": 1, "HKR": 3, "CGNQSTY": 0, "AFILMPVW": 6}
_TICKS_APART = 10


def show_logo(logo: Logo) -> str:
    """Shows a logo with its title; a wide one is scrolled, so that it can be read."""
    heights = np.asarray(logo.heights, float)
    ends = _find_ends(heights)
    width = _LEFT + _COLUMN * len(heights) + _RIGHT
    inside = "".join((*_axes(logo, ends, width), *_letters(logo, heights, ends)))
    shape = (
        f'viewBox="0 0 {width} {_HEIGHT}" role="img" aria-label="{show_text(logo.title)}"'
    )
    least = _LEFT + _NARROW * len(heights)
    svg = f'<svg {shape} style="min-width:{least}px">{inside}</svg>'
    title = f"<figcaption>{show_text(logo.title)}</figcaption>"
    moved = f'<div class="scroll" tabindex="0">{svg}</div>'
    return f'<figure class="logo">{title}{moved}</figure>'


def _find_ends(heights: Floats) -> tuple[float, float]:
    """Finds round ends around the stacks."""
    up = float(np.maximum(heights, 0).sum(axis=1).max(initial=0))
    down = float(np.minimum(heights, 0).sum(axis=1).min(initial=0))
    if up == down:
        up, down = 0.1, -0.1
    step = find_step(down, up)
    return float(np.floor(down / step) * step), float(np.ceil(up / step) * step)


def _to_y(value: float, ends: tuple[float, float]) -> float:
    """Turns a height into a place of the drawing."""
    share = (value - ends[0]) / (ends[1] - ends[0])
    return _HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM)


def _axes(logo: Logo, ends: tuple[float, float], width: int) -> Iterator[str]:
    """Draws the grid, and names positions and heights."""
    for tick in list_ticks(ends):
        y = f"{_to_y(tick, ends):.1f}"
        yield f'<path class="grid" d="M{_LEFT} {y}H{width - _RIGHT}"/>'
        place = f'x="{_LEFT - 6}" y="{y}" dy="4" text-anchor="end"'
        yield f"<text {place}>{spell(tick)}</text>"
    positions = range(logo.first, logo.first + np.shape(logo.heights)[0])
    for number, position in enumerate(positions):
        if position % _TICKS_APART == 0:
            x = _LEFT + _COLUMN * (number + 0.5)
            place = f'x="{x}" y="{_HEIGHT - _BOTTOM + 16}" text-anchor="middle"'
            yield f"<text {place}>{spell(position)}</text>"
    label = f'x="{_LEFT}" y="{_HEIGHT - 6}"'
    yield f"<text {label}>{show_text(logo.axis)}</text>"
    middle = (_TOP + _HEIGHT - _BOTTOM) / 2
    turned = f'transform="translate(11 {middle}) rotate(-90)" text-anchor="middle"'
    yield f"<text {turned}>{show_text(logo.unit)}</text>"


def _letters(logo: Logo, heights: Floats, ends: tuple[float, float]) -> Iterator[str]:
    """Draws the letters of each position, those above 0 and those below."""
    for column, row in enumerate(heights.tolist()):
        pairs = sorted(zip(row, logo.letters, strict=True), key=_size)
        for sign in (1, -1):
            stack = [pair for pair in pairs if pair[0] * sign > 0]
            yield from _stack(stack, ends, x=_LEFT + _COLUMN * column)


def _size(pair: tuple[float, str]) -> float:
    """Gives the size of a height without its sign."""
    return abs(pair[0])


def _stack(
    pairs: list[tuple[float, str]], ends: tuple[float, float], *, x: float
) -> Iterator[str]:
    """Puts letters on each other from 0 on, each stretched to its height."""
    floor = 0.0
    for height, letter in pairs:
        y = _to_y(floor, ends), _to_y(floor + height, ends)
        floor += height
        tall = abs(y[0] - y[1])
        if tall >= _LEAST:
            place = f"translate({x:g} {max(y):.1f}) scale(1 {tall / _CAPITAL:.3f})"
            shape = f'textLength="{_COLUMN - 1}" lengthAdjust="spacingAndGlyphs"'
            colour = f'class="c{_find_colour(letter)}"'
            yield f'<text {colour} transform="{place}" {shape}>{show_text(letter)}</text>'


def _find_colour(letter: str) -> int:
    """Finds the colour of a base, or of an amino acid's group."""
    groups = (number for names, number in _GROUPS.items() if letter in names)
    return _COLOURS.get(letter, next(groups, 6))
