"""Fitting, saving and restoring the genotype encoder."""

import json

import numpy as np
import pandas as pd
import pytest

import seqloom as sl
from genotype_oracle import assert_equal_in_float32, standardised


def test_genotype_statistics_come_only_from_the_training_samples(write_bed):
    written = write_bed(40, 30)
    data = sl.data.GenotypeDataset(written.path)
    train = data[:25]
    seen = data.with_encoder(data.encoder.fit(train))
    expected = standardised(written.copies, written.copies[:25])
    assert_equal_in_float32(seen.to_numpy()["inputs"], expected)


def test_genotypes_outside_the_training_set_do_not_affect_statistics(write_bed):
    written = write_bed(40, 30)
    other = np.nan_to_num(written.copies, nan=-127).astype(np.int8)
    other[25:] = np.random.default_rng(5).integers(0, 3, (15, 30))
    changed = write_bed.values(other, name="b")
    found = [
        data.encoder.fit(data[:25])
        for data in map(sl.data.GenotypeDataset, (written.path, changed.path))
    ]
    assert found[0] == found[1]


def test_genotypes_of_all_subsets_are_standardised_by_the_training_set(write_bed):
    written = write_bed(40, 30)
    for train, valid in [
        sl.data.split(sl.data.GenotypeDataset(written.path), (0.7, 0.3)),
        *sl.data.folds(sl.data.GenotypeDataset(written.path), 3),
    ]:
        learnt_from = written.copies[train.indices]
        for part in (train, valid):
            expected = standardised(written.copies[part.indices], learnt_from)
            assert_equal_in_float32(part.to_numpy()["inputs"], expected)


def test_a_split_of_a_subset_is_standardised_by_its_training_set(write_bed):
    written = write_bed(40, 30)
    part = sl.data.GenotypeDataset(written.path)[10:]
    train, valid = sl.data.split(part, (0.5, 0.5))
    expected = standardised(written.copies[valid.indices], written.copies[train.indices])
    assert_equal_in_float32(valid.to_numpy()["inputs"], expected)


def test_splitting_a_genotype_dataset_keeps_a_fitted_encoder(write_bed):
    data = sl.data.GenotypeDataset(write_bed(40, 30).path)
    fitted = data.encoder.fit(data[:10])
    train, valid = sl.data.split(data.with_encoder(fitted), (0.5, 0.5))
    assert train.encoder is fitted
    assert valid.encoder is fitted


@pytest.mark.parametrize("how", ["unit", ("beta", 1, 25), None])
def test_a_genotype_encoder_is_restored_from_settings_and_arrays(write_bed, how):
    data = sl.data.GenotypeDataset(
        write_bed(40, 30, sid=[f"é{i}" for i in range(30)]).path,
        np.arange(40.0) + 0.5,
        {f"iid{i + 1}": (i, i % 3) for i in range(40)},
        standardize=how,
    )
    fitted = data.encoder.fit(data[:20])
    settings = json.loads(json.dumps(fitted.to_dict()))
    again = sl.data.GenotypeEncoder.from_dict(settings).with_arrays(fitted.arrays())
    assert again == fitted
    assert again.covariate_names == ("covariate1", "covariate2")
    np.testing.assert_array_equal(again.tables(), fitted.tables())
    np.testing.assert_array_equal(again.variants.ids, fitted.variants.ids)


def test_restoring_a_genotype_encoder_from_other_arrays_is_an_error(write_bed):
    data = sl.data.GenotypeDataset(write_bed(40, 30).path)
    one, other = data.encoder.fit(data[:20]), data.encoder.fit(data[20:])
    settings = sl.data.GenotypeEncoder.from_dict(one.to_dict())
    with pytest.raises(sl.errors.RecordError, match="do not match the digest"):
        settings.with_arrays(other.arrays())


def test_genotype_encoders_of_equal_settings_are_equal_until_fitted(write_bed):
    data = sl.data.GenotypeDataset(write_bed(40, 30).path)
    assert data.encoder == sl.data.GenotypeEncoder()
    assert data.encoder.fit(data[:20]) != data.encoder.fit(data[20:])
    assert not data.encoder.is_fitted


def test_using_a_genotype_encoder_before_fitting_is_an_error():
    with pytest.raises(ValueError, match=r"encoder\.fit\(train\)"):
        sl.data.GenotypeEncoder().tables()


def test_fitting_a_genotype_encoder_on_no_samples_is_an_error(write_bed):
    data = sl.data.GenotypeDataset(write_bed().path)
    with pytest.raises(ValueError, match="at least one sample"):
        data.encoder.fit(data[:0])


def test_a_fitted_encoder_selects_and_orders_variants_of_another_bed(write_bed):
    """The new file has more variants in another order, and some have flipped alleles."""
    written = write_bed(20, 12, allele_1=list("ACGT" * 3), allele_2=list("CGTA" * 3))
    data = sl.data.GenotypeDataset(written.path, variants=slice(2, 10))
    fitted = data.encoder.fit(data)
    order = np.random.default_rng(1).permutation(12)
    is_flipped = np.arange(12) % 3 == 0
    copies = np.where(is_flipped, 2 - written.copies, written.copies)[:, order]
    alleles = [list("ACGT" * 3), list("CGTA" * 3)]
    one, two = (
        [alleles[side ^ bool(is_flipped[at])][at] for at in order] for side in (0, 1)
    )
    other = write_bed.values(
        np.nan_to_num(copies, nan=-127).astype(np.int8),
        name="b",
        sid=[f"sid{at + 1}" for at in order],
        allele_1=one,
        allele_2=two,
    )
    seen = sl.data.GenotypeDataset(other.path, encoder=fitted)
    np.testing.assert_array_equal(
        seen.to_numpy()["inputs"], data.with_encoder(fitted).to_numpy()["inputs"]
    )
    assert seen.report["flipped"] == is_flipped[2:10].sum()
    coded = sl.data.GenotypeDataset(other.path, encoder=fitted, output="codes")
    np.testing.assert_array_equal(
        fitted.decode(coded.to_numpy()["codes"]), seen.to_numpy()["inputs"]
    )


