"""Sequences whose letters are coloured by what they count."""

from collections.abc import Iterator
from itertools import groupby

import numpy as np

from seqloom.report._html import show_text
from seqloom.report._panels import Letters, MarkedSequence

# A number stands above each group of so many letters.
_GROUP = 10
# The shades of a colour; a letter below a tenth of the strongest one has none.
_SHADES = 4
_FAINT = 0.1


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
    return f"{title}{note}<p>{' '.join(_groups(sequence))}</p>"


def _groups(sequence: MarkedSequence) -> Iterator[str]:
    """Cuts a sequence where its positions are multiples of ten."""
    styles = _styles(sequence)
    start = 0
    while start < len(sequence.letters):
        position = sequence.first + start
        stop = start + _GROUP - position % _GROUP
        pairs = list(zip(styles[start:stop], sequence.letters[start:stop], strict=True))
        yield f"<span><b>{position:,}</b>{_colour(pairs)}</span>"
        start = stop


def _colour(pairs: list[tuple[str, str]]) -> str:
    """Colours letters; neighbours of one colour share it."""
    runs = (
        (style, "".join(letter for _, letter in run))
        for style, run in groupby(pairs, key=lambda pair: pair[0])
    )
    return "".join(
        f'<i class="{style}">{show_text(text)}</i>' if style else show_text(text)
        for style, text in runs
    )


def _styles(sequence: MarkedSequence) -> list[str]:
    """Gives each letter a shade; the strongest letter of a sequence has the darkest."""
    weights = np.asarray(sequence.weights, float)
    shares = weights / max(float(np.abs(weights).max(initial=0)), np.finfo(float).tiny)
    shades = np.ceil(np.abs(shares) * _SHADES).astype(int)
    return [
        "" if abs(share) < _FAINT else f"{'up' if share > 0 else 'down'}{shade}"
        for share, shade in zip(shares.tolist(), shades.tolist(), strict=True)
    ]
