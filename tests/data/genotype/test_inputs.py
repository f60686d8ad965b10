"""Genotype items equal ``(dosage - mean) * scale``, for all ways of reading them."""

import bed_reader
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

import seqloom as sl
from genotype_oracle import assert_equal_in_float32, standardised

MEMORY_OPTIONS = [
    pytest.param({}, id="held"),
    pytest.param({"memory": 0}, id="copy"),
]
BED_SHAPES = [(1, 1), (2, 3), (3, 2), (4, 4), (5, 6), (6, 5), (7, 9), (257, 130), (9, 1030)]


@pytest.mark.parametrize("way", MEMORY_OPTIONS)
@pytest.mark.parametrize("major", ["SNP", "individual"])
@pytest.mark.parametrize("shape", BED_SHAPES)
def test_sample_genotypes_are_imputed_and_standardised(write_bed, cache, way, major, shape):
    written = write_bed(*shape, major=major)
    data = sl.data.GenotypeDataset(written.path, cache=cache, **way)
    assert_equal_in_float32(data.to_numpy()["inputs"], standardised(written.copies))


@pytest.mark.parametrize("way", MEMORY_OPTIONS)
@pytest.mark.parametrize("major", ["SNP", "individual"])
@pytest.mark.parametrize("shape", BED_SHAPES)
def test_variant_genotypes_are_imputed_and_standardised(
    write_bed, cache, way, major, shape
):
    written = write_bed(*shape, major=major)
    data = sl.data.GenotypeDataset(written.path, by="variant", cache=cache, **way)
    assert_equal_in_float32(data.to_numpy()["inputs"], standardised(written.copies).T)


@pytest.mark.parametrize("how", ["unit", ("beta", 1, 25), ("beta", 0.5, 0.5), None])
def test_each_method_of_genotype_standardisation_follows_its_formula(write_bed, how):
    written = write_bed(60, 40)
    data = sl.data.GenotypeDataset(written.path, standardize=how)
    expected = standardised(written.copies, how=how)
    assert_equal_in_float32(data.to_numpy()["inputs"], expected)


def test_float64_genotypes_have_full_precision(write_bed):
    written = write_bed(60, 40)
    found = sl.data.GenotypeDataset(written.path, dtype="float64").to_numpy()["inputs"]
    np.testing.assert_allclose(found, standardised(written.copies), rtol=1e-12, atol=1e-12)


def test_missing_genotypes_are_nan_without_imputation(write_bed):
    written = write_bed(30, 20)
    data = sl.data.GenotypeDataset(written.path, impute=None, standardize=None)
    np.testing.assert_array_equal(data.to_numpy()["inputs"], written.copies)


def test_the_option_count_a1_false_counts_copies_of_allele_2(write_bed):
    written = write_bed(30, 20)
    data = sl.data.GenotypeDataset(written.path, count_A1=False, standardize=None)
    expected = standardised(2 - written.copies, how=None)
    assert_equal_in_float32(data.to_numpy()["inputs"], expected)


def test_standardising_constant_variants_gives_zeros_and_a_report(write_bed):
    values = np.array([[2, 0, 1, -127], [2, 1, 1, -127], [2, 2, -127, -127]], np.int8)
    written = write_bed.values(values)
    data = sl.data.GenotypeDataset(written.path)
    assert not data.to_numpy()["inputs"][:, [0, 2, 3]].any()
    assert data.report["constant"] == 3
    assert data.report["constant_examples"] == ["sid1", "sid3", "sid4"]


@pytest.mark.parametrize("way", MEMORY_OPTIONS)
@pytest.mark.parametrize("major", ["SNP", "individual"])
@pytest.mark.parametrize("by", ["sample", "variant"])
def test_variants_are_selected_by_ids_indices_masks_and_slices(
    write_bed, cache, way, major, by
):
    written = write_bed(13, 21, major=major)
    mask = np.arange(21) % 3 == 1
    for wanted, rows in [
        (["sid5", "sid2", "sid21"], [4, 1, 20]),
        ([4, -1, 4], [4, 20, 4]),
        (mask, np.flatnonzero(mask)),
        (slice(3, 12, 2), np.arange(21)[3:12:2]),
        ("sid9", [8]),
    ]:
        data = sl.data.GenotypeDataset(
            written.path, by=by, variants=wanted, cache=cache, **way
        )
        expected = standardised(written.copies)[:, rows]
        found = data.to_numpy()["inputs"]
        assert_equal_in_float32(found if by == "sample" else found.T, expected)


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (["sid1", "none"], "'none' is not in the .bim .1 of 2 names"),
        ([7], "indices out of range for the 7 variants"),
        ([True], "a mask out of range for the 7 variants"),
        ([], "must choose at least one variant"),
    ],
)
def test_selecting_an_unknown_variant_is_an_error(write_bed, wanted, message):
    path = write_bed().path
    with pytest.raises((ValueError, IndexError), match=message):
        sl.data.GenotypeDataset(path, variants=wanted)


