"""The error of a record that cannot be packed."""

from __future__ import annotations

from typing import Any, NoReturn

from seqloom._ragged import Ragged
from seqloom.data._encoded import in_file
from seqloom.data._ids import ids_of
from seqloom.errors import FormatError, LetterError, ShapeError


def raise_refusal(
    refusal: Any,
    paths: tuple[str, ...],
    *,
    max_tokens: int,
    fault: BaseException | None,
) -> NoReturn:
    """Raises the error of a refused record; it names file, record, and what helps."""
    file, record, header, letters, kind, tokens, found = refusal
    path: str = paths[int(file)]
    name = ids_of(Ragged.from_list([header]))[0]
    where = f"{path}: record {record} ({name})"
    if kind == "letter":
        raise _letter(found, (path, record), name) from None
    if kind == "other":
        raise _name_record(fault, where) from None
    if kind == "empty":
        raise _empty(where, path, record)
    raise _long(where, (letters, tokens), max_tokens)


def _empty(where: str, path: str, record: int) -> FormatError:
    """Makes the error of a record without letters."""
    return FormatError(
        f"{where}: no letters, expected at least one; take the record out of "
        'the file (PackedStream(..., empty="keep") packs such records)',
        path=path,
        record=record,
    )


def _long(where: str, sizes: tuple[int, int], max_tokens: int) -> ShapeError:
    """Makes the error of a record that no batch can hold."""
    letters, tokens = sizes
    return ShapeError(
        f"{where}: {letters:,} letters are {tokens:,} tokens, more than "
        f"max_tokens={max_tokens:,}: pass max_tokens={tokens} or more, or max_length= with "
        "overlap= to cut long records into windows"
    )


def _letter(found: tuple[int, int, str], at: tuple[str, int], name: str) -> LetterError:
    """Makes the error of a letter that the tokens do not have."""
    position, letter, expected = found
    error = LetterError("", position=position, letter=chr(letter), expected=expected)
    return in_file(error, at, name, augmented=False)


def _name_record(fault: BaseException | None, where: str) -> BaseException:
    """Adds to the error of a user's function the record that it was given."""
    if fault is None:
        return ShapeError(f"{where}: tokens gave no tokens for it")
    fault.add_note(where)
    return fault
