"""Genotypes of a set in other formats: NumPy's, and tables of text."""

from __future__ import annotations

import math
import re
import zipfile
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.lib import format as npy

from seqloom._files import atomic_path
from seqloom._text import parse_decimal
from seqloom.errors import FormatError
from seqloom.io.plink._copy_set import blocks_of, properties_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from seqloom.io.plink._copy_set import OnProgress
    from seqloom.io.plink._open_bed import open_bed

# What a value is in a table; a missing one, -127, is the last.
_WORDS = np.array(["0", "1", "2", "NA"])
_COLUMNS: dict[str, str] = {
    "FID": "fid",
    "IID": "iid",
    "PAT": "father",
    "MAT": "mother",
    "SEX": "sex",
    "PHENOTYPE": "pheno",
}

_RAW = tuple(_COLUMNS)
_IDS = ("FID", "IID")
_SEXES = frozenset({"1", "2"})
# Phenotypes that are all of these are states, not values: 0 is a missing state.
_STATES = frozenset({"0", "1", "2", "-9"})
_MISSING, _MISSING_CODES = "-9", frozenset({"0", "-9"})
_BEGINS_A_NUMBER = re.compile(r"[+-]?\.?[0-9]").match


def write_npy(bed: open_bed, target: Path, *, dtype: str, on_progress: OnProgress) -> None:
    """Writes individuals by variants as a .npy in Fortran order, variant by variant."""
    with atomic_path(target) as part, part.open("wb") as file:
        _write_values(file, bed, dtype, on_progress=on_progress)


def write_npz(bed: open_bed, target: Path, *, dtype: str, on_progress: OnProgress) -> None:
    """Writes a .npz: the values as ``genotypes``, and the columns of the tables."""
    with (
        atomic_path(target) as part,
        zipfile.ZipFile(part, "w", allowZip64=True) as archive,
    ):
        with archive.open("genotypes.npy", "w", force_zip64=True) as file:
            _write_values(file, bed, dtype, on_progress=on_progress)
        for name, column in properties_of(bed, _all(bed)).items():
            plain = column.astype(str) if column.dtype.kind == "T" else column
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                npy.write_array(file, plain, allow_pickle=False)


def write_table(bed: open_bed, target: Path, *, on_progress: OnProgress) -> None:
    """Writes a line for each individual: a .raw as PLINK's ``--recode A``, or a .tsv."""
    is_raw = target.suffix == ".raw"
    gap = " " if is_raw else "\t"
    done, leading = 0, _leading(bed, _RAW if is_raw else _IDS)
    with (
        atomic_path(target) as part,
        part.open("w", encoding="utf-8", newline="\n") as file,
    ):
        file.write(gap.join(_heading(bed, is_raw=is_raw)) + "\n")
        for block in blocks_of(bed, _all(bed), by_variant=False):
            for row in np.where(block < 0, 3, block):
                words = (*next(leading), *_WORDS[row].tolist())
                file.write(gap.join(words) + "\n")
            done += len(block)
            on_progress(done, bed.iid_count)


def _write_values(
    file: IO[bytes], bed: open_bed, dtype: str, *, on_progress: OnProgress
) -> None:
    """Writes the header of a .npy and all values."""
    kind, done = np.dtype(dtype), 0
    facts = {"descr": kind.str, "fortran_order": True, "shape": bed.shape}
    npy.write_array_header_1_0(file, facts)
    for block in blocks_of(bed, _all(bed), by_variant=True, dtype=dtype):
        file.write(np.ascontiguousarray(block).data)
        done += len(block)
        on_progress(done, bed.sid_count)


def _all(bed: open_bed) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Gives the positions of all individuals and variants."""
    individuals, variants = bed.shape
    return np.arange(individuals), np.arange(variants)


def _heading(bed: open_bed, *, is_raw: bool) -> list[str]:
    """Names the columns: a .raw says which allele is counted."""
    sids = _texts(bed.sid, bed.sid_count)
    if not is_raw:
        return [*_IDS, *sids]
    alleles = _texts(bed.allele_1 if bed.count_A1 else bed.allele_2, bed.sid_count)
    return [*_RAW, *(f"{sid}_{allele}" for sid, allele in zip(sids, alleles, strict=True))]


def _leading(bed: open_bed, names: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Gives the first cells of each line."""
    columns = {
        name: _texts(bed.property_item(_COLUMNS[name]), bed.iid_count) for name in names
    }
    if "PHENOTYPE" in columns:
        columns["SEX"] = [sex if sex in _SEXES else "0" for sex in columns["SEX"]]
        columns["PHENOTYPE"] = _phenotypes(columns["PHENOTYPE"], columns["IID"])
    return zip(*columns.values(), strict=True)


def _phenotypes(texts: list[str], iids: list[str]) -> list[str]:
    """Spells missing phenotypes as PLINK does; 0 is one where all others are 1 or 2."""
    numbers = [_number(text, iid) for text, iid in zip(texts, iids, strict=True)]
    known = {text for text, number in zip(texts, numbers, strict=True) if number}
    codes = _MISSING_CODES if known <= _STATES else _MISSING_CODES - {"0"}
    return [
        _MISSING if not number or text in codes else text
        for text, number in zip(texts, numbers, strict=True)
    ]


def _number(text: str, iid: str) -> bool:
    """Says whether a phenotype is a number; 1,25 is neither that nor missing."""
    try:
        return not math.isnan(parse_decimal(text))
    except ValueError:
        if _BEGINS_A_NUMBER(text):
            raise FormatError(
                f"{iid}: the phenotype {text} is no number; expected 1.25 or the like, or "
                f"{_MISSING} where it is missing: mend the .fam"
            ) from None
        return False


def _texts(column: NDArray[Any] | None, count: int) -> list[str]:
    """Spells a column; one that is hidden is zeros."""
    return ["0"] * count if column is None else [str(value) for value in column.tolist()]
