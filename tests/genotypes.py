"""Small .bed files of random genotypes, and all types of indices."""

import os
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from plink_reference import encode
from seqloom.io import open_bed

BED_READER_SETS = Path(*find_spec("bed_reader").submodule_search_locations) / "tests/data"
PLINK_DATA_FOLDER = Path(os.environ.get("SEQLOOM_DATA", "/nonexistent")) / "plink"
GENOTYPE_DTYPES = ("int8", "float32", "float64")
# Invalid files, and a file whose tables have another name.
_INVALID_PLINK_SETS = {
    "badfile",
    "empty",
    "small_no_bim",
    "small_no_fam",
    "small_too_short",
    "smallmodebad",
}


@dataclass
class Specimen:
    """Genotypes 0, 1, 2 and -127 (individuals, variants), and the layout of a file."""

    values: np.ndarray
    major: str

    def write(self, path: Path) -> Path:
        """Write the .bed without tables."""
        lines = self.values.T if self.major == "SNP" else self.values
        header = b"\x6c\x1b" + bytes([self.major == "SNP"])
        path.write_bytes(header + encode(lines).tobytes())
        return path


def specimens(most=21):
    """Generate genotypes of any shape, including empty ones."""
    shapes = st.tuples(st.integers(0, most), st.integers(0, most))
    values = hnp.arrays(np.int8, shapes, elements=st.sampled_from([0, 1, 2, -127]))
    return st.builds(Specimen, values, st.sampled_from(["SNP", "individual"]))


def indices(count):
    """Generate every type of index along an axis."""
    forms = [st.none(), st.just(...), st.slices(count), _masks(count), st.just([])]
    if count:
        number = st.integers(-count, count - 1)
        kinds = st.sampled_from(["int16", "int32", "int64", "intp"])
        arrays = kinds.flatmap(
            lambda kind: hnp.arrays(kind, st.integers(0, 9), elements=number)
        )
        forms += [number, number.map(np.int16), st.lists(number, max_size=9)]
        forms += [arrays, arrays.map(lambda array: array[::2])]
    return st.one_of(forms)


def _masks(count):
    """Return a boolean mask of the axis, as a list or an array."""
    masks = hnp.arrays(bool, count)
    return st.one_of(masks, masks.map(list))


def plink_sets():
    """Return every valid set in bed_reader's wheel and in the folder of real files."""
    beds = [*BED_READER_SETS.glob("*.bed"), *PLINK_DATA_FOLDER.glob("*.bed")]
    return sorted(bed for bed in beds if bed.stem not in _INVALID_PLINK_SETS)


def name_of(bed: Path) -> str:
    """Return the name of a test case for a PLINK set."""
    return f"{bed.parent.parent.name}/{bed.stem}"


def read_whole(bed: open_bed) -> list[list[int]]:
    """Read a PLINK set; other processes find this function by its name."""
    return bed.read(dtype="int8").tolist()
