"""Read VCF and BCF files in batches."""

from __future__ import annotations

import weakref
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from seqloom._arguments import is_list, quote
from seqloom._ragged import Ragged
from seqloom._rust import _native
from seqloom._threads import count_threads
from seqloom.errors import ArgumentError
from seqloom.io._reader import ReaderLock
from seqloom.io._settings import check_int_range, resolve_source
from seqloom.io._variant_batch import VariantBatch

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any, TypeAlias

    import numpy as np
    from numpy.typing import NDArray

    from seqloom.io._settings import PathOrFile

    # (values, offsets of texts or None, number of values per row or 0)
    NativeColumn: TypeAlias = tuple[NDArray[Any], NDArray[np.int64] | None, int]


@dataclass(frozen=True, slots=True)
class Oddity:
    """A rule of the format that records break.

    Args:
        kind: Name of the rule, such as ``"undeclared_contig"``.
        count: Number of occurrences.
        line: Line of the first occurrence; in BCF or a region, the number of the record.
        example: Text of the first occurrence.

    Examples:
        >>> import seqloom as sl
        >>> sl.io.Oddity("undeclared_contig", 3, 12, "chrUn_7").line
        12
    """

    kind: str
    count: int
    line: int
    example: str


@dataclass(frozen=True, slots=True)
class VariantReport:
    """Number of records read so far, and the broken rules of the format.

    Records that break a rule are read if their meaning is certain. Other records raise
    a `FormatError`.

    Args:
        records: Number of records read.
        oddities: Broken rules, by kind. The header can have ``missing_fileformat``,
            ``unknown_version``, ``duplicate_declaration`` and ``duplicate_sample``. The
            kind ``index_older_than_file`` counts an index that may be outdated. Every
            record can have ``empty_line``, ``windows_line_end``, ``position_zero``,
            ``infinite_quality``, ``lower_case_reference``, ``undeclared_contig``,
            ``undeclared_filter`` and ``empty_info``. Requested fields can have
            ``undeclared_info``, ``undeclared_format``, ``number_of_values``,
            ``info_without_value`` and ``repeated_info``. If an INFO field is repeated, its
            first value is read.

    Examples:
        >>> from pathlib import Path
        >>> import seqloom as sl
        >>> text = "##fileformat=VCFv4.2\\n"
        >>> text += "#CHROM\\tPOS\\tID\\tREF\\tALT\\tQUAL\\tFILTER\\tINFO\\n"
        >>> _ = Path("a.vcf").write_text(text + "chr1\\t7\\t.\\tA\\tG\\t.\\tPASS\\t.\\n")
        >>> with sl.io.open_variants("a.vcf") as reader:
        ...     _ = list(reader.batches())
        >>> reader.report.records, reader.report.oddities["undeclared_contig"].line
        (1, 3)
    """

    records: int
    oddities: dict[str, Oddity] = field(default_factory=dict[str, Oddity])


