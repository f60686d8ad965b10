"""Copy a PLINK set, or selected individuals and variants, to another set or format."""

from __future__ import annotations

import math
import re
import zipfile
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.lib import format as npy

from seqloom._files import atomic_path
from seqloom._rust import _native
from seqloom._text import parse_decimal
from seqloom._threads import run_interruptible
from seqloom.errors import FormatError
from seqloom.io.plink._file_set import name_set_files, write_set_files, write_tables
from seqloom.io.plink._properties import PROPERTIES
from seqloom.io.plink._selection import choose_thread_count
from seqloom.io.plink._write_bed import GenotypePacker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from seqloom.io.plink._open_bed import open_bed

    Positions = NDArray[np.int64]
    OnProgress = Callable[[int, int], object]

# Maximum bytes of decoded genotypes in memory. Blocks of individuals are larger,
# because each block of individuals reads every variant of the file.
_VARIANT_BLOCK_BYTES = 32 << 20
_INDIVIDUAL_BLOCK_BYTES = 128 << 20
_TRANSPOSED_BYTES = 256 << 20  # bytes of two-bit codes that are transposed at a time


def copy_set(
    bed: open_bed,
    target: Path,
    chosen: tuple[Positions, Positions],
    *,
    major: str,
    on_progress: OnProgress,
) -> None:
    """Write selected individuals and variants as a PLINK set; a failure leaves no file."""
    packer = GenotypePacker(major, bed.count_A1)
    blocks = read_blocks(bed, chosen, by_variant=major == "SNP")
    total, done = len(chosen[1] if major == "SNP" else chosen[0]), 0
    with write_set_files(name_set_files(target, None, None)) as parts:
        write_tables(parts, select_properties(bed, chosen))
        with parts[0].open("wb") as file:
            file.write(packer.header)
            for block in blocks:
                file.write(packer.pack_lines(block, done).data)
                done += len(block)
                on_progress(done, total)


def copy_whole_set(
    bed: open_bed, target: Path, *, major: str | None, on_progress: OnProgress
) -> None:
    """Copy a PLINK set to a layout, by default the one that it does not have."""
    major = major or ("individual" if bed.major == "SNP" else "SNP")
    everybody = _all_positions(bed)
    if not isinstance(bed.location, Path):
        copy_set(bed, target, everybody, major=major, on_progress=on_progress)
        return
    native, threads = bed._native(), choose_thread_count(None, bed._num_threads)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - same package
    layer = _native.GenotypeLayer(native, bed.shape, major == "individual", None)
    watch, total = _native.GenotypeWatch(), math.prod(bed.shape) // 4
    check = not bed.skip_format_check
    with write_set_files(name_set_files(target, None, None)) as parts:
        write_tables(parts, select_properties(bed, everybody))
        path = parts[0]
        # Transpose the two-bit codes without decoding; each byte is read and written
        # once.
        run_interruptible(
            lambda: layer.write(
                path, watch, room=_TRANSPOSED_BYTES, check=check, threads=threads
            ),
            lambda: on_progress(min(watch.bytes, total), total),
            stop=watch.stop,
        )


