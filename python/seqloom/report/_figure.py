"""Formats text, tables, key figures and plots as HTML and SVG, and escapes user text."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from os import PathLike
from pathlib import Path

from seqloom._files import write_atomic
from seqloom._text import printable
from seqloom.errors import ArgumentError
from seqloom.report._values import Cell, Fact, Table, Tile

_SVG_PAGE = """<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" \
viewBox="0 0 {width} {height}" font-family="system-ui, Roboto, 'DejaVu Sans', sans-serif">
<style>
{style}</style>
<rect class="background" width="{width}" height="{height}"/>
{body}
</svg>
"""
_PLOTS_PER_ROW = 2
_MARGIN, _GAP = 20, 24
# Heights in pixels: title of an SVG file, title of a plot, line of a legend.
_HEADING_PX, _TITLE_PX, _LEGEND_PX = 32, 24, 18
_LEGEND_LINE_ENTRIES = 2
# The largest factor by which a page enlarges a plot.
_SVG_SCALE = 1.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """SVG elements of a plot; CSS classes define their colours.

    Each entry of ``legend`` has three elements: the CSS class of the colour, the shape, and
    the name of a trace. If the page is narrower than ``least_width`` pixels, the plot
    has a scroll bar.
    """

    title: str
    width: int
    height: int
    body: str
    legend: Sequence[tuple[str, str, str]] = ()
    least_width: int = 0


def show_figure(figure: Figure) -> str:
    """Return the HTML of a plot with its title and legend."""
    shape = f'viewBox="0 0 {figure.width} {figure.height}" role="img"'
    label = f'aria-label="{html_text(figure.title)}"'
    widths = f"min-width:{figure.least_width}px;max-width:{_SVG_SCALE * figure.width:g}px"
    svg = f'<svg {shape} {label} style="{widths}">{figure.body}</svg>'
    if figure.least_width:
        svg = f'<div class="scroll" tabindex="0">{svg}</div>'
    items = "".join(
        f'<li><i class="{colour} of-{shape}"></i>{html_text(name)}</li>'
        for colour, shape, name in figure.legend
    )
    legend = f'<ul class="legend">{items}</ul>' if items else ""
    wide = ' class="wide"' if figure.least_width else ""
    title = f"<figcaption>{html_text(figure.title)}</figcaption>"
    return f"<figure{wide}>{title}{svg}{legend}</figure>"


def write_figures(path: str | PathLike[str], title: str, figures: Sequence[Figure]) -> None:
    """Write plots into one SVG file."""
    write_atomic(path, make_svg(title, figures).encode())


def make_svg(title: str, figures: Sequence[Figure]) -> str:
    """Return plots as one SVG image, two in a row, in the colours of the light theme."""
    columns, rows = min(len(figures), _PLOTS_PER_ROW), -(-len(figures) // _PLOTS_PER_ROW)
    width = _GAP + max(figure.width for figure in figures)
    lines = max(-(-len(figure.legend) // _LEGEND_LINE_ENTRIES) for figure in figures)
    height = _GAP + _TITLE_PX + max(it.height for it in figures) + lines * _LEGEND_PX
    head = f'<text class="head" x="{_MARGIN}" y="{_MARGIN + 14}">{html_text(title)}</text>'
    body = [head]
    for number, figure in enumerate(figures):
        row, column = divmod(number, _PLOTS_PER_ROW)
        x, y = _MARGIN + column * width, _MARGIN + _HEADING_PX + row * height
        body.append(f'<g transform="translate({x} {y})">{_add_legend(figure)}</g>')
    return _SVG_PAGE.format(
        width=2 * _MARGIN + columns * width - _GAP,
        height=2 * _MARGIN + _HEADING_PX + rows * height - _GAP,
        style=_make_light_style(),
        body="\n".join(body),
    )


def _make_light_style() -> str:
    """Return the style sheet without CSS variables, which few SVG viewers support."""
    colours = re.findall(r"(--\w+): (#\w+);", read_style("_style.css"))
    light = dict(reversed(colours))  # the light theme is defined first in the style sheet
    return re.sub(r"var\((--\w+)\)", lambda it: light[it[1]], read_style("_figure.css"))


def _add_legend(figure: Figure) -> str:
    """Return the SVG of a plot with its title above and its legend below."""
    marks = {"line": "M0 0h18", "points": "M9 0h0", "bars": "M0-5h18v10h-18Z"}
    items: list[str] = []
    for number, (colour, shape, name) in enumerate(figure.legend):
        row, column = divmod(number, _LEGEND_LINE_ENTRIES)
        x = column * figure.width / _LEGEND_LINE_ENTRIES
        y = figure.height + _TITLE_PX + (row + 0.5) * _LEGEND_PX
        kind = "line" if shape == "guide" else shape
        mark = f'<path class="{kind} {colour}" d="{marks[kind]}"/>'
        text = f'<text class="ink" x="24" y="4">{html_text(name)}</text>'
        items.append(f'<g transform="translate({x:g} {y:g})">{mark}{text}</g>')
    title = f'<text class="title" y="12">{html_text(figure.title)}</text>'
    return (
        f'{title}<g transform="translate(0 {_TITLE_PX})">{figure.body}</g>{"".join(items)}'
    )


def read_style(name: str) -> str:
    """Read a CSS file of the package."""
    return files("seqloom.report").joinpath(name).read_text("utf-8")


def check_svg(path: str | PathLike[str] | None) -> None:
    """Raise if the file name of a picture does not end in ``.svg``.

    Args:
        path: The path of the picture, or None if there is no picture.

    Raises:
        ArgumentError: The file name does not end in ``.svg``.

    Examples:
        >>> check_svg("curves.svg")
    """
    if path is not None and Path(path).suffix.lower() != ".svg":
        raise ArgumentError(
            f"{path}: a picture is written as SVG; give it a name that ends in .svg"
        )


# Matches the spaces at which a line must not break, as in "0.93 to 0.97" and "7.5 s".
INTERVAL_SPACES = re.compile(
    r"(?<=\d) (?=to \d)|(?<=\d to) (?=\d)|(?<=\(kept) (?=\d)|(?<=\d) (?=(?:s|%)$)"
)
# Numbers in this range have four decimals, so that the numbers of a column align.
MIN_DECIMAL, MAX_DECIMAL = 0.001, 1000.0


def html_text(text: str) -> str:
    """Escape text from a file, so that HTML tags and bidirectional marks have no effect."""
    return escape(printable(text))


def show_tile(tile: Tile) -> str:
    """Return the HTML of a key figure."""
    note = f"<span>{_join_intervals(tile.note)}</span>" if tile.note else ""
    name, value = html_text(tile.name), html_text(tile.value)
    return f"<li><span>{name}</span><strong>{value}</strong>{note}</li>"


def show_table(table: Table, *, caption: bool) -> str:
    """Return the HTML of a table; if ``caption`` is True, its title is a table caption."""
    title = f"<caption>{html_text(table.title)}</caption>" if caption else ""
    columns = [[row[at] for row in table.rows] for at in range(len(table.columns))]
    numeric = [bool(it) and not any(isinstance(x, str) for x in it) for it in columns]
    head = _show_row("th", table.columns, numeric)
    body = "".join(_show_row("td", row, numeric) for row in table.rows)
    inside = f"{title}<thead>{head}</thead><tbody>{body}</tbody>"
    return f'<div class="scroll" tabindex="0"><table>{inside}</table></div>'


def show_facts(facts: Mapping[str, Fact]) -> str:
    """Return the HTML of a list of names and values."""
    terms = (
        f"<dt>{html_text(name)}</dt><dd>{html_text(str(fact))}</dd>"
        for name, fact in facts.items()
    )
    return f"<dl>{''.join(terms)}</dl>"


def _show_row(tag: str, cells: Sequence[Cell], numeric: Sequence[bool]) -> str:
    """Return the HTML of a table row; numbers are aligned to the right."""
    shown = (
        f"<{tag}{' class=number' if right else ''}>{_format_cell(cell)}</{tag}>"
        for cell, right in zip(cells, numeric, strict=True)
    )
    return f"<tr>{''.join(shown)}</tr>"


def _format_cell(cell: Cell) -> str:
    """Format a table cell with thousands separators, four decimals, and a dash for NaN."""
    if isinstance(cell, str):
        return _join_intervals(cell)
    if isinstance(cell, int):
        return f"{cell:,}"
    if math.isnan(cell):
        return "\N{EN DASH}"
    plain = cell == 0.0 or MIN_DECIMAL <= abs(cell) < MAX_DECIMAL
    return f"{cell:.4f}" if plain else f"{cell:.4g}"


def _join_intervals(text: str) -> str:
    """Escape text and prevent line breaks inside intervals and quantities."""
    return INTERVAL_SPACES.sub("\N{NO-BREAK SPACE}", html_text(text))
