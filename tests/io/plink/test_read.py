"""Genotypes as arrays: equal to bed_reader, pgenlib and a simple reference."""

from typing import Any

import bed_reader
import numpy as np
import pgenlib
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from genotypes import GENOTYPE_DTYPES, Specimen, indices, name_of, plink_sets, specimens
from plink_reference import read_reference
from seqloom.errors import ArgumentError, FormatError, OutOfRangeError
from seqloom.io import open_bed

PLINK_SETS = plink_sets()
anywhere = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def small(tmp_path):
    """A PLINK set of three individuals and four variants."""
    values = np.array([[1, 0, -127, 0], [2, 0, -127, 2], [0, 1, 2, 0]], np.int8)
    path = Specimen(values, "SNP").write(tmp_path / "small.bed")
    return open_bed(path, iid_count=3, sid_count=4)


def same(found, expected):
    """Return whether two arrays have equal numbers, NaN positions and dtype."""
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


@anywhere
@given(
    data=st.data(),
    specimen=specimens(),
    kind=st.sampled_from(GENOTYPE_DTYPES),
    order=st.sampled_from("CF"),
    count_a1=st.booleans(),
    threads=st.integers(1, 3),
)
def test_any_index_of_a_bed_gives_the_genotypes_of_bed_reader(
    tmp_path, data, specimen, kind, order, count_a1, threads
):
    iids, sids = specimen.values.shape
    index = data.draw(st.tuples(indices(iids), indices(sids)))
    path = specimen.write(tmp_path / "x.bed")
    counts: dict[str, Any] = {"iid_count": iids, "sid_count": sids, "count_A1": count_a1}
    found = open_bed(path, **counts).read(index, kind, order, num_threads=threads)
    same(found, bed_reader.open_bed(path, **counts).read(index, kind, order))
    assert found.flags.f_contiguous if order == "F" else found.flags.c_contiguous


@anywhere
@given(data=st.data(), specimen=specimens(140), kind=st.sampled_from(GENOTYPE_DTYPES))
def test_indexing_a_bed_agrees_with_numpy_indexing(tmp_path, data, specimen, kind):
    iids, sids = specimen.values.shape
    index = data.draw(st.tuples(indices(iids), indices(sids)))
    # Random genotypes may look as if the tables belonged to another file.
    counts: dict[str, Any] = {
        "iid_count": iids,
        "sid_count": sids,
        "skip_format_check": True,
    }
    path = specimen.write(tmp_path / "x.bed")
    expected = read_reference(path, (iids, sids), index, kind)
    for order in "CF":
        same(open_bed(path, **counts).read(index, kind, order), expected)


@anywhere
@given(data=st.data(), specimen=specimens(60))
def test_a_bed_index_that_is_not_a_tuple_selects_variants(tmp_path, data, specimen):
    iids, sids = specimen.values.shape
    index = data.draw(indices(sids))
    bed = open_bed(specimen.write(tmp_path / "x.bed"), iid_count=iids, sid_count=sids)
    same(bed.read(index), bed.read((None, index)))


@anywhere
@given(specimen=specimens(60).filter(lambda each: each.values.size))
def test_genotypes_written_by_to_bed_are_read_back(tmp_path, specimen):
    iids, sids = specimen.values.shape
    bed = open_bed(specimen.write(tmp_path / "x.bed"), iid_count=iids, sid_count=sids)
    same(bed.read(dtype="int8"), specimen.values)


@pytest.mark.parametrize("bed", PLINK_SETS, ids=name_of)
@pytest.mark.parametrize("kind", GENOTYPE_DTYPES)
def test_every_real_bed_is_read_like_by_bed_reader(bed, kind):
    for order in "CF":
        same(
            open_bed(bed).read(None, kind, order),
            bed_reader.open_bed(bed).read(None, kind, order),
        )


