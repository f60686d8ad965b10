"""Variants as an argument: a file, standard input, a batch of records, or a table."""

from __future__ import annotations

import gzip
import os
import shutil
import sys
import zlib
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._arguments import is_list, quote
from seqloom._ragged import Ragged
from seqloom.data._frame import Frame
from seqloom.data.interval._bed import as_whole_number
from seqloom.data.interval._intervals import MAX_POSITION
from seqloom.data.variant._check import CheckReport
from seqloom.errors import ArgumentError, FormatError

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping
    from contextlib import AbstractContextManager

    from numpy.typing import NDArray

    from seqloom.data.interval._spans import Genome
    from seqloom.data.variant._check import VariantColumns
    from seqloom.io import VariantReader


class VariantInput:
    """Variants that can be read several times, in batches of columns.

    Standard input and file objects are copied to a temporary file, because all records are
    compared with the genome before the first is used.

    Args:
        variants: The path of a VCF or BCF file, ``"-"`` for standard input, a binary file
            object, a batch of ``sl.io.open_variants``, or a table.

    Attributes:
        path: The path of the file or of its temporary copy; None for records in memory.
        what: The name of the variants in error messages.
        noun: The unit of the ``lines`` of a batch: "line", "record" (BCF) or "row".
        oddities: The number of records that break a rule of the format, by rule.
    """

    def __init__(self, variants: Any) -> None:
        self._batch: VariantColumns | None = None
        self.oddities: dict[str, int] = {}
        self._lengths: Mapping[str, int | None] = {}
        self.path: str | None = None
        self.what, self.noun = "the variants", "line"
        if isinstance(variants, (str, os.PathLike)) or hasattr(variants, "read"):
            self._set_path(variants)
            self.noun = "record" if _is_bcf(self.path or "") else "line"
            with self._open() as reader:
                self._lengths = reader.contigs
        elif hasattr(variants, "chrom_codes"):
            self._batch = variants
        else:
            self.what, self.noun = "the table of variants", "row"
            self._batch = _read_table(variants)

    def _set_path(self, source: Any) -> None:
        """Set the path and the name of a file; copy a stream to a temporary file."""
        is_path = isinstance(source, (str, os.PathLike))
        path = Path(os.fspath(source)).expanduser() if is_path else None
        if path is not None and str(path) != "-" and (path.is_file() or not path.exists()):
            self.what = self.path = str(path)
        else:  # a pipe or a file object, which can be read only once
            with self._open_stream(source, path) as stream:
                # The copy is deleted together with this object.
                self._copy = NamedTemporaryFile(prefix="seqloom-", suffix=".vcf")  # noqa: SIM115
                shutil.copyfileobj(stream, self._copy)
            self._copy.flush()
            self.path = self._copy.name

    def _open_stream(self, source: Any, path: Path | None) -> AbstractContextManager[Any]:
        """Return a pipe or file object, and set its name."""
        if path is None:
            self.what = str(getattr(source, "name", self.what))
            return nullcontext(source)
        if str(path) == "-":
            self.what = "standard input"
            return nullcontext(sys.stdin.buffer)
        self.what = str(path)
        return path.open("rb")

    @property
    def lasting_path(self) -> str | None:
        """The path of the file; None for a temporary copy and for records in memory."""
        return self.path if self.path == self.what else None

    @contextmanager
    def _open(self) -> Generator[VariantReader]:
        from seqloom.io import open_variants

        path = self.path or ""
        with FileIO(path) if self.lasting_path is None else nullcontext(path) as source:
            if isinstance(source, FileIO):
                vars(source)["name"] = self.what  # the name in messages
            with open_variants(source) as reader:
                yield reader

    def batches(self, size: int = 4096) -> Iterator[Any]:
        """Yield the records from the first; records in memory are one batch."""
        if self._batch is not None:
            yield self._batch
            return
        with self._open() as reader:
            yield from reader.batches(size)
            rules = reader.report.oddities.values()
            self.oddities = {rule.kind: rule.count for rule in rules}

    def report(self, genome: Genome) -> CheckReport:
        """Return a new, empty report of the comparison with a genome."""
        return CheckReport(genome, self._lengths, what=self.what, noun=self.noun)


def _is_bcf(path: str) -> bool:
    """Return whether the content of a file is BCF; False for a file that cannot be read."""
    for open_file in (open, gzip.open):
        with suppress(OSError, EOFError, zlib.error), open_file(path, "rb") as file:
            if file.read(3) == b"BCF":
                return True
    return False


_COLUMN_ALIASES = {
    "chrom": ("chrom", "chr", "chromosome", "contig"),
    "pos": ("pos", "position"),
    "start": ("start",),
    "ref": ("ref",),
    "alt": ("alt",),
    "id": ("id", "name", "rsid"),
}


@dataclass(frozen=True, slots=True, eq=False)
class _TableColumns:
    """The columns of a table of variants."""

    chrom_codes: NDArray[np.int32]
    chrom_names: list[str]
    starts: NDArray[np.int64]
    ids: Ragged
    refs: Ragged
    alts: Ragged
    lines: NDArray[np.int64]


def _read_table(table: Any) -> VariantColumns:
    """Return the columns of a dict or data frame of variants."""
    frame = Frame.of(table)
    if frame is None:
        raise ArgumentError(
            "variants must be a VCF or BCF file, a batch of sl.io.open_variants, a dict of "
            f"columns or a data frame, got {quote(table)}"
        )
    names = {name.strip().lstrip("#").lower(): name for name in frame.names}
    columns = {
        column: frame.column(names[alias])
        for column, aliases in _COLUMN_ALIASES.items()
        for alias in aliases
        if alias in names
    }
    missing = [name for name in ("chrom", "ref", "alt") if name not in columns]
    if missing or ("pos" in columns) == ("start" in columns):
        raise ArgumentError(
            f"{frame.what} of variants has the columns {', '.join(frame.names)}; expected "
            "chrom, ref, alt, and either pos (from 1) or start (from 0)"
        )
    chroms = [str(chrom) for chrom in columns["chrom"]]
    codes = {name: code for code, name in enumerate(dict.fromkeys(chroms))}
    return _TableColumns(
        np.array([codes[chrom] for chrom in chroms], np.int32),
        list(codes),
        _read_positions(columns),
        Ragged.from_list([str(name) for name in columns.get("id", ["."] * len(chroms))]),
        Ragged.from_list([_encode_allele(allele) for allele in columns["ref"]]),
        Ragged.from_list([_encode_allele(allele) for allele in columns["alt"]]),
        np.arange(len(chroms)),
    )


def _read_positions(columns: Mapping[str, list[Any]]) -> NDArray[np.int64]:
    """Return zero-based positions from the column ``pos`` or ``start``."""
    name, base = ("pos", 1) if "pos" in columns else ("start", 0)
    positions = np.zeros(len(columns[name]), np.int64)
    for row, cell in enumerate(columns[name]):
        try:
            number = as_whole_number(cell)
        except (ValueError, TypeError, OverflowError):
            number = MAX_POSITION + 1
        if abs(number) > MAX_POSITION:
            raise FormatError(
                f"the table of variants, row {row}: {name} must be an integer, found "
                f"{cell!r}",
                record=row,
            )
        positions[row] = number - base
    return positions


def _encode_allele(allele: Any) -> bytes:
    """Return an allele as bytes; lists of ALT alleles are joined with commas."""
    if isinstance(allele, bytes):
        return allele
    if is_list(allele):
        return b",".join(map(_encode_allele, allele))
    return str(allele).encode("latin-1", "replace")
