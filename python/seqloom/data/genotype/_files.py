"""The three files of a genotype dataset, and how they are read."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from seqloom._files import check_path
from seqloom._system import available_memory
from seqloom._threads import count_threads
from seqloom.data.genotype._people import People
from seqloom.errors import ArgumentError
from seqloom.io.plink._file_set import find_table, finish_set, open_file
from seqloom.io.plink._open_bed import open_bed
from seqloom.io.plink._tables import check_not_exchanged, read_columns

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from seqloom._rust import _native

    Location = str | os.PathLike[str]

_UNITS = {
    "": 1,
    **{unit: 1000**power for power, unit in enumerate("kmgt", 1)},
    **{f"{unit}i": 1024**power for power, unit in enumerate("kmgt", 1)},
}
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]i?)?b?\s*", re.IGNORECASE)
_MOST = 1 << 30
# The share of the free memory that is taken where nobody says how much.
_SHARE = 4


# A path takes two slashes for one.
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]+:/", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class GenotypeFiles:
    """A .bed and the tables beside it."""

    bed: str
    fam: str
    bim: str

    @classmethod
    def beside(
        cls,
        bed: Location | open_bed,
        *,
        fam: Location | None = None,
        bim: Location | None = None,
    ) -> GenotypeFiles:
        """Find the tables: those that are named, else the ones of the same stem."""
        if isinstance(bed, open_bed):
            found = _locations_of(bed)
            return cls.beside(
                found["bed"], fam=fam or found["fam"], bim=bim or found["bim"]
            )
        if isinstance(bed, list | tuple):  # which variants they share is not known
            raise ArgumentError(
                f"bed must be one set, got {len(cast('list[Any]', bed))}; merge several "
                "into one first (plink --merge-list), or make a dataset of each"
            )
        check_path("bed", bed, one="a .bed, or an open_bed")
        path = Path(bed).expanduser()
        if _SCHEME.match(os.fspath(bed)):
            raise _remote(bed)
        finish_set(path)
        tables = (find_table(path.with_suffix(f".{name}")) for name in ("fam", "bim"))
        named = [
            beside if other is None else Path(check_path(name, other)).expanduser()
            for name, beside, other in zip(("fam", "bim"), tables, (fam, bim), strict=True)
        ]
        return cls(os.fspath(path), *map(os.fspath, named))

    def open_bed(self) -> _native.BedFile:
        """Open the genotypes; waits for a writer that is just renaming new ones."""
        return open_file(Path(self.bed))[0]

    def people(self) -> People:
        """Read the .fam; of a set that is not there, it is the .bed that is missed."""
        if not Path(self.bed).exists():
            self.open_bed()
        check_not_exchanged(Path(self.fam), Path(self.bim))
        columns = read_columns(Path(self.fam), "fam", ("fid", "iid", "pheno"))
        return People(self.fam, columns["fid"], columns["iid"], columns["pheno"])

    def variants(self) -> dict[str, NDArray[Any]]:
        """Read the .bim: names, positions and alleles."""
        names = ("sid", "chromosome", "bp_position", "allele_1", "allele_2")
        return read_columns(Path(self.bim), "bim", names)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How genotypes are read."""

    memory: int  # bytes of codes to keep in memory
    cache: Path  # folder of copies
    num_threads: int | None = None
    progress: Callable[[int, int], object] | None = field(default=None, compare=False)
    check: bool = True  # whether to check the padding of .bed

    @property
    def threads(self) -> int:
        """The number of threads."""
        return count_threads(self.num_threads)

    def __getstate__(self) -> tuple[Any, ...]:
        # Who watches stays in the process where the copy is made.
        return (self.memory, self.cache, self.num_threads, self.check)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        names = ("memory", "cache", "num_threads", "check")
        for name, value in zip(names, state, strict=True):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "progress", None)


def _locations_of(bed: open_bed) -> dict[str, Path]:
    """Return the three files of an open set, which a dataset reads as they are."""
    if bed.properties_dict:
        raise ArgumentError(
            f"{bed}: a dataset reads the tables as they are, and this has properties of "
            f"its own ({', '.join(bed.properties_dict)}): give labels=, or write a set "
            "by to_bed"
        )
    files = {"bed": bed.location, **bed.tables}
    for path in files.values():
        if not isinstance(path, Path):
            raise _remote(path.geturl())
    return {name: path for name, path in files.items() if isinstance(path, Path)}


def _remote(path: object) -> ArgumentError:
    """Say that a dataset reads files."""
    return ArgumentError(
        f"{path}: a dataset needs files on this machine, because it reads them again and "
        "again: copy the set, or read what you need of it by sl.io.open_bed"
    )


def memory_of(memory: int | str | None) -> int:
    """Read a number of bytes, such as ``"1 GB"`` or ``"512 MiB"``."""
    if memory is None:
        free = available_memory() or _SHARE * _MOST
        return min(_MOST, free // _SHARE)
    found = _SIZE.fullmatch(str(memory))
    if found is None or isinstance(memory, bool):
        raise ArgumentError(
            f'memory must be a number of bytes or a text such as "1 GB", got {memory!r}'
        )
    return int(float(found[1]) * _UNITS[(found[2] or "").lower()])
