"""Where a file is: a path, or a URL in the cloud."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import ParseResult, urlparse

from seqloom.errors import ArgumentError

if TYPE_CHECKING:
    from seqloom.io.plink._properties import Suffix

Location: TypeAlias = Path | ParseResult


def parse_location(location: object) -> Location:
    """Tells a URL, which has ``://``, from a path."""
    if isinstance(location, ParseResult):
        return location
    if isinstance(location, str) and "://" in location:
        return urlparse(location)
    if isinstance(location, str | os.PathLike):
        return _parse_path(os.fspath(location))
    raise ArgumentError(
        f"expected a path or a URL, got {type(location).__name__}; give a string or a Path"
    )


def _parse_path(text: str) -> Path:
    """Makes a path, which must end in the name of a file."""
    path = Path(text)
    if not path.name or "\0" in text:
        raise ArgumentError(f"{text!r}: expected the path of a file, found no file's name")
    return path


def with_suffix(location: Location, suffix: Suffix) -> Location:
    """Names the table that stands beside a .bed under the same name, gzipped or not."""
    if isinstance(location, Path):
        return packed_or_plain(location.with_name(f"{location.stem}.{suffix}"))
    stem, _ = os.path.splitext(location.path)  # noqa: PTH122 - the path of a URL
    return location._replace(path=f"{stem}.{suffix}")


def packed_or_plain(table: Path) -> Path:
    """Gives a table's name, or that with .gz behind it where only that is there."""
    packed = table.with_name(f"{table.name}.gz")
    # Unlike those of Path, these take a name that the machine refuses for an absent file.
    is_packed = not os.path.exists(table) and os.path.exists(packed)  # noqa: PTH110
    return packed if is_packed else table


def chosen(location: object, filepath: object, names: tuple[str, str]) -> object:
    """Takes an argument by its name of today, or by that of yesterday."""
    if location is not None and filepath is not None:
        raise ArgumentError(f"Cannot set both {names[0]} and {names[1]}")
    return filepath if location is None else location


def absolute(location: Location) -> Location:
    """Gives a path that stays the same when the process goes to another folder."""
    return location.absolute() if isinstance(location, Path) else location
