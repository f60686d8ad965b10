"""Some individuals and variants of a set as another set, in bounded memory."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._rust import _native
from seqloom._threads import run_interruptible
from seqloom.io.plink._file_set import write_set
from seqloom.io.plink._pack import Packer
from seqloom.io.plink._properties import PROPERTIES
from seqloom.io.plink._read import threads_of
from seqloom.io.plink._to_bed import names_of_set, write_tables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from seqloom.io.plink._open_bed import open_bed

    Positions = NDArray[np.int64]
    OnProgress = Callable[[int, int], object]

# How many bytes of values are in memory at once: of variants, and of individuals, for which
# a file whose lines are variants is read anew.
_OF_VARIANTS = 32 << 20
_OF_INDIVIDUALS = 128 << 20
# How many bytes of codes are turned at once.
_TURNED = 256 << 20


def copy_set(
    bed: open_bed,
    target: Path,
    chosen: tuple[Positions, Positions],
    *,
    major: str,
    on_progress: OnProgress,
) -> None:
    """Writes chosen individuals and variants as another set: three files, or none."""
    packer = Packer(major, bed.count_A1)
    blocks = blocks_of(bed, chosen, by_variant=major == "SNP")
    total, done = len(chosen[1] if major == "SNP" else chosen[0]), 0
    with write_set(names_of_set(target, None, None)) as parts:
        write_tables(parts, properties_of(bed, chosen))
        with parts[0].open("wb") as file:
            file.write(packer.header)
            for block in blocks:
                file.write(packer.pack(block, done).data)
                done += len(block)
                on_progress(done, total)


def copy_all(
    bed: open_bed, target: Path, *, major: str | None, on_progress: OnProgress
) -> None:
    """Writes a whole set in a layout; None: the other one than it has."""
    major = major or ("individual" if bed.major == "SNP" else "SNP")
    everybody = np.arange(bed.iid_count), np.arange(bed.sid_count)
    if not isinstance(bed.location, Path):
        copy_set(bed, target, everybody, major=major, on_progress=on_progress)
        return
    with write_set(names_of_set(target, None, None)) as parts:
        write_tables(parts, properties_of(bed, everybody))
        _lay_down(bed, parts[0], major, on_progress=on_progress)


def _lay_down(bed: open_bed, path: Path, major: str, *, on_progress: OnProgress) -> None:
    """Turns two-bit codes as they are: each byte is read once and written once."""
    native, wish = bed._native(), bed._num_threads  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - our own class
    layer = _native.GenotypeLayer(native, bed.shape, major == "individual", None)
    watch, total = _native.GenotypeWatch(), math.prod(bed.shape) // 4
    check, threads = not bed.skip_format_check, threads_of(None, wish)
    run_interruptible(
        lambda: layer.write(path, watch, room=_TURNED, check=check, threads=threads),
        lambda: on_progress(min(watch.bytes, total), total),
        stop=watch.stop,
    )


def blocks_of(
    bed: open_bed,
    chosen: tuple[Positions, Positions],
    *,
    by_variant: bool,
    dtype: str = "int8",
) -> Iterator[NDArray[Any]]:
    """Reads values block by block: some variants (or individuals) by all of the others."""
    iid, sid = chosen
    lines, places = (sid, iid) if by_variant else (iid, sid)
    size = _OF_VARIANTS if by_variant else _OF_INDIVIDUALS
    at_once = max(1, size // max(len(places) * np.dtype(dtype).itemsize, 1))
    for first in range(0, len(lines), at_once):
        some = lines[first : first + at_once]
        if by_variant:
            yield bed.read((iid, some), dtype, "F").T
        else:
            yield bed.read((some, sid), dtype, "C")


def properties_of(
    bed: open_bed, chosen: tuple[Positions, Positions]
) -> dict[str, NDArray[Any]]:
    """Gives the columns of the tables for those that are chosen."""
    columns = {name: (bed.property_item(name), each) for name, each in PROPERTIES.items()}
    return {
        name: column[chosen[0] if each.suffix == "fam" else chosen[1]]
        for name, (column, each) in columns.items()
        if column is not None
    }
