"""An open .bed: its tables, errors and file handle."""

import multiprocessing
import os
import pickle
from pathlib import Path
from typing import Any, cast

import bed_reader
import numpy as np
import pytest

from genotypes import BED_READER_SETS, GENOTYPE_DTYPES, name_of, plink_sets, read_whole
from seqloom.errors import (
    ArgumentError,
    FileError,
    FormatError,
    IdError,
    MissingFileError,
    NumberRangeError,
)
from seqloom.io import open_bed, to_bed

EXPECTED_GENOTYPES = [[1, 0, -127, 0], [2, 0, -127, 2], [0, 1, 2, 0]]


@pytest.fixture
def path(tmp_path):
    """A PLINK set of three individuals and four variants."""
    to_bed(
        tmp_path / "small.bed", EXPECTED_GENOTYPES, properties={"sid": ["a", "b", "c", "d"]}
    )
    return tmp_path / "small.bed"


@pytest.mark.parametrize("bed", plink_sets(), ids=name_of)
def test_tables_of_every_real_bed_equal_those_of_bed_reader(bed):
    ours, theirs = open_bed(bed), bed_reader.open_bed(bed)
    assert (ours.shape, ours.major) == (theirs.shape, theirs.major)
    assert list(ours.properties) == list(theirs.properties)
    for name, column in theirs.properties.items():
        np.testing.assert_array_equal(ours.property_item(name), column)
        assert getattr(ours, name).dtype.kind == column.dtype.kind


def test_a_bed_with_given_counts_can_be_read_without_fam_and_bim(path):
    path.with_suffix(".fam").unlink()
    path.with_suffix(".bim").unlink()
    assert open_bed(path, 3, 4).read(dtype="int8").tolist() == EXPECTED_GENOTYPES


def test_the_argument_properties_replaces_fam_and_bim_columns(path):
    bed = open_bed(path, properties={"iid": [1, 2, 3], "sex": [1.0, np.nan, 2.0]})
    assert bed.iid.tolist() == ["1", "2", "3"]
    assert bed.sex.tolist() == [1, 0, 2]
    assert bed.sid.tolist() == ["a", "b", "c", "d"]


def test_none_and_nan_in_bed_text_properties_are_missing_values(path):
    given = np.array(["x", None, np.nan], object)
    assert open_bed(path, properties={"father": given}).father.tolist() == ["x", "0", "0"]


def test_open_bed_does_not_change_the_arrays_in_properties(path):
    given = np.array([1.0, np.nan, 2.0])
    open_bed(path, properties={"sex": given})
    assert np.isnan(given[1])


def test_a_fam_or_bim_column_set_to_none_is_not_read(path):
    bed = open_bed(path, properties={"father": None})
    assert bed.father is None
    assert bed.properties["father"] is None


@pytest.mark.parametrize(
    ("properties", "error", "message"),
    [
        ({"colour": [1]}, KeyError, "'colour' not known; expected one of fid, iid"),
        ({"iid": [["a"]]}, ValueError, "iid should be one dimensional"),
        (
            {"iid": ["a"], "fid": ["b", "c"]},
            ValueError,
            r"override iid, 1, .* iid_count, 2",
        ),
        ({"sex": ["F"]}, ValueError, "properties\\['sex'\\] must contain numbers"),
        (
            {"sex": [1.5]},
            ValueError,
            "properties\\['sex'\\] must contain integers, got 1.5",
        ),
        ({"bp_position": [2**31]}, OverflowError, "does not fit 32 bits"),
        ({"iid": [np.nan]}, ValueError, "an id cannot be missing"),
    ],
)
def test_invalid_properties_of_open_bed_are_errors(path, properties, error, message):
    with pytest.raises(error, match=message):
        open_bed(path, properties=properties)


def test_a_given_count_that_differs_from_the_fam_or_bim_is_an_error(path):
    with pytest.raises(FormatError, match=r"small.fam.*, 3, .* iid_count, 2") as error:
        open_bed(path, iid_count=2).iid  # noqa: B018
    assert error.value.kind == "count"


