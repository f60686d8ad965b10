"""The .bed, .fam and .bim of a genotype dataset, and the options for reading them."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from seqloom._files import as_path_text
from seqloom._system import available_memory
from seqloom._threads import count_threads
from seqloom.data.genotype._people import People
from seqloom.errors import ArgumentError
from seqloom.io.plink._file_set import find_table, finish_interrupted_set, open_bed_file
from seqloom.io.plink._open_bed import open_bed
from seqloom.io.plink._tables import check_not_exchanged, read_columns

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from seqloom._rust import _native

    Location = str | os.PathLike[str]

_BYTE_UNITS = {
    "": 1,
    **{unit: 1000**power for power, unit in enumerate("kmgt", 1)},
    **{f"{unit}i": 1024**power for power, unit in enumerate("kmgt", 1)},
}
_SIZE_PATTERN = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]i?)?b?\s*", re.IGNORECASE)
_MAX_MEMORY = 1 << 30
# By default codes take at most 1/4 of the free memory.
_MEMORY_DIVISOR = 4


# Matches "https:/", because `Path` merges two slashes into one.
_URL_SCHEME = re.compile(r"[a-z][a-z0-9+.-]+:/", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class GenotypeFiles:
    """The paths of a .bed and of its .fam and .bim."""

    bed: str
    fam: str
    bim: str

    @classmethod
    def find(
        cls,
        bed: Location | open_bed,
        *,
        fam: Location | None = None,
        bim: Location | None = None,
    ) -> GenotypeFiles:
        """Find the .fam and .bim tables: the given paths, or files named like the .bed."""
        if isinstance(bed, open_bed):
            files = _find_bed_locations(bed)
            return cls.find(files["bed"], fam=fam or files["fam"], bim=bim or files["bim"])
        if isinstance(bed, list | tuple):  # different files may have different variants
            raise ArgumentError(
                f"bed must be one path, got {len(cast('list[Any]', bed))}; merge the files "
                "(plink --merge-list), or create a dataset for each"
            )
        as_path_text("bed", bed, one="a .bed, or an open_bed")
        path = Path(bed).expanduser()
        if _URL_SCHEME.match(os.fspath(bed)):
            raise _remote_file_error(bed)
        finish_interrupted_set(path)
        tables = (find_table(path.with_suffix(f".{name}")) for name in ("fam", "bim"))
        named = [
            beside if other is None else Path(as_path_text(name, other)).expanduser()
            for name, beside, other in zip(("fam", "bim"), tables, (fam, bim), strict=True)
        ]
        return cls(os.fspath(path), *map(os.fspath, named))

    def open_bed(self) -> _native.BedFile:
        """Open the .bed; wait while another process renames its newly written files."""
        return open_bed_file(Path(self.bed))[0]

    def read_people(self) -> People:
        """Read the .fam; raise if the .bed is missing."""
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
class ReadingOptions:
    """Options for reading genotypes."""

    memory: int  # Maximum bytes of codes in memory.
    cache: Path
    num_threads: int | None = None
    progress: Callable[[int, int], object] | None = field(default=None, compare=False)
    check: bool = True  # If True, check the padding bits of the .bed.

    @property
    def threads(self) -> int:
        """The number of threads."""
        return count_threads(self.num_threads)

    def __getstate__(self) -> tuple[Any, ...]:
        # The progress function is not pickled; it is only called in this process.
        return (self.memory, self.cache, self.num_threads, self.check)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        names = ("memory", "cache", "num_threads", "check")
        for name, value in zip(names, state, strict=True):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "progress", None)


def _find_bed_locations(bed: open_bed) -> dict[str, Path]:
    """Return the three files of an ``open_bed``; raise for custom properties."""
    if bed.properties_dict:
        raise ArgumentError(
            f"{bed}: a dataset reads the .fam and .bim files, but this open_bed has other "
            f"properties ({', '.join(bed.properties_dict)}): pass labels=, or write a set "
            "with to_bed"
        )
    files = {"bed": bed.location, **bed.tables}
    for path in files.values():
        if not isinstance(path, Path):
            raise _remote_file_error(path.geturl())
    return {name: path for name, path in files.items() if isinstance(path, Path)}


def _remote_file_error(path: object) -> ArgumentError:
    return ArgumentError(
        f"{path}: a dataset reads its files repeatedly, so they must be local: "
        "copy the files, or read some genotypes with sl.io.open_bed"
    )


def parse_memory(memory: int | str | None) -> int:
    """Return a number of bytes, from a number or a string such as ``"512 MiB"``."""
    if memory is None:
        free = available_memory() or _MEMORY_DIVISOR * _MAX_MEMORY
        return min(_MAX_MEMORY, free // _MEMORY_DIVISOR)
    match = _SIZE_PATTERN.fullmatch(str(memory))
    if match is None or isinstance(memory, bool):
        raise ArgumentError(
            f'memory must be a number of bytes or a string such as "1 GB", got {memory!r}'
        )
    return int(float(match[1]) * _BYTE_UNITS[(match[2] or "").lower()])
