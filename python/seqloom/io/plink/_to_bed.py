"""Writing an array of genotypes as a PLINK .bed with its tables."""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from seqloom._arguments import as_path
from seqloom.errors import ArgumentError
from seqloom.io.plink._file_set import write_set
from seqloom.io.plink._location import parse_location
from seqloom.io.plink._metadata import write_table
from seqloom.io.plink._pack import Packer, to_values
from seqloom.io.plink._properties import complete
from seqloom.io.plink._read import threads_of

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

_NOTHING: Mapping[str, Any] = MappingProxyType({})


def to_bed(
    filepath: str | os.PathLike[str],
    val: ArrayLike,
    properties: Mapping[str, ArrayLike | None] = _NOTHING,
    count_A1: bool = True,
    fam_filepath: str | os.PathLike[str] | None = None,
    bim_filepath: str | os.PathLike[str] | None = None,
    major: str = "SNP",
    force_python_only: bool = False,
    num_threads: int | None = None,
) -> None:
    """Writes genotypes as a PLINK .bed, with its .fam and .bim.

    The three files appear together: until all of them are whole, those that were there
    before stay as they are.

    Args:
        filepath: The .bed.
        val: An array of individuals by variants, of 0, 1, 2 and missing values, which are
            NaN, or -127 in whole numbers.
        properties: Columns of the tables, by property. What is not given, or None, is
            filled in: ``iid1``, ``iid2`` ..., ``sid1``, ``sid2`` ..., or the missing value.
        count_A1: Whether the values count allele A1, or A2.
        fam_filepath: The .fam, where it shall not be beside the .bed under the same name.
        bim_filepath: The .bim, likewise.
        major: What a line of the file is: ``"SNP"`` or ``"individual"``.
        force_python_only: Whether plain NumPy packs the values, which is slow.
        num_threads: How many threads pack; None or 0: as many as the machine allows.

    Raises:
        ArgumentError: A value is none of these, the array is not of two dimensions or has
            gaps, or properties do not fit it.
        IdError: ``properties`` names one that does not exist.
        FileError: A file cannot be written.

    Examples:
        >>> from seqloom.io import open_bed
        >>> to_bed("x.bed", [[0, 1], [2, -127]], properties={"sid": ["rs1", "rs2"]})
        >>> open_bed("x.bed").read()
        array([[ 0.,  1.],
               [ 2., nan]], dtype=float32)
        >>> from pathlib import Path
        >>> Path("x.bim").read_text()
        '0\\trs1\\t0.0\\t0\\tA1\\tA2\\n0\\trs2\\t0.0\\t0\\tA1\\tA2\\n'
    """
    values = to_values(val, "matrix")
    if not (values.flags.c_contiguous or values.flags.f_contiguous):
        raise ArgumentError("val must be contiguous.")
    threads = threads_of(num_threads, None)
    packer = Packer(major, count_A1, threads=threads, plain=force_python_only)
    columns = complete(properties, {"fam": len(values), "bim": values.shape[1]})
    with write_set(names_of_set(filepath, fam_filepath, bim_filepath)) as parts:
        write_tables(parts, columns)
        with parts[0].open("wb") as file:
            file.write(packer.header)
            for lines in packer.lines_of(values):
                file.write(lines.data)


def names_of_set(
    bed: str | os.PathLike[str],
    fam: str | os.PathLike[str] | None,
    bim: str | os.PathLike[str] | None,
) -> list[Path]:
    """Names the three files of a set; tables without a name have that of the .bed."""
    base = parse_location(bed)
    if not isinstance(base, Path):
        raise ArgumentError(f"{bed}: expected a file to write, got a location in the cloud")
    return [
        base,
        as_path("fam_filepath", fam)
        if fam is not None
        else base.with_name(f"{base.stem}.fam"),
        as_path("bim_filepath", bim)
        if bim is not None
        else base.with_name(f"{base.stem}.bim"),
    ]


def write_tables(parts: Sequence[Path], columns: Mapping[str, NDArray[Any]]) -> None:
    """Writes the .fam and the .bim of a set."""
    write_table(parts[1], "fam", columns)
    write_table(parts[2], "bim", columns)
