"""Write the records of a VCF file with further INFO fields."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self, TypeAlias

from seqloom._arguments import quote
from seqloom._files import as_path_text
from seqloom._ragged import Ragged
from seqloom._rust import _native
from seqloom._threads import count_threads
from seqloom.errors import ArgumentError
from seqloom.io._reader import ReaderLock
from seqloom.io._settings import check_rereadable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    # The id, number of values, type and description of a field.
    InfoField: TypeAlias = tuple[str, str, str, str]


_FIELD_PARTS = ("id", "number", "type", "description")


@dataclass(frozen=True, slots=True)
class WrittenVariants:
    """Summary of a VCF file that was written.

    Args:
        records: Number of records.
        index: Path of the index; None if there is no index.
        no_index: Reason why a bgzip file has no index, such as unsorted records.

    Examples:
        >>> import seqloom as sl
        >>> sl.io.WrittenVariants(3, "a.vcf.gz.tbi").index
        'a.vcf.gz.tbi'
    """

    records: int
    index: str | None = None
    no_index: str | None = None


class VariantWriter:
    """Writer of a VCF file that has the records of another file and further INFO fields.

    The writer reads the source again, in order. It keeps the header, the columns and the
    other INFO fields of the source. An INFO field of the source with the id of an added
    field is replaced. The file appears at its path only if the ``with`` block succeeds.

    Args:
        path: The path of the file. With the extension ``.gz`` or ``.bgz``, it is compressed
            as bgzip and gets an index: ``.tbi``, or ``.csi`` if a contig has more than
            2**29 bases. A file whose records are not sorted gets no index.
        source: The path of the VCF or BCF file with the records. Records of a BCF file
            become VCF text.
        info: The added fields: id, number of values, type and description of each. The
            number is an integer, ``A``, ``R``, ``G`` or ``.``. The type is ``Integer``,
            ``Float``, ``Flag``, ``Character`` or ``String``.
        threads: Number of threads, including the calling one; None for all cores.

    Raises:
        ArgumentError: A field of ``info`` is invalid, or both paths are the same file.
        FormatError: The source is not a VCF or BCF file.

    Examples:
        >>> from pathlib import Path
        >>> import seqloom as sl
        >>> text = "##fileformat=VCFv4.2\\n"
        >>> text += "#CHROM\\tPOS\\tID\\tREF\\tALT\\tQUAL\\tFILTER\\tINFO\\n"
        >>> _ = Path("a.vcf").write_text(text + "1\\t7\\t.\\tA\\tG\\t.\\t.\\tDP=3\\n")
        >>> info = [("SCORE", "A", "Float", "Score of the alternative allele")]
        >>> with sl.io.VariantWriter("b.vcf", "a.vcf", info=info) as writer:
        ...     writer.write(["SCORE=0.5"])
        >>> Path("b.vcf").read_text().splitlines()[-1].split("\\t")[-1]
        'DP=3;SCORE=0.5'
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        source: str | os.PathLike[str],
        *,
        info: Sequence[InfoField] = (),
        threads: int | None = None,
    ) -> None:
        self._path = as_path_text("path", path)
        check_rereadable(source)
        if os.path.realpath(path) == os.path.realpath(source):
            raise ArgumentError(f"{self._path}: path and source are the same file")
        self._native = _native.VariantFileWriter(
            self._path,
            as_path_text("source", source),
            info=[_check_field(field) for field in info],
            threads=count_threads(threads),
        )
        self._summary: WrittenVariants | None = None
        self._writing = ReaderLock(self._path)

    def write(self, texts: Ragged | Iterable[str | bytes]) -> None:
        """Write the next records of the source, each with a text added to INFO.

        Args:
            texts: One text per record, such as ``"SCORE=0.5;RANK=1"``; an empty text adds
                nothing. The text must not contain white space.

        Raises:
            ArgumentError: A text contains white space, there are more texts than records,
                or the writer is closed.
            FormatError: A record of the source is invalid.

        Examples:
            >>> from pathlib import Path
            >>> import seqloom as sl
            >>> text = "##fileformat=VCFv4.2\\n"
            >>> text += "#CHROM\\tPOS\\tID\\tREF\\tALT\\tQUAL\\tFILTER\\tINFO\\n"
            >>> _ = Path("a.vcf").write_text(text + "1\\t7\\t.\\tA\\tG\\t.\\t.\\t.\\n")
            >>> with sl.io.VariantWriter("b.vcf", "a.vcf") as writer:
            ...     writer.write([""])
            >>> Path("b.vcf").read_text() == Path("a.vcf").read_text()
            True
        """
        if isinstance(texts, (str, bytes)):
            raise ArgumentError(
                f"texts must be a list with a text for each record, got {quote(texts)}"
            )
        rows = texts if isinstance(texts, Ragged) else Ragged.from_list(texts)
        with self._writing:
            self._native.write(rows.data, rows.offsets)

    def close(self) -> WrittenVariants:
        """Complete the file and its index; repeated calls have no effect.

        Returns:
            The number of records, and the path of the index.

        Raises:
            ArgumentError: Fewer texts were written than the source has records.
            FileError: The file cannot be written.

        Examples:
            >>> from pathlib import Path
            >>> import seqloom as sl
            >>> text = "##fileformat=VCFv4.2\\n"
            >>> text += "#CHROM\\tPOS\\tID\\tREF\\tALT\\tQUAL\\tFILTER\\tINFO\\n"
            >>> _ = Path("a.vcf").write_text(text + "1\\t7\\t.\\tA\\tG\\t.\\t.\\t.\\n")
            >>> writer = sl.io.VariantWriter("b.vcf.gz", "a.vcf")
            >>> writer.write(["X=1"])
            >>> writer.close().index
            'b.vcf.gz.tbi'
        """
        if self._summary is None:
            with self._writing:
                records, index, reason = self._native.finish()
            self._summary = WrittenVariants(records, index, reason)
        return self._summary

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.close()
        else:
            self._native.abandon()


def _check_field(field: InfoField) -> InfoField:
    """Return the field; raise unless it has an id, number, type and description."""
    if len(field) != len(_FIELD_PARTS):
        raise ArgumentError(
            f"info: expected {', '.join(_FIELD_PARTS)} for each field, got {quote(field)}"
        )
    return field