@pytest.mark.parametrize("bed", PLINK_SETS, ids=name_of)
def test_every_snp_major_bed_is_read_like_by_pgenlib(bed):
    ours = open_bed(bed)
    if ours.major != "SNP":
        pytest.skip("pgenlib reads lines of variants only")
    iids, sids = ours.shape
    theirs = np.empty((sids, iids), np.int8)
    with pgenlib.PgenReader(bytes(bed), raw_sample_ct=iids) as reader:
        reader.read_range(0, sids, theirs)
    theirs[theirs == -9] = -127
    same(ours.read(dtype="int8"), theirs.T)


@pytest.mark.parametrize("kind", GENOTYPE_DTYPES)
@pytest.mark.parametrize("order", "CF")
def test_reading_a_bed_into_an_out_array_fills_and_returns_it(small, kind, order):
    out = np.full((3, 4), 7, kind, order)
    assert small.read(dtype=kind, order=order, out=out) is out
    same(out, small.read(dtype=kind))


@pytest.mark.parametrize(
    ("out", "found"),
    [
        (np.empty((4, 3), np.int8, "F"), r"\(3, 4\), the dtype int8 .* \(4, 3\), int8"),
        (np.empty((3, 4), np.float32, "F"), "float32"),
        (np.empty((3, 4), np.int8, "C"), "order 'F'; got .* order 'C'"),
        (np.empty((6, 4), np.int8, "F")[::2], "it is not contiguous"),
        ([[1, 2]], "must be a NumPy array, got list"),
    ],
)
def test_an_out_array_that_does_not_fit_a_bed_read_is_an_error(small, out, found):
    with pytest.raises(ArgumentError, match=found):
        small.read(dtype="int8", out=out)


def test_reading_a_bed_into_a_read_only_array_is_an_error(small):
    out = np.empty((3, 4), np.int8, "F")
    out.flags.writeable = False
    with pytest.raises(ArgumentError, match="writable"):
        small.read(dtype="int8", out=out)


@pytest.mark.parametrize("index", [None, 2, np.s_[1, 2], np.s_[:0, :]])
def test_genotype_arrays_are_aligned_to_cache_lines(small, index):
    assert small.read(index, "float64").ctypes.data % 64 == 0


@pytest.mark.parametrize(
    ("index", "message"),
    [
        (99, "index 99 is out of bounds for axis 0 with size 4"),
        (np.s_[-4, 0], "index -4 is out of bounds for axis 0 with size 3"),
        ([0, 4], "index 4 is out of bounds"),
        (np.array([2**63], np.uint64), "out of bounds"),
        (
            [True, False],
            "boolean index did not match indexed array along axis 0; size of axis is 4",
        ),
        (1.5, "a 1-d list or array; got"),
        ([1.0], "must be of integer"),
        (np.array([]), "must be of integer"),
        ("x", "a 1-d list or array; got"),
        (([0], [0], [0]), "two parts"),
        (((0, 1), 0), "a tuple"),
    ],
)
def test_an_invalid_index_of_a_bed_is_an_error(small, index, message):
    with pytest.raises(OutOfRangeError, match=message):
        small.read(index)


@pytest.mark.parametrize(
    "call", [{"dtype": "int16"}, {"dtype": ">f4"}, {"order": "X"}, {"order": "A"}]
)
def test_reading_a_bed_in_an_unsupported_dtype_or_order_is_an_error(small, call):
    with pytest.raises(ArgumentError, match="not known, only"):
        small.read(**call)


def test_a_bed_with_more_genotypes_than_its_tables_is_an_error(tmp_path):
    path = Specimen(np.zeros((3, 5), np.int8), "SNP").write(tmp_path / "x.bed")
    with pytest.raises(FormatError):
        open_bed(path, 2, 5).read()
    assert open_bed(path, 2, 5, skip_format_check=True).read().shape == (2, 5)


@pytest.mark.parametrize("change", [-1, 1])
def test_a_bed_whose_size_does_not_fit_its_tables_is_an_error(tmp_path, change):
    path = Specimen(np.zeros((3, 5), np.int8), "SNP").write(tmp_path / "x.bed")
    with pytest.raises(FormatError) as error:
        open_bed(path, iid_count=3, sid_count=5 + change).read()
    assert error.value.kind == ("cut" if change > 0 else "length")