def test_selecting_a_duplicate_variant_id_is_an_error(write_bed):
    path = write_bed(3, 2, sid=["x", "x"]).path
    with pytest.raises(ValueError, match="'x' occurs twice"):
        sl.data.GenotypeDataset(path, variants=["x"])


def test_a_pandas_mask_of_variants_is_joined_by_its_index(write_bed):
    path = write_bed(4, 5).path
    ids = sl.io.open_bed(path).sid.tolist()
    mask = pd.Series([True, False, False, True, False], index=ids[::-1])
    for chosen, wanted in ((mask, [1, 4]), (mask.to_numpy(), [0, 3])):
        data = sl.data.GenotypeDataset(path, variants=chosen, by="variant")
        assert data.ids == [ids[at] for at in wanted]


def test_an_item_of_a_variant_has_chromosome_and_position(write_bed):
    written = write_bed(4, 3, chromosome=["1", "X", "2"], bp_position=[10, 20, 30])
    item = sl.data.GenotypeDataset(written.path, by="variant")[1]
    assert item["id"] == "sid2"
    assert (item["chromosome"], item["position"]) == ("X", 20)
    assert "label" not in item


def test_a_genotype_item_equals_its_row_in_a_batch(write_bed):
    data = sl.data.GenotypeDataset(
        write_bed().path, np.arange(10.0) + 0.5, np.arange(20.0).reshape(10, 2)
    )
    batch = data.batch([3, -1])
    for row, item in enumerate([data[3], data[9]]):
        for name, column in batch.items():
            np.testing.assert_array_equal(item[name], column[row])
    assert batch["covariates"].shape == (2, 2)


def test_a_genotype_batch_can_be_written_into_an_out_array(write_bed):
    data = sl.data.GenotypeDataset(write_bed().path)
    out = np.empty((2, 7), np.float32)
    assert data.batch([1, 2], out=out)["inputs"] is out
    with pytest.raises(ValueError, match=r"out must be float32 \(2, 7\)"):
        data.batch([1, 2], out=np.empty((7, 2), np.float32))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"by": "snp"}, 'by must be "sample" or "variant"'),
        ({"impute": "mode"}, 'impute must be "mean" or None'),
        ({"standardize": "z"}, 'standardize must be "unit"'),
        ({"standardize": ("beta", 0, 1)}, "above 0"),
        ({"memory": "much"}, "memory must be"),
        ({"dtype": "int8"}, "dtype must be"),
        ({"by": "variant", "labels": {"a": 1}}, "labels belong to samples"),
        ({"by": "variant", "covariates": {"a": 1}}, "covariates belong to samples"),
    ],
)
def test_invalid_options_of_a_genotype_dataset_are_errors(write_bed, options, message):
    with pytest.raises(ValueError, match=message):
        sl.data.GenotypeDataset(write_bed().path, **options)


def test_a_genotype_dataset_with_a_truncated_fam_is_an_error(write_bed):
    path = write_bed(7, 5).path
    fam = path.with_suffix(".fam")
    fam.write_text("".join(fam.read_text().splitlines(keepends=True)[:-1]))
    with pytest.raises(sl.errors.FormatError, match="too short"):
        sl.data.GenotypeDataset(path)


@given(
    shape=st.tuples(st.integers(1, 40), st.integers(1, 40)),
    seed=st.integers(0, 1000),
    major=st.sampled_from(["SNP", "individual"]),
    memory=st.sampled_from([None, 0]),
    choice=st.data(),
)
@settings(max_examples=60, deadline=None)
def test_any_selection_of_genotypes_agrees_with_bed_reader(
    tmp_path_factory, shape, seed, major, memory, choice
):
    folder = tmp_path_factory.mktemp("bed")
    values = np.random.default_rng(seed).choice([0, 1, 2, -127], shape).astype(np.int8)
    bed_reader.to_bed(folder / "a.bed", values, major=major)
    variants = choice.draw(st.lists(st.integers(0, shape[1] - 1), min_size=1))
    rows = choice.draw(st.lists(st.integers(0, shape[0] - 1)))
    data = sl.data.GenotypeDataset(
        folder / "a.bed",
        variants=variants,
        impute=None,
        standardize=None,
        memory=memory,
        cache=folder / "cache",
        skip_format_check=True,
    )
    with bed_reader.open_bed(folder / "a.bed") as bed:
        expected = bed.read(np.s_[rows, variants], dtype="float32")
    np.testing.assert_array_equal(data.batch(rows)["inputs"], expected)