def read_blocks(
    bed: open_bed,
    chosen: tuple[Positions, Positions],
    *,
    by_variant: bool,
    dtype: str = "int8",
) -> Iterator[NDArray[Any]]:
    """Yield genotypes in blocks of variants (or individuals)."""
    iid, sid = chosen
    lines, others = (sid, iid) if by_variant else (iid, sid)
    size = _VARIANT_BLOCK_BYTES if by_variant else _INDIVIDUAL_BLOCK_BYTES
    at_once = max(1, size // max(len(others) * np.dtype(dtype).itemsize, 1))
    for first in range(0, len(lines), at_once):
        part = lines[first : first + at_once]
        if by_variant:
            yield bed.read((iid, part), dtype, "F").T
        else:
            yield bed.read((part, sid), dtype, "C")


def select_properties(
    bed: open_bed, chosen: tuple[Positions, Positions]
) -> dict[str, NDArray[Any]]:
    """Return the .fam and .bim columns of selected individuals and variants."""
    columns = {name: (bed.property_item(name), prop) for name, prop in PROPERTIES.items()}
    return {
        name: column[chosen[0] if prop.suffix == "fam" else chosen[1]]
        for name, (column, prop) in columns.items()
        if column is not None
    }


# Strings for the values 0, 1, 2 and missing (-127) in a table.
_GENOTYPE_TEXTS = np.array(["0", "1", "2", "NA"])
_EXPORTED_COLUMNS: dict[str, str] = {
    "FID": "fid",
    "IID": "iid",
    "PAT": "father",
    "MAT": "mother",
    "SEX": "sex",
    "PHENOTYPE": "pheno",
}

_RAW_COLUMNS = tuple(_EXPORTED_COLUMNS)
_ID_COLUMNS = ("FID", "IID")
_SEX_CODES = frozenset({"1", "2"})
# If all phenotypes are in this set, 1 is a control, 2 is a case, and 0 is missing.
_CASE_CONTROL = frozenset({"0", "1", "2", "-9"})
_MISSING_PHENOTYPE, _MISSING_PHENOTYPES = "-9", frozenset({"0", "-9"})
_match_number_start = re.compile(r"[+-]?\.?[0-9]").match


def write_npy(bed: open_bed, target: Path, *, dtype: str, on_progress: OnProgress) -> None:
    """Write individuals by variants as a .npy in Fortran order, variant by variant."""
    with atomic_path(target) as part, part.open("wb") as file:
        _write_npy_array(file, bed, dtype, on_progress=on_progress)


def write_npz(bed: open_bed, target: Path, *, dtype: str, on_progress: OnProgress) -> None:
    """Write a .npz with the array ``genotypes`` and the columns of the .fam and .bim."""
    with (
        atomic_path(target) as part,
        zipfile.ZipFile(part, "w", allowZip64=True) as archive,
    ):
        with archive.open("genotypes.npy", "w", force_zip64=True) as file:
            _write_npy_array(file, bed, dtype, on_progress=on_progress)
        for name, column in select_properties(bed, _all_positions(bed)).items():
            plain = column.astype(str) if column.dtype.kind == "T" else column
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                npy.write_array(file, plain, allow_pickle=False)


def write_table(bed: open_bed, target: Path, *, on_progress: OnProgress) -> None:
    """Write a line for each individual: as .raw like PLINK ``--recode A``, or as .tsv."""
    is_raw = target.suffix == ".raw"
    separator = " " if is_raw else "\t"
    done, leading = 0, _make_leading_cells(bed, _RAW_COLUMNS if is_raw else _ID_COLUMNS)
    with (
        atomic_path(target) as part,
        part.open("w", encoding="utf-8", newline="\n") as file,
    ):
        file.write(separator.join(_make_header(bed, is_raw=is_raw)) + "\n")
        for block in read_blocks(bed, _all_positions(bed), by_variant=False):
            for row in np.where(block < 0, 3, block):
                words = (*next(leading), *_GENOTYPE_TEXTS[row].tolist())
                file.write(separator.join(words) + "\n")
            done += len(block)
            on_progress(done, bed.iid_count)


def _write_npy_array(
    file: IO[bytes], bed: open_bed, dtype: str, *, on_progress: OnProgress
) -> None:
    """Write an array in .npy format: its header, then all values."""
    kind, done = np.dtype(dtype), 0
    facts = {"descr": kind.str, "fortran_order": True, "shape": bed.shape}
    npy.write_array_header_1_0(file, facts)
    for block in read_blocks(bed, _all_positions(bed), by_variant=True, dtype=dtype):
        file.write(np.ascontiguousarray(block).data)
        done += len(block)
        on_progress(done, bed.sid_count)


def _all_positions(bed: open_bed) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the indices of all individuals and variants."""
    individuals, variants = bed.shape
    return np.arange(individuals), np.arange(variants)


def _make_header(bed: open_bed, *, is_raw: bool) -> list[str]:
    """Return the column names, which include the counted allele in a .raw."""
    sids = _format_column(bed.sid, bed.sid_count)
    if not is_raw:
        return [*_ID_COLUMNS, *sids]
    alleles = _format_column(bed.allele_1 if bed.count_A1 else bed.allele_2, bed.sid_count)
    return [
        *_RAW_COLUMNS,
        *(f"{sid}_{allele}" for sid, allele in zip(sids, alleles, strict=True)),
    ]


def _make_leading_cells(bed: open_bed, names: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield the fields that precede the genotypes in each line."""
    columns = {
        name: _format_column(bed.property_item(_EXPORTED_COLUMNS[name]), bed.iid_count)
        for name in names
    }
    if "PHENOTYPE" in columns:
        columns["SEX"] = [sex if sex in _SEX_CODES else "0" for sex in columns["SEX"]]
        columns["PHENOTYPE"] = _format_phenotypes(columns["PHENOTYPE"], columns["IID"])
    return zip(*columns.values(), strict=True)


def _format_phenotypes(texts: list[str], iids: list[str]) -> list[str]:
    """Format missing phenotypes like PLINK; 0 is missing if other values are 1, 2 or -9."""
    numbers = [_is_numeric(text, iid) for text, iid in zip(texts, iids, strict=True)]
    known = {text for text, number in zip(texts, numbers, strict=True) if number}
    codes = _MISSING_PHENOTYPES if known <= _CASE_CONTROL else _MISSING_PHENOTYPES - {"0"}
    return [
        _MISSING_PHENOTYPE if not number or text in codes else text
        for text, number in zip(texts, numbers, strict=True)
    ]


def _is_numeric(text: str, iid: str) -> bool:
    """Return whether a phenotype is a number; raise for text such as 1,25."""
    try:
        return not math.isnan(parse_decimal(text))
    except ValueError:
        if _match_number_start(text):
            raise FormatError(
                f"{iid}: the phenotype {text} is not a number; correct the .fam: write "
                f"a number such as 1.25, or {_MISSING_PHENOTYPE} for a missing phenotype"
            ) from None
        return False


def _format_column(column: NDArray[Any] | None, count: int) -> list[str]:
    """Convert a column to strings; a column hidden by the user becomes zeros."""
    return ["0"] * count if column is None else [str(value) for value in column.tolist()]
