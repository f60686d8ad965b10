"""Remedies that an error names, spelled as the caller can apply them."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from seqloom.errors import FormatError

if TYPE_CHECKING:
    from collections.abc import Generator

# What the parser of FASTA names, because `open_sequences` takes it.
_OPTIONS = {
    'whitespace="strip"': "--whitespace strip",
    'comments="skip"': "--comments skip",
    'ids="number"': "--ids number",
}


_NO_ID = "expected an id after"
_NUMBER = ' (ids="number" gives such records their number)'


def name_number(error: FormatError) -> None:
    """Names in an error what helps against a header without a word.

    Args:
        error: What a reader raised.

    Examples:
        >>> error = FormatError("expected an id after '>', found none", kind="header")
        >>> name_number(error)
        >>> print(error)
        expected an id after '>', found none (ids="number" gives such records their number)
    """
    text = str(error)
    if _NO_ID in text and _NUMBER not in text:
        error.args = (text + _NUMBER,)


@contextmanager
def respelled(pattern: str) -> Generator[None]:
    """Names other remedies than the options of `open_sequences`, which has others.

    Args:
        pattern: What to write; ``{python}`` and ``{shell}`` stand for the option.

    Raises:
        FormatError: The one that arose, in other words.

    Examples:
        >>> with respelled("convert {shell}"):
        ...     raise FormatError('a blank: whitespace="strip" leaves it out')
        Traceback (most recent call last):
        ...
        seqloom.errors.FormatError: a blank: convert --whitespace strip leaves it out
    """
    try:
        yield
    except FormatError as error:
        name_number(error)
        text = str(error)
        for python, shell in _OPTIONS.items():
            text = text.replace(python, pattern.format(python=python, shell=shell))
        error.args = (text,)
        raise
