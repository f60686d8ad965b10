"""What the commands for PLINK files may write."""

import os
from itertools import product
from pathlib import Path

from seqloom.errors import ArgumentError, FileError

_SET = (".bed", ".fam", ".bim")


def check_target(source: str, target: Path | None, *, overwrite: bool) -> None:
    """Refuses to write a file of the set that is read, or to replace any unasked."""
    if target is None:
        return
    if not target.parent.is_dir():
        raise FileError(f"{target}: cannot be written: there is no folder {target.parent}")
    written = _set_of(target) if target.suffix == ".bed" else [target]
    for file, read in product(written, _set_of(Path(source))):
        if file.exists() and read.exists() and file.samefile(read):
            raise ArgumentError(
                f"{file}: is a file to read and to write at once; write to another name"
            )
    for file in written:
        if file.is_file() and not overwrite:
            raise FileError(f"{file}: is there already; --overwrite replaces it")


def check_apart(table: Path | None, picture: Path | None) -> None:
    """Refuses one name for two files."""
    if table and picture and os.path.realpath(table) == os.path.realpath(picture):
        raise ArgumentError(f"{picture}: is named for table and picture; choose two names")


def _set_of(bed: Path) -> list[Path]:
    """Names the three files of a set."""
    return [bed.with_suffix(suffix) for suffix in _SET]
