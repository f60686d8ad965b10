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
}


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
        text = str(error)
        for python, shell in _OPTIONS.items():
            text = text.replace(python, pattern.format(python=python, shell=shell))
        error.args = (text,)
        raise
