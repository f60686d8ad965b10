"""Values as HTML: every name that came from a file is escaped here."""

import math
import re
from collections.abc import Mapping, Sequence
from html import escape

from seqloom._text import printable
from seqloom.report._values import Cell, Fact, Table, Tile

# The spaces within "0.93 to 0.97", "(kept 3)" and "7.5 s": no line ends there.
WITHIN_INTERVAL = re.compile(
    r"(?<=\d) (?=to \d)|(?<=\d to) (?=\d)|(?<=\(kept) (?=\d)|(?<=\d) (?=(?:s|%)$)"
)
# Fractions between these are set with four decimals, so that a column lines up.
PLAIN_FROM, PLAIN_TO = 0.001, 1000.0


def show_text(text: str) -> str:
    """Shows text that came from a file: nothing in it is obeyed, by HTML or by bidi."""
    return escape(printable(text))


def show_tiles(tiles: Sequence[Tile]) -> str:
    """Shows key figures side by side."""
    return f'<ul class="tiles">{"".join(map(_show_tile, tiles))}</ul>'


def show_notes(notes: Sequence[str]) -> str:
    """Shows what must not be missed."""
    return (
        f'<ul class="notes">{"".join(f"<li>{show_text(note)}</li>" for note in notes)}</ul>'
    )


def show_table(table: Table, *, caption: bool) -> str:
    """Shows a table; ``caption`` says whether its title stands inside it."""
    title = f"<caption>{show_text(table.title)}</caption>" if caption else ""
    numeric = [
        _is_numeric([row[i] for row in table.rows]) for i in range(len(table.columns))
    ]
    head = _show_row("th", table.columns, numeric)
    body = "".join(_show_row("td", row, numeric) for row in table.rows)
    inside = f"{title}<thead>{head}</thead><tbody>{body}</tbody>"
    return f'<div class="scroll" tabindex="0"><table>{inside}</table></div>'


def show_facts(facts: Mapping[str, Fact]) -> str:
    """Shows names and values as a list of terms."""
    terms = (
        f"<dt>{show_text(name)}</dt><dd>{show_text(str(fact))}</dd>"
        for name, fact in facts.items()
    )
    return f"<dl>{''.join(terms)}</dl>"


def _show_tile(tile: Tile) -> str:
    """Shows one key figure."""
    note = f"<span>{_join_intervals(tile.note)}</span>" if tile.note else ""
    name, value = show_text(tile.name), show_text(tile.value)
    return f"<li><span>{name}</span><strong>{value}</strong>{note}</li>"


def _is_numeric(cells: Sequence[Cell]) -> bool:
    """Says whether a column holds numbers only."""
    return bool(cells) and not any(isinstance(cell, str) for cell in cells)


def _show_row(tag: str, cells: Sequence[Cell], numeric: Sequence[bool]) -> str:
    """Shows one row, numbers to the right."""
    shown = (
        f"<{tag}{' class=number' if right else ''}>{_spell(cell)}</{tag}>"
        for cell, right in zip(cells, numeric, strict=True)
    )
    return f"<tr>{''.join(shown)}</tr>"


def _spell(cell: Cell) -> str:
    """Spells a cell: thousands apart, four digits of a fraction, a dash for NaN."""
    if isinstance(cell, str):
        return _join_intervals(cell)
    if isinstance(cell, int):
        return f"{cell:,}"
    if math.isnan(cell):
        return "\N{EN DASH}"
    plain = cell == 0.0 or PLAIN_FROM <= abs(cell) < PLAIN_TO
    return f"{cell:.4f}" if plain else f"{cell:.4g}"


def _join_intervals(text: str) -> str:
    """Shows text in which no line ends within an interval."""
    return WITHIN_INTERVAL.sub("\N{NO-BREAK SPACE}", show_text(text))
