"""Truncated or changed real sets of genotypes cause an error, or at least a warning."""

import shutil
import warnings

import numpy as np
import pytest

from genotypes import name_of, plink_sets
from seqloom.errors import FormatError
from seqloom.io import open_bed

PLINK_SETS = plink_sets()


@pytest.fixture(params=PLINK_SETS, ids=name_of)
def bed(request, tmp_path):
    """A copy of a PLINK set."""
    for suffix in (".bed", ".bim", ".fam"):
        shutil.copy(request.param.with_suffix(suffix), tmp_path / f"x{suffix}")
    return tmp_path / "x.bed"


def has_verdict(bed):
    """Return whether a read of the whole set is an error or a warning."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            open_bed(bed).read(dtype="int8")
        except FormatError:
            return True
    return bool(told)


def test_a_real_bed_truncated_or_extended_at_any_size_is_an_error(bed):
    content = bed.read_bytes()
    cuts = np.unique(np.linspace(0, len(content) - 1, 40).astype(int))
    longer = [content + bytes(count) for count in (1, 3, 300)]
    for changed in [content[:end] for end in cuts] + longer:
        bed.write_bytes(changed)
        with pytest.raises(FormatError, match=r"x\.bed"):
            open_bed(bed).read(dtype="int8")


def test_any_flipped_bit_in_the_header_of_a_real_bed_is_an_error(bed):
    content, told = bed.read_bytes(), set(range(24))
    if not any(size % 4 for size in open_bed(bed).shape):
        told.remove(16)  # both layouts have equal size and no padding
    for bit in told:
        changed = bytearray(content[:3])
        changed[bit // 8] ^= 1 << bit % 8
        bed.write_bytes(bytes(changed) + content[3:])
        with pytest.raises(FormatError):
            open_bed(bed).read(dtype="int8")


@pytest.mark.parametrize("suffix", [".fam", ".bim"])
@pytest.mark.parametrize("rows", [-3, -2, -1, 1, 2, 3])
def test_missing_or_additional_rows_in_tables_of_a_real_bed_are_errors(bed, suffix, rows):
    opened = open_bed(bed)
    is_of_places = (suffix == ".fam") == (opened.major == "SNP")
    room = -opened.shape[suffix == ".bim"] % 4
    if is_of_places and 0 < rows <= room:
        pytest.skip("the same bytes may be those of more places in each line")
    table = bed.with_suffix(suffix)
    lines = table.read_text().splitlines(keepends=True)
    table.write_text("".join(lines[:rows] if rows < 0 else lines + lines[:rows]))
    assert has_verdict(bed)
