"""Tests of prediction from genotype files, whose variants are matched by id and alleles."""

import numpy as np
import pytest

import seqloom as sl
from seqloom.errors import ArgumentError, ConfigError, FormatError, LabelError


@pytest.fixture
def run(cohort, tmp_path):
    """A finished run."""
    data = cohort()
    config = sl.models.GenotypeMLPConfig.for_data(data)
    return sl.train.fit(config, data, test=data, epochs=2, out=tmp_path / "run")


@pytest.fixture
def expected(run):
    """Scores of the test set that `fit` returned."""
    return run.test.scores.to_numpy().tobytes()


def choose(order):
    """Write a .bed with reordered or omitted variants."""

    def change(values, properties):
        return values[:, order], {
            name: np.asarray(each)[order] for name, each in properties.items()
        }

    return change


def exchange(values, properties):
    """Write a .bed in which the alleles of every second variant are swapped."""
    values, first, second = (
        values.copy(),
        *(np.array(properties[name], dtype="<U2") for name in ("allele_1", "allele_2")),
    )
    turned = values[:, ::2]
    values[:, ::2] = np.where(turned < 0, turned, 2 - turned)
    first[::2], second[::2] = second[::2].copy(), first[::2].copy()
    return values, properties | {"allele_1": first, "allele_2": second}


def test_predicted_genotype_scores_equal_those_of_fit_exactly(run, expected, tmp_path):
    scores = sl.infer.predict(run.folder, tmp_path / "cohort.bed")
    assert scores.ids == [f"iid{number}" for number in range(1, 61)]
    assert scores.to_numpy().tobytes() == expected


def test_the_order_of_variants_in_a_bed_does_not_change_scores(
    run, expected, cohort, tmp_path
):
    cohort(name="other", change=choose(np.random.default_rng(0).permutation(12)))
    scores = sl.infer.predict(run.folder, tmp_path / "other.bed")
    assert scores.to_numpy().tobytes() == expected


def test_predict_flips_and_counts_swapped_alleles(run, expected, cohort, tmp_path):
    cohort(name="other", change=exchange)
    encoder = sl.models.load(run.folder).encoder
    data = sl.data.GenotypeDataset(tmp_path / "other.bed", encoder=encoder)
    assert data.report["flipped"] == 6
    assert sl.infer.predict(run.folder, data).to_numpy().tobytes() == expected


def test_the_error_for_missing_variants_counts_and_names_them(run, cohort, tmp_path):
    cohort(name="other", change=choose([0, 1, 2, 3, 9, 10, 11]))
    message = r"12 variants.* 5 of them are missing \(rs4, rs5, rs6, \.\.\.\)"
    with pytest.raises(FormatError, match=message):
        sl.infer.predict(run.trained, tmp_path / "other.bed")


def test_predicting_from_variants_with_other_alleles_is_an_error(run, cohort, tmp_path):
    cohort(name="other", change=lambda it, by: (it, by | {"allele_2": ["G"] * 12}))
    message = "alleles of rs1 are C and G, expected C and T"
    with pytest.raises(FormatError, match=message):
        sl.infer.predict(run.trained, tmp_path / "other.bed")


def test_predict_ignores_variants_outside_the_model(run, expected, cohort, tmp_path):
    def add(values, properties):
        more = {"sid": ["new"], "allele_1": ["A"], "allele_2": ["C"]}
        joined = {name: [*more[name], *properties[name]] for name in more}
        return np.hstack([values[:, :1], values]), joined

    cohort(name="other", change=add)
    scores = sl.infer.predict(run.folder, tmp_path / "other.bed")
    assert scores.to_numpy().tobytes() == expected


def test_a_genotype_dataset_is_evaluated_with_the_model_encoder(run, cohort):
    metrics = sl.infer.evaluate(run.folder, cohort(label_column="phenotype"))
    assert metrics == run.test.metrics


def test_a_genotype_dataset_with_other_encoder_settings_is_an_error(run, cohort):
    with pytest.raises(ConfigError, match=r"give the dataset encoder=model\.encoder"):
        sl.infer.predict(run.trained, cohort(standardize=None))


def test_predicting_without_the_covariates_of_a_model_is_an_error(cohort, tmp_path):
    data = cohort(covariates={f"iid{i}": i for i in range(1, 61)})
    config = sl.models.GenotypeMLPConfig.for_data(data)
    run = sl.train.fit(config, data, epochs=1)
    with pytest.raises(LabelError, match="covariates"):
        sl.infer.predict(run.trained, tmp_path / "cohort.bed")


def test_predicting_from_a_dataset_of_genotype_codes_is_an_error(cohort):
    data = cohort(output="codes")
    config = sl.models.GenotypeMLPConfig.for_data(data)
    with pytest.raises(sl.errors.ArgumentError, match='pass output="numbers" to it'):
        sl.train.fit(config, data, epochs=1)


def test_the_error_of_explain_for_genotypes_suggests_gradients(run, cohort):
    with pytest.raises(ArgumentError, match=r"weights of variants, use sl\.tensor\.grad\("):
        sl.infer.explain(run, cohort())


def test_a_gradient_of_a_genotype_model_has_one_value_per_variant(run, cohort):
    data = cohort()
    model = run.model.eval()
    x = model.backend.tensor(data.batch([0])["inputs"])
    gradient = sl.tensor.grad(lambda x: model.logits(x)[0, 0])(x)
    assert gradient.shape == x.shape
