"""Adapts the remedies in error messages to the function or command that the user called."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from seqloom.errors import FormatError

if TYPE_CHECKING:
    from collections.abc import Generator

# Options of `open_sequences` that errors of the FASTA parser name, and those of the shell.
_OPTIONS = {
    'whitespace="strip"': "--whitespace strip",
    'comments="skip"': "--comments skip",
    'ids="number"': "--ids number",
}
_NO_ID = "expected an id after"
_NUMBERED_IDS = ' (ids="number" takes its number as the id)'


def suggest_numbered_ids(error: FormatError) -> None:
    """Adds the option `ids="number"` to the error for a header without an id.

    Args:
        error: The error of a reader; its message is changed in place.

    Examples:
        >>> error = FormatError("expected an id after '>', found none", kind="header")
        >>> suggest_numbered_ids(error)
        >>> print(error)
        expected an id after '>', found none (ids="number" takes its number as the id)
    """
    text = str(error)
    if _NO_ID in text and _NUMBERED_IDS not in text:
        error.args = (text + _NUMBERED_IDS,)


@contextmanager
def replace_remedies(pattern: str) -> Generator[None]:
    """Replaces the options of `open_sequences` in an error by what the caller offers.

    Args:
        pattern: The text that replaces an option. ``{python}`` is the option in Python,
            ``{shell}`` the option of the command line.

    Raises:
        FormatError: The error from the body, with the replaced message.

    Examples:
        >>> with replace_remedies("convert {shell}"):
        ...     raise FormatError('a blank: whitespace="strip" leaves it out')
        Traceback (most recent call last):
        ...
        seqloom.errors.FormatError: a blank: convert --whitespace strip leaves it out
    """
    try:
        yield
    except FormatError as error:
        suggest_numbered_ids(error)
        text = str(error)
        for python, shell in _OPTIONS.items():
            text = text.replace(python, pattern.format(python=python, shell=shell))
        error.args = (text,)
        raise
