"""Genotypes as sparse matrices."""

import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from scipy import sparse

from genotypes import GENOTYPE_DTYPES, indices, name_of, plink_sets, specimens
from seqloom.errors import ArgumentError, MissingExtraError
from seqloom.io import open_bed, to_bed

SCIPY_SPARSE_CLASSES = {"csc": sparse.csc_matrix, "csr": sparse.csr_matrix}


@pytest.fixture
def small(tmp_path):
    """A PLINK set of three individuals and four variants."""
    to_bed(tmp_path / "small.bed", [[1, 0, -127, 0], [2, 0, -127, 2], [0, 1, 2, 0]])
    return open_bed(tmp_path / "small.bed")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    data=st.data(),
    specimen=specimens(),
    kind=st.sampled_from(GENOTYPE_DTYPES),
    form=st.sampled_from(sorted(SCIPY_SPARSE_CLASSES)),
    at_once=st.none() | st.integers(1, 5),
)
def test_a_sparse_matrix_has_the_genotypes_of_the_dense_array(
    tmp_path, data, specimen, kind, form, at_once
):
    iids, sids = specimen.values.shape
    index = data.draw(st.tuples(indices(iids), indices(sids)))
    bed = open_bed(specimen.write(tmp_path / "x.bed"), iid_count=iids, sid_count=sids)
    found = bed.read_sparse(index, kind, at_once, form)
    dense = bed.read(index, kind)
    np.testing.assert_array_equal(found.toarray(), dense)
    expected = SCIPY_SPARSE_CLASSES[form](dense)
    for name in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
        assert getattr(found, name).dtype == getattr(expected, name).dtype


@pytest.mark.parametrize("bed", plink_sets(), ids=name_of)
@pytest.mark.parametrize("form", sorted(SCIPY_SPARSE_CLASSES))
def test_every_real_bed_read_as_sparse_equals_its_dense_array(bed, form):
    found = open_bed(bed).read_sparse(dtype="int8", format=form)
    assert isinstance(found, SCIPY_SPARSE_CLASSES[form])
    np.testing.assert_array_equal(found.toarray(), open_bed(bed).read(dtype="int8"))


@pytest.mark.parametrize("form", sorted(SCIPY_SPARSE_CLASSES))
@pytest.mark.parametrize(("index", "shape"), [([], (3, 0)), (([], None), (0, 4))])
def test_reading_an_empty_index_gives_an_empty_sparse_matrix(small, form, index, shape):
    assert small.read_sparse(index, format=form).shape == shape


def test_missing_genotypes_are_stored_in_a_sparse_matrix(small):
    assert np.isnan(small.read_sparse(np.s_[0, 2]).data).all()
    assert small.read_sparse(np.s_[0, 2], "int8").data.tolist() == [-127]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ({"format": "coo"}, "Expected 'csc' or 'csr'"),
        ({"batch_size": 0}, "at least 1, got 0"),
        ({"dtype": "int32"}, "not known, only"),
    ],
)
def test_an_invalid_sparse_format_or_batch_size_is_an_error(small, call, message):
    with pytest.raises(ArgumentError, match=message):
        small.read_sparse(**call)


def test_read_sparse_without_scipy_names_the_missing_package(small, monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.sparse", None)
    with pytest.raises(MissingExtraError, match="pip install scipy"):
        small.read_sparse()