class VariantReader:
    """Reader of a VCF or BCF file from start to end, in batches of columns.

    `open_variants` creates the reader. Only one thread may use a reader at a time; use in a
    second thread raises an error.

    Args:
        path: The path, ``"-"`` for standard input, or a binary file object.
        region: Regions to read, as in `open_variants`.
        samples: Samples to read, as in `open_variants`.
        fields: Fields to read, as in `open_variants`.
        threads: Number of threads; None for all cores.

    Attributes:
        path: Path as the caller gave it.
        header: Text of the header, up to and including the line of column names.
        contigs: Length of each sequence that the header declares, or None if the header
            does not state it.
        samples: Names of the samples whose genotypes are read.

    Examples:
        >>> from pathlib import Path
        >>> import seqloom as sl
        >>> text = "##fileformat=VCFv4.2\\n##contig=<ID=chr1,length=90>\\n"
        >>> text += "#CHROM\\tPOS\\tID\\tREF\\tALT\\tQUAL\\tFILTER\\tINFO\\n"
        >>> _ = Path("a.vcf").write_text(text + "chr1\\t7\\t.\\tA\\tG\\t.\\tPASS\\t.\\n")
        >>> with sl.io.VariantReader("a.vcf") as reader:
        ...     reader.contigs, [len(batch) for batch in reader.batches()]
        ({'chr1': 90}, [1])
    """

    path: str
    header: str
    contigs: dict[str, int | None]
    samples: list[str]

    def __init__(
        self,
        path: PathOrFile,
        *,
        region: str | Sequence[str] | None = None,
        samples: Sequence[str] | bool | None = None,
        fields: Sequence[str] = (),
        threads: int | None = None,
    ) -> None:
        self.path, source = resolve_source(path)
        self._fields = _check_fields(fields)
        self._has_samples = samples is not None and samples is not False
        self._native = _native.VariantFile(
            self.path,
            source,
            regions=_check_regions(region),
            samples=None if isinstance(samples, bool) else _check_names(samples),
            all_samples=samples is True,
            fields=self._fields,
            threads=count_threads(threads),
        )
        self.header = self._native.header
        self.contigs = dict(self._native.contigs)
        self.samples = self._native.samples
        self._chrom_names: list[str] = []
        self._finalizer = weakref.finalize(self, self._native.close)
        # At exit, another thread may still be reading, and the system closes the files
        # anyway.
        self._finalizer.atexit = False
        self._final_report: VariantReport | None = None
        self._reading = ReaderLock(self.path)

    def batches(
        self, n: int = 4096, *, max_bytes: int = 64 << 20
    ) -> Iterator[VariantBatch]:
        """Yield the remaining records as batches.

        Args:
            n: Maximum number of records in a batch.
            max_bytes: Approximate maximum size of a batch in bytes; a larger record is
                returned as a batch of one record.

        Returns:
            Batches of the remaining records, in file order.

        Raises:
            ArgumentError: ``n`` or ``max_bytes`` is below 1 or at least 2**63, the reader
                is closed, or another thread is reading.
            FormatError: A record is invalid, or the file is truncated. The batches before
                it contain all earlier records.

        Examples:
            >>> from pathlib import Path
            >>> import seqloom as sl
            >>> text = "##fileformat=VCFv4.2\\n"
            >>> text += "#CHROM\\tPOS\\tID\\tREF\\tALT\\tQUAL\\tFILTER\\tINFO\\n"
            >>> text += "".join(f"1\\t{at}\\t.\\tA\\tG\\t.\\t.\\t.\\n" for at in (5, 6, 9))
            >>> _ = Path("a.vcf").write_text(text)
            >>> with sl.io.open_variants("a.vcf") as reader:
            ...     [batch.starts.tolist() for batch in reader.batches(2)]
            [[4, 5], [8]]
        """
        check_int_range("n", n)
        check_int_range("max_bytes", max_bytes)
        return iter(lambda: self._read_batch(n, max_bytes), None)

    def _read_batch(self, n: int, max_bytes: int) -> VariantBatch | None:
        if self._final_report is not None:
            raise ArgumentError(f"{self.path}: the reader is closed; open the file again")
        with self._reading:
            columns = self._native.read(n, max_bytes)
            if columns is None:
                return None
            new_names = self._native.chrom_names(len(self._chrom_names))
        if new_names:
            # Earlier batches keep their shorter list.
            self._chrom_names = self._chrom_names + new_names
        return self._make_batch(*columns)

    def _make_batch(
        self,
        chrom_codes: NDArray[np.int32],
        starts: NDArray[np.int64],
        *columns: Any,
    ) -> VariantBatch:
        qualities, lines, texts, fields, genotypes = columns
        names = ("ids", "refs", "alts", "filters")
        rows = (Ragged(data, offsets) for data, offsets in texts)
        info, formats = self._split_fields(fields, starts.size)
        alleles, phased = self._shape_genotypes(genotypes, starts.size)
        return VariantBatch(
            chrom_codes=chrom_codes,
            chrom_names=self._chrom_names,
            starts=starts,
            qualities=qualities,
            lines=lines,
            info=info,
            format=formats,
            genotypes=alleles,
            phased=phased,
            **dict(zip(names, rows, strict=True)),
        )

    def _split_fields(
        self, columns: list[NativeColumn], records: int
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the columns of INFO and of FORMAT by name."""
        info: dict[str, Any] = {}
        formats: dict[str, Any] = {}
        for field_name, (array, offsets, width) in zip(self._fields, columns, strict=True):
            scope, _, name = field_name.partition("/")
            shape = (records,) if scope == "INFO" else (records, len(self.samples))
            shape += (width,) if width else ()
            target = info if scope == "INFO" else formats
            if offsets is not None:
                target[name] = Ragged(array, offsets)
            else:
                target[name] = array.reshape(shape)
        return info, formats

    def _shape_genotypes(
        self, genotypes: tuple[NDArray[Any], int, NDArray[np.bool_]], records: int
    ) -> tuple[NDArray[np.int8] | NDArray[np.int16] | None, NDArray[np.bool_] | None]:
        """Return the alleles and phases of each record and sample, if samples are read."""
        if not self._has_samples:
            return None, None
        alleles, ploidy, phased = genotypes
        shape = (records, len(self.samples))
        return alleles.reshape(*shape, ploidy), phased.reshape(shape)

    @property
    def report(self) -> VariantReport:
        """Number of records read so far, and the broken rules of the format."""
        if self._final_report is not None:
            return self._final_report
        with self._reading:
            records, rows = self._native.report()
        return VariantReport(records, {row[0]: Oddity(*row) for row in rows})

    def close(self) -> None:
        """Close the file; repeated calls have no effect. The report remains available.

        Examples:
            >>> from pathlib import Path
            >>> import seqloom as sl
            >>> text = "##fileformat=VCFv4.2\\n"
            >>> text += "#CHROM\\tPOS\\tID\\tREF\\tALT\\tQUAL\\tFILTER\\tINFO\\n"
            >>> _ = Path("a.vcf").write_text(text)
            >>> sl.io.open_variants("a.vcf").close()
        """
        # The garbage collector may already have closed the file.
        if self._final_report is None and self._finalizer.alive:
            self._final_report = self.report
            self._finalizer()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _check_regions(region: str | Sequence[str] | None) -> list[str]:
    """Return the regions; raise if a list has none."""
    if region is None or isinstance(region, str):
        return [] if region is None else [region]
    regions: list[Any] = list(region) if is_list(region) else [region]
    if not regions:
        raise ArgumentError("region is an empty list; None reads the whole file")
    if not all(isinstance(it, str) for it in regions):
        raise ArgumentError(
            'region must be a string such as "chr1:1,000-2,000", or a list of strings, got '
            f"{quote(region)}"
        )
    return regions


def _check_fields(fields: Sequence[str]) -> list[str]:
    """Return the names of fields; raise unless they are strings that differ."""
    if isinstance(fields, str):
        raise ArgumentError(f"fields must be a list of names, got {quote(fields)}")
    names = list(fields)
    for name in names:
        if names.count(name) > 1:
            raise ArgumentError(f"fields has {quote(name)} more than once")
    return names


def _check_names(samples: Sequence[str] | None) -> list[str] | None:
    """Return the names of samples; raise if they are one string."""
    if isinstance(samples, str):
        raise ArgumentError(
            f"samples must be True, None or a list of names, got {quote(samples)}"
        )
    return None if samples is None else list(samples)


def open_variants(
    path: PathOrFile,
    *,
    region: str | Sequence[str] | None = None,
    samples: Sequence[str] | bool | None = None,
    fields: Sequence[str] = (),
    threads: int | None = None,
) -> VariantReader:
    """Open a VCF or BCF file for reading in batches of columns.

    The content of the file determines its format (VCF 4.1 to 4.5, BCF 2.1 or 2.2) and its
    compression (none, gzip, bgzip, bzip2, xz or zstd). A BCF file has the same columns as a
    VCF file. A record that breaks a rule of the format is read if its meaning is certain,
    and counted in the reader's ``report``.

    Args:
        path: The path, ``"-"`` for standard input, or a binary file object.
        region: Region to read, or a list of regions: ``"chr1"``, ``"chr1:1,000-2,000"`` or
            ``"chr1:1000"``. Positions are 1-based and inclusive. A record is read if its
            reference range (REF, or POS to INFO/END) overlaps a region, as in bcftools.
            Each record is read once, in file order. The file must be compressed with
            bgzip and have a ``.tbi`` or ``.csi`` index.
        samples: Samples whose genotypes are read: None for no samples, True for all
            samples, or a list of names.
        fields: Names of fields to read, such as ``"INFO/AF"`` or ``"FORMAT/DS"``. See
            `VariantBatch` for their types. Other fields are not checked.
        threads: Number of threads, including the calling one; None for all cores.

    Returns:
        A reader, which is a context manager.

    Raises:
        MissingFileError: The file does not exist.
        FormatError: The file is not a VCF or BCF file, or its header is invalid.
        ArgumentError: A sample is not in the header, a field or region is invalid, or a
            region is requested of a file that is not bgzip.
        FileError: A region is requested, and the file has no index.

    Examples:
        >>> from pathlib import Path
        >>> import seqloom as sl
        >>> text = "##fileformat=VCFv4.2\\n"
        >>> text += "#CHROM\\tPOS\\tID\\tREF\\tALT\\tQUAL\\tFILTER\\tINFO\\n"
        >>> _ = Path("a.vcf").write_text(text + "chr1\\t7\\trs1\\tA\\tG\\t.\\tPASS\\t.\\n")
        >>> with sl.io.open_variants("a.vcf") as reader:
        ...     [batch.ids.to_list() for batch in reader.batches()]
        [[b'rs1']]
    """
    return VariantReader(
        path, region=region, samples=samples, fields=fields, threads=threads
    )
