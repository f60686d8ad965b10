"""Header lines and comments in a .fam or a .bim, which have neither."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO, Final, NoReturn

from seqloom._text import parse_decimal, printable
from seqloom.errors import FormatError

if TYPE_CHECKING:
    from collections.abc import Generator

    from seqloom.io.plink._properties import Suffix

# Names that programs give to the columns, in lower case and without punctuation.
_NAMES: Final[dict[Suffix, str]] = {
    "fam": "fid family familyid famid iid individual individualid id sample sampleid "
    "withinfamilyid pat paternal paternalid father fatherid pid mat maternal maternalid "
    "mother motherid mid sex gender pheno phenotype pheno1 phen trait status affection",
    "bim": "chr chrom chromosome snp snpid sid id rsid rs variant variantid varid marker "
    "markername name cm cmposition morgan morgans gd geneticdistance genpos bp bpposition "
    "pos position basepair coordinate a0 a1 a2 allele0 allele1 allele2 ref alt counted",
}
_KINDS: Final[dict[Suffix, str]] = {"fam": "an individual", "bim": "a variant"}
_COLUMNS, _FEWEST_COLUMNS = 6, 5
_MIN_NAMES = 2
_PIECE_BYTES = 1 << 20
_LONGEST_LINE = 1 << 16
_SHOWN = 60
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def check_rows(file: BinaryIO, suffix: Suffix, name: str) -> None:
    """Raise if the first line is a header, or if a line is a comment.

    Read as a row, it would shift the genotypes of all rows after it by one. The size of the
    .bed does not show it, because the genotypes of a line are padded to whole bytes.
    """
    first = file.readline(_LONGEST_LINE).removeprefix(_BYTE_ORDER_MARK)
    if _is_header(_fields(first), suffix):
        _refuse("line 1 is a header", first, suffix, name=name)
    if first.startswith(b"#") and not _is_row(_fields(first), suffix):
        _refuse("line 1 is a comment", first, suffix, name=name)
    for start in _comment_starts(file):
        file.seek(start)
        line = file.readline(_LONGEST_LINE)
        if not _is_row(_fields(line), suffix):
            file.seek(0)
            number = file.read(start).count(b"\n") + 1
            _refuse(f"line {number} is a comment", line, suffix, name=name)


def _fields(line: bytes) -> list[str]:
    """Split a line."""
    return line.decode("utf-8", "replace").split()


def _is_header(fields: list[str], suffix: Suffix) -> bool:
    """True if a line holds names of columns and no number, or the numbers of columns."""
    names = [_plain(field) for field in fields]
    if len(names) >= _COLUMNS and any(
        names == [f"{prefix}{at + first}" for at in range(len(names))]
        for prefix, first in (("", 0), ("v", 1), ("column", 0), ("column", 1))
    ):
        return True
    has_number = any(_is_number(field) for field in fields)
    return not has_number and len({*_NAMES[suffix].split()} & {*names}) >= _MIN_NAMES


def _plain(field: str) -> str:
    """Write a name without case, quotes and punctuation."""
    return "".join(letter for letter in field.casefold() if letter.isalnum())


def _is_number(field: str) -> bool:
    """True if a field is a decimal number."""
    try:
        parse_decimal(field)
    except ValueError:
        return False
    return True


def _comment_starts(file: BinaryIO) -> Generator[int]:
    """Yield where lines after the first begin that have "#" as first character."""
    offset, piece = 0, b""
    file.seek(0)
    while True:
        more = file.read(_PIECE_BYTES)
        if not more:
            return
        piece = piece[-1:] + more
        start = offset + len(more) - len(piece)
        at = piece.find(b"\n#")
        while at >= 0:
            yield start + at + 1
            at = piece.find(b"\n#", at + 1)
        offset += len(more)
        file.seek(offset)


def _is_row(fields: list[str], suffix: Suffix) -> bool:
    """True if a line has the sex of an individual, or the position of a variant."""
    number = {"fam": fields[4:5], "bim": fields[-3:-2]}[suffix]
    return len(fields) >= _FEWEST_COLUMNS and all(map(_is_number, number))


def _refuse(fault: str, line: bytes, suffix: Suffix, *, name: str) -> NoReturn:
    """Raise with the line, and what to do."""
    shown = printable(" ".join(_fields(line)))
    if len(shown) > _SHOWN:
        shown = f"{shown[:_SHOWN]}..."
    raise FormatError(
        f"{name}: {fault} ({shown}); delete it: a .{suffix} has rows only, and reading it "
        f"as {_KINDS[suffix]} would shift all genotypes by one",
        kind="header",
        path=name,
    )