def test_a_bed_that_lacks_a_variant_of_the_encoder_is_an_error(write_bed):
    data = sl.data.GenotypeDataset(write_bed(20, 12).path)
    fitted = data.encoder.fit(data)
    fewer = write_bed(20, 11, name="b").path
    with pytest.raises(sl.errors.FormatError, match="sid12"):
        sl.data.GenotypeDataset(fewer, encoder=fitted)


def test_encoder_arguments_besides_a_fitted_encoder_are_an_error(write_bed):
    path = write_bed().path
    data = sl.data.GenotypeDataset(path)
    fitted = data.encoder.fit(data)
    with pytest.raises(ValueError, match="impute, standardize and count_A1"):
        sl.data.GenotypeDataset(path, encoder=fitted, standardize=None)
    with pytest.raises(ValueError, match="leave variants= out"):
        sl.data.GenotypeDataset(path, encoder=fitted, variants=[0])


@pytest.mark.parametrize("shape", [(5, 1), (5, 6), (6, 7), (70, 1003)])
def test_numpy_and_pytorch_decode_genotype_codes_equally(write_bed, shape):
    torch = pytest.importorskip("torch")
    path = write_bed(*shape).path
    data = sl.data.GenotypeDataset(path)
    fitted = data.encoder.fit(data)
    expected = data.to_numpy()["inputs"]
    codes = sl.data.GenotypeDataset(path, output="codes").to_numpy()["codes"]
    assert codes.shape == (shape[0], -(-shape[1] // 4))
    np.testing.assert_array_equal(fitted.decode(codes), expected)
    decoded = fitted.decode(torch.from_numpy(codes))
    assert decoded.dtype == torch.float32
    np.testing.assert_array_equal(decoded.numpy(), expected)


def test_decoding_codes_of_a_wrong_number_of_variants_is_an_error(write_bed):
    data = sl.data.GenotypeDataset(write_bed(5, 9).path)
    with pytest.raises(sl.errors.ShapeError, match=r"\(samples, 3\) for 9 variants"):
        data.encoder.fit(data).decode(np.zeros((2, 2), np.uint8))


def test_covariates_are_standardised_by_the_training_samples(write_bed):
    values = np.random.default_rng(0).normal(size=(20, 3)) * [1, 10, 0] + [0, 5, 7]
    data = sl.data.GenotypeDataset(write_bed(20, 3).path, covariates=values)
    seen = data.with_encoder(data.encoder.fit(data[:12]))
    expected = (values - values[:12].mean(0)) / np.where(
        values[:12].std(0) > 0, values[:12].std(0), np.inf
    )
    found = seen.to_numpy()["covariates"]
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_a_fitted_encoder_needs_its_covariates(write_bed):
    path = write_bed(20, 3).path
    data = sl.data.GenotypeDataset(path, covariates={f"iid{i + 1}": i for i in range(20)})
    fitted = data.encoder.fit(data)
    with pytest.raises(sl.errors.LabelError, match="pass covariates= with covariate"):
        sl.data.GenotypeDataset(path, encoder=fitted)


def covariate_table(names, **extras):
    """Return a table with covariates of 20 individuals, with columns in the given order."""
    age = [float(n % 7) for n in range(20)]
    ids = [f"iid{n + 1}" for n in range(20)]
    columns = {"age": age, "dose": [n / 2 for n in range(20)]} | extras
    return pd.DataFrame({"IID": ids} | {name: columns[name] for name in names})


def test_a_fitted_encoder_ignores_other_covariates(write_bed):
    path = write_bed(20, 3).path
    data = sl.data.GenotypeDataset(path, covariates=covariate_table(["age", "dose"]))
    fitted = data.encoder.fit(data)
    expected = data.with_encoder(fitted).to_numpy()["covariates"]
    extras = {"site": ["Oslo"] * 20, "bmi": [None, 20.5] * 10}
    more = covariate_table(["site", "dose", "bmi", "age"], **extras)
    found = sl.data.GenotypeDataset(path, covariates=more, encoder=fitted)
    np.testing.assert_array_equal(found.to_numpy()["covariates"], expected)
    assert found.report["unused_covariates_examples"] == ["site", "bmi"]
    assert found.report["missing_covariates"] == 0


def test_the_error_for_a_missing_covariate_names_the_covariate(write_bed):
    path = write_bed(20, 3).path
    data = sl.data.GenotypeDataset(path, covariates=covariate_table(["age", "dose"]))
    with pytest.raises(
        sl.errors.LabelError, match=r"covariates age, dose; .* with dose \("
    ):
        sl.data.GenotypeDataset(
            path, covariates=covariate_table(["age"]), encoder=data.encoder.fit(data)
        )


def test_an_encoder_without_covariates_does_not_read_a_covariate_table(write_bed):
    path = write_bed(20, 3).path
    data = sl.data.GenotypeDataset(path)
    table = covariate_table(["site"], site=["Oslo"] * 20)
    found = sl.data.GenotypeDataset(path, covariates=table, encoder=data.encoder.fit(data))
    assert "covariates" not in found[0]