@pytest.mark.parametrize("count", [-1, 2**63, "3", 3.0])
def test_an_invalid_count_of_individuals_or_variants_is_an_error(path, count):
    with pytest.raises(ArgumentError, match=r"sid_count must be (an integer|below)"):
        open_bed(path, sid_count=count)


@pytest.mark.parametrize("name", ["", ".", "/", "a\0.bed"])
def test_a_bed_path_without_a_file_name_is_an_error(name):
    with pytest.raises(ArgumentError, match="is not the path of a file"):
        open_bed(name)


@pytest.mark.parametrize("name", ["x" * 300, "small.bed/x.bed", "loop.bed"])
def test_a_bed_path_that_the_system_rejects_is_a_file_error(path, name):
    (path.parent / "loop.bed").symlink_to("loop.bed")
    with pytest.raises(FileError, match="cannot be read"):
        open_bed(path.parent / name)


def test_a_bed_file_name_may_have_the_maximum_length(path):
    long = "x" * 251
    for suffix in (".bed", ".fam", ".bim"):
        path.with_suffix(suffix).rename(path.with_name(long + suffix))
    np.testing.assert_array_equal(
        open_bed(path.with_name(f"{long}.bed")).read(dtype="int8"), EXPECTED_GENOTYPES
    )


@pytest.mark.parametrize("suffix", [".bed", ".fam", ".bim"])
def test_opening_a_pipe_as_a_bed_is_an_immediate_error(path, suffix):
    path.with_suffix(suffix).unlink()
    os.mkfifo(path.with_suffix(suffix))
    with pytest.raises(FileError, match=rf"small\{suffix}: is not a regular file"):
        open_bed(path).properties  # noqa: B018


def test_an_unknown_name_of_a_bed_property_is_an_error(path):
    with pytest.raises(IdError, match="'colour' not known"):
        open_bed(path).property_item("colour")


@pytest.mark.parametrize("skip", [False, True])
def test_opening_a_missing_bed_is_an_error(tmp_path, skip):
    with pytest.raises(MissingFileError, match=r"x\.bed"):
        open_bed(tmp_path / "x.bed", 1, 1, skip_format_check=skip).read()


def test_a_missing_fam_or_bim_is_an_error_when_it_is_read(path):
    path.with_suffix(".fam").unlink()
    bed = open_bed(path)
    with pytest.raises(MissingFileError, match=r"small\.fam"):
        bed.shape  # noqa: B018


def test_a_file_that_is_not_a_bed_is_an_error_at_the_first_read():
    with pytest.raises(FormatError):
        open_bed(BED_READER_SETS / "badfile.bed")
    later = open_bed(BED_READER_SETS / "badfile.bed", 1, 1, skip_format_check=True)
    with pytest.raises(FormatError):
        later.read()


def test_opening_an_object_that_is_not_a_path_as_a_bed_is_an_error():
    with pytest.raises(
        ArgumentError, match="must be a path or a URL, a string or a Path; got 7"
    ):
        open_bed(cast("str", 7))


def test_the_threads_of_a_read_override_those_of_open_bed(path):
    bed = open_bed(path, num_threads=-1)
    with pytest.raises(NumberRangeError, match="got -1"):
        bed.read()
    for threads in (0, 1, 4):
        assert bed.read(dtype="int8", num_threads=threads).tolist() == EXPECTED_GENOTYPES


@pytest.mark.parametrize(
    "name", ["PST_NUM_THREADS", "NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"]
)
def test_an_invalid_environment_variable_for_threads_is_an_error(path, name, monkeypatch):
    monkeypatch.setenv(name, "BADVALUE")
    with pytest.raises(ValueError, match=f"{name} must be an integer"):
        open_bed(path).read()


def test_leaving_the_with_block_of_open_bed_closes_the_file(path):
    before = len(list(Path("/proc/self/fd").iterdir()))
    with open_bed(path) as bed:
        assert len(list(Path("/proc/self/fd").iterdir())) == before + 1
    assert len(list(Path("/proc/self/fd").iterdir())) == before
    assert bed.read(dtype="int8").tolist() == EXPECTED_GENOTYPES


