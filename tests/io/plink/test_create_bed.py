"""Writing a PLINK set row by row."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from genotypes import GENOTYPE_DTYPES, specimens
from seqloom.errors import ArgumentError, ClosedError, FileError
from seqloom.io import create_bed, open_bed, to_bed

anywhere = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40
)


def names(folder):
    """Return the names of all files in a folder, including hidden files."""
    return sorted(file.name for file in folder.iterdir())


def write(path, lines):
    """Write a PLINK set of three individuals and two variants."""
    with create_bed(path, 3, 2) as bed:
        for line in lines:
            bed.write(line)


def broken_off():
    """Yield one row, then raise an exception."""
    yield [0, 1, 2]
    raise KeyError


@anywhere
@given(
    specimen=specimens(),
    kind=st.sampled_from((*GENOTYPE_DTYPES, "int64")),
    count_a1=st.booleans(),
)
def test_writing_a_bed_row_by_row_equals_writing_the_whole_array(
    tmp_path, specimen, kind, count_a1
):
    values = specimen.values.astype(kind)
    if kind.startswith("float"):
        values[values == -127] = np.nan
    iids, sids = values.shape
    how = {"count_A1": count_a1, "major": specimen.major}
    with create_bed(tmp_path / "x.bed", iids, sids, **how) as bed:
        for line in values.T if specimen.major == "SNP" else values:
            bed.write(line)
    to_bed(tmp_path / "y.bed", values, **how)
    for suffix in (".bed", ".fam", ".bim"):
        one, other = (tmp_path / f"{name}{suffix}" for name in "xy")
        assert one.read_bytes() == other.read_bytes()


def test_a_bed_writer_creates_its_file_when_it_is_closed(tmp_path):
    bed = create_bed(tmp_path / "x.bed", 2, 1)
    bed.write([0, 1])
    assert not (tmp_path / "x.bed").exists()
    assert not (tmp_path / "x.fam").exists()
    bed.close()
    assert names(tmp_path) == ["x.bed", "x.bim", "x.fam"]
    bed.close()
    assert open_bed(tmp_path / "x.bed").read().tolist() == [[0], [1]]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], r"fewer vectors \(0\) than expected \(2\)"),
        ([[0, 1, 2]], r"fewer vectors \(1\)"),
        ([[0, 1, 2]] * 3, r"more vectors \(3\) than expected \(2\)"),
        ([[0, 1]], "vector of 3 values, got 2"),
        ([[[0, 1, 2]]], r"a vector \(dimensions: 1\), got 2"),
        ([3], r"a vector \(dimensions: 1\), got 0"),
        ([["a", "b", "c"]], "not known, only"),
        ([[0, 1, 2], [0, 1, 3]], "Individual 2, variant 1 is 3 "),
    ],
)
def test_writing_invalid_rows_to_a_bed_keeps_the_old_files(tmp_path, lines, message):
    to_bed(tmp_path / "x.bed", [[2, 2, 2, 2]])
    with pytest.raises(ArgumentError, match=message):
        write(tmp_path / "x.bed", lines)
    assert names(tmp_path) == ["x.bed", "x.bim", "x.fam"]
    assert open_bed(tmp_path / "x.bed").shape == (1, 4)


def test_an_exception_in_the_with_block_of_a_bed_writer_leaves_no_file(tmp_path):
    with pytest.raises(KeyError):
        write(tmp_path / "x.bed", broken_off())
    assert names(tmp_path) == []


def test_a_bed_writer_that_is_not_closed_leaves_no_file(tmp_path):
    bed = create_bed(tmp_path / "x.bed", 3, 2)
    bed.write([0, 1, 2])
    with pytest.raises(ArgumentError):
        bed.close()
    assert names(tmp_path) == []


def test_writing_rows_to_a_closed_bed_writer_is_an_error(tmp_path):
    with create_bed(tmp_path / "x.bed", 1, 1) as bed:
        bed.write([0])
    with pytest.raises(ClosedError, match=r"x\.bed.*closed"):
        bed.write([0])
    assert issubclass(ClosedError, RuntimeError)


def test_creating_a_bed_in_a_missing_folder_is_an_error(tmp_path):
    with pytest.raises(FileError, match=r"x\.bed"):
        create_bed(tmp_path / "no/x.bed", 1, 1)


@pytest.mark.parametrize("count", [-1, 2**63, "1", None])
def test_creating_a_bed_with_an_invalid_count_is_an_error(tmp_path, count):
    with pytest.raises(ArgumentError, match=r"iid_count must be (an integer|below)"):
        create_bed(tmp_path / "x.bed", count, 1)
    assert names(tmp_path) == []


def test_an_unknown_value_of_the_option_major_is_an_error(tmp_path):
    with pytest.raises(ArgumentError, match="not 'both'"):
        create_bed(tmp_path / "x.bed", 1, 1, major="both")
