"""Packing of values to two-bit codes, compared with bed_reader."""

import bed_reader
import numpy as np
import pytest
from hypothesis import given, strategies as st

from seqloom._rust import _native
from seqloom.errors import ArgumentError

BED_HEADER_BYTES = 3


def pack(values, *, transposed=True, count_a1=True, threads=2):
    """Pack into memory that did not contain zeros."""
    places, lines = values.shape if transposed else values.shape[::-1]
    out = np.full((lines, -(-places // 4)), 0xFF, np.uint8)
    _native.pack_codes(
        values, out, transposed=transposed, count_a1=count_a1, threads=threads
    )
    return out


def genotypes(shape, dtype, order, seed=0):
    """Generate all four genotypes."""
    missing = -127 if dtype == "int8" else np.nan
    choices = np.array([0, 1, 2, missing], dtype=dtype)
    drawn = np.random.default_rng(seed).integers(0, 4, shape)
    return np.asarray(choices[drawn], order=order)


@given(
    shape=st.tuples(st.integers(1, 300), st.integers(1, 40)),
    dtype=st.sampled_from(["int8", "float32", "float64"]),
    order=st.sampled_from("CF"),
    major=st.sampled_from(["SNP", "individual"]),
    count_a1=st.booleans(),
    seed=st.integers(0, 99),
)
def test_packed_genotype_codes_equal_those_of_bed_reader(
    tmp_path_factory, shape, dtype, order, major, count_a1, seed
):
    values = genotypes(shape, dtype, order, seed)
    path = tmp_path_factory.mktemp("bed") / "a.bed"
    bed_reader.to_bed(path, values, count_A1=count_a1, major=major)
    found = pack(values, transposed=major == "SNP", count_a1=count_a1)
    assert found.tobytes() == path.read_bytes()[BED_HEADER_BYTES:]


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("transposed", [False, True])
def test_packed_genotypes_do_not_depend_on_the_number_of_threads(order, transposed):
    values = genotypes((1111, 2222), "int8", order)
    one, two = (pack(values, transposed=transposed, threads=n) for n in (1, 2))
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (0, 0)])
def test_packing_an_empty_genotype_array_returns_no_bytes(shape):
    assert pack(np.zeros(shape, np.int8)).size == 0


@pytest.mark.parametrize(
    ("dtype", "value", "shown"),
    [
        ("int8", 3, "0, 1, 2 or -127 for missing, found 3"),
        ("int8", -1, "0, 1, 2 or -127 for missing, found -1"),
        ("float32", 0.5, "0, 1, 2 or NaN for missing, found 0.5"),
        ("float64", np.inf, "0, 1, 2 or NaN for missing, found inf"),
        ("float64", -127, "0, 1, 2 or NaN for missing, found -127"),
    ],
)
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("transposed", [False, True])
def test_packing_a_value_that_is_not_a_genotype_is_an_error(
    dtype, value, shown, order, transposed
):
    values = genotypes((700, 300), dtype, order)
    values[613, 271] = value
    with pytest.raises(ArgumentError, match=f"^row 613, column 271: expected {shown}$"):
        pack(values, transposed=transposed)


def test_packing_a_noncontiguous_array_is_an_error():
    values = genotypes((20, 20), "int8", "C")[::2]
    with pytest.raises(TypeError, match="contiguous"):
        pack(values)