def test_a_pickled_open_bed_reads_equal_genotypes(path):
    bed = open_bed(path, count_A1=False, properties={"iid": ["x", "y", "z"]})
    copy = pickle.loads(pickle.dumps(bed))  # noqa: S301
    np.testing.assert_array_equal(copy.read(), bed.read())
    assert copy.iid.tolist() == ["x", "y", "z"]


@pytest.mark.parametrize("how", ["fork", "spawn"])
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_another_process_reads_equal_genotypes_from_a_pickled_bed(path, how):
    bed = open_bed(path)
    bed.read()
    context = multiprocessing.get_context(how)
    with context.Pool(1) as pool:
        assert pool.apply_async(read_whole, (bed,)).get(timeout=60) == EXPECTED_GENOTYPES


@pytest.mark.parametrize("table", ["iid", "sid"])
def test_a_fam_or_bim_replaced_after_opening_is_an_error(path, table):
    bed = open_bed(path)
    to_bed(path, np.zeros((4, 5)))
    with pytest.raises(FileError, match="replaced or changed since it was opened"):
        getattr(bed, table)


def test_a_removed_bed_stays_readable(path):
    bed = open_bed(path)
    path.unlink()
    assert bed.read(dtype="int8").tolist() == EXPECTED_GENOTYPES
    assert bed.iid.tolist() == ["iid1", "iid2", "iid3"]


def test_fam_and_bim_of_a_linked_bed_are_next_to_the_link(path):
    link = path.with_name("link.bed")
    link.symlink_to(path)
    for suffix in (".fam", ".bim"):
        os.link(path.with_suffix(suffix), link.with_suffix(suffix))
    assert open_bed(link).read(dtype="int8").tolist() == EXPECTED_GENOTYPES


def test_str_and_repr_of_open_bed_contain_the_path(path):
    assert str(open_bed(path)) == f"open_bed('{path}',...)"


@pytest.mark.parametrize("kind", GENOTYPE_DTYPES)
def test_open_bed_with_count_a1_false_counts_copies_of_allele_2(path, kind):
    one, two = (
        open_bed(path).read(dtype=kind),
        open_bed(path, count_A1=False).read(dtype=kind),
    )
    known = np.array(EXPECTED_GENOTYPES) != -127
    np.testing.assert_array_equal(one[known] + two[known], 2)


def test_a_relative_bed_path_is_resolved_when_it_is_opened(tmp_path, monkeypatch):
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path)
    to_bed("a.bed", np.zeros((2, 1), np.int8), {"iid": ["one", "two"]})
    to_bed("other/a.bed", np.ones((2, 1), np.int8), {"iid": ["three", "four"]})
    bed = open_bed("a.bed")
    monkeypatch.chdir("other")
    assert bed.iid.tolist() == ["one", "two"]
    assert bed.read(dtype="int8").tolist() == [[0], [0]]


def test_reading_more_genotypes_than_fit_memory_is_an_error(tmp_path):
    to_bed(tmp_path / "a.bed", np.zeros((2, 1), np.int8))
    bed = open_bed(tmp_path / "a.bed", iid_count=2**40, sid_count=2**40)
    with pytest.raises(MemoryError, match="take 4835703278458516698824704 bytes"):
        bed.read()


def test_unsupported_operators_of_open_bed_name_the_method_to_use(tmp_path):
    to_bed(tmp_path / "a.bed", np.zeros((2, 3), "int8"))
    bed: Any = open_bed(tmp_path / "a.bed")
    with pytest.raises(ArgumentError, match="iid_count \\(individuals\\)"):
        len(bed)
    with pytest.raises(ArgumentError, match=r"use \.read\(index\)"):
        _ = bed[0]
    with pytest.raises(ArgumentError, match="GenotypeDataset for single samples"):
        next(iter(bed))
    assert bed
    assert [bed] == [bed]


@pytest.mark.parametrize("dtype", ["foo", 3, "int16"])
def test_reading_a_bed_as_an_unsupported_dtype_is_an_error(tmp_path, dtype):
    to_bed(tmp_path / "a.bed", np.zeros((2, 3), "int8"))
    with pytest.raises(ArgumentError, match=r"dtype .* not known"):
        open_bed(tmp_path / "a.bed").read(dtype=dtype)
