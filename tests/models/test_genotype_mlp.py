"""Tests of GenotypeMLP: initial values, linear networks, and invalid settings."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import seqloom as sl
from fit_arguments import as_arguments
from seqloom.errors import ArgumentError, ShapeError

DEMO_GENOTYPES = Path(__file__).parents[2] / "python/seqloom/_demo/genotypes"
Config = sl.models.GenotypeMLPConfig
INPUT_ARRAY = np.random.default_rng(0).normal(size=(6, 8)).astype("f4")


def logits(model, x=INPUT_ARRAY, **options):
    return model.logits(model.backend.tensor(x), **options).numpy()


def draw_net(config):
    """Return a network whose parameters are all random."""
    model, rng = config.init("numpy").eval(), np.random.default_rng(1)
    record = {
        path: rng.normal(size=each.shape).astype("f4")
        for path, each in model.to_record().items()
    }
    return model.load_record(record)


@pytest.mark.parametrize("hidden", [(), (4,), (5, 3)])
def test_the_outputs_of_a_new_genotype_mlp_are_zero(hidden):
    model = Config(variants=6, covariates=2, outputs=3, hidden=hidden).init("numpy")
    assert not logits(model.eval()).any()


def test_a_genotype_mlp_without_hidden_layers_is_linear():
    model = draw_net(Config(variants=6, covariates=2, outputs=3, hidden=()))
    zero = logits(model, 0 * INPUT_ARRAY)
    np.testing.assert_allclose(
        logits(model, 2 * INPUT_ARRAY) - zero, 2 * (logits(model) - zero), 1e-4
    )


def test_hidden_layers_add_non_linear_effects():
    model = draw_net(Config(variants=6, covariates=2, outputs=3, hidden=(5, 3)))
    zero = logits(model, 0 * INPUT_ARRAY)
    assert not np.allclose(
        logits(model, 2 * INPUT_ARRAY) - zero, 2 * (logits(model) - zero), rtol=0.1
    )


@pytest.mark.parametrize("variants", [4, 100, 1000, 40_000])
def test_hidden_features_have_equal_variance_for_any_number_of_variants(variants):
    model = Config(variants=variants, outputs=1, hidden=(200,)).init("numpy").eval()
    x = np.random.default_rng(2).normal(size=(50, variants)).astype("f4")
    features = model.hidden.layers[0].layers[0](model.backend.tensor(x)).numpy()
    assert 0.4 < features.std() < 0.8


def test_all_parameters_get_gradients_after_the_first_step():
    model = draw_net(Config(variants=6, covariates=2, outputs=1, hidden=(4, 3), dropout=0))
    x = model.backend.tensor(INPUT_ARRAY)
    _, grads = sl.nn.value_and_grad(lambda net: (net.logits(x) ** 2).mean())(model)
    assert all(np.asarray(grads.get(each.id)).any() for _, each in model.parameters())


def test_dropout_is_active_only_in_training():
    model = draw_net(Config(variants=6, covariates=2, outputs=1))
    still = logits(model)
    assert not np.array_equal(logits(model.train(), key=sl.Key(0)), still)
    assert np.array_equal(logits(model.eval()), still)


def test_for_data_sets_the_sizes_from_the_dataset(cohort):
    data = cohort(labels={f"iid{i}": i % 2 for i in range(1, 61)}, coding="01")
    config = Config.for_data(data)
    assert (config.variants, config.covariates, config.outputs) == (12, 0, 2)


def test_genotypes_without_labels_are_rejected(cohort):
    with pytest.raises(ArgumentError, match="no labels"):
        Config.for_data(cohort(labels=False))


def test_a_dataset_with_variants_as_items_is_rejected(cohort):
    with pytest.raises(ArgumentError, match='by="sample"'):
        Config.for_data(cohort(by="variant", labels=None))


@pytest.mark.parametrize(
    "wrong", [{"variants": 0}, {"hidden": (8, 0)}, {"dropout": 1.0}, {"covariates": -1}]
)
def test_invalid_genotype_mlp_settings_are_rejected(wrong):
    settings: dict[str, Any] = {"variants": 4, "outputs": 1, **wrong}
    with pytest.raises(ArgumentError):
        Config(**settings)


def test_a_wrong_number_of_variants_is_rejected():
    with pytest.raises(ShapeError, match="reads 7 variants and 0 covariates"):
        logits(Config(variants=7, outputs=1).init("numpy").eval())


def ridge(teach, held):
    """Return the r2 of ridge regression with the penalty of least leave-one-out error."""
    linear_model = pytest.importorskip("sklearn.linear_model")
    encoder = teach.encoder.fit(teach)
    known, new = (part.with_encoder(encoder).to_numpy() for part in (teach, held))
    model = linear_model.RidgeCV(np.logspace(0, 6, 25)).fit(known["inputs"], known["label"])
    return model.score(new["inputs"], new["label"])


def network(teach, held, seed):
    """Return the r2 of the network; a tenth of the samples chooses the best epoch."""
    train, valid = sl.data.split(teach, (0.9, 0.1), seed=seed)
    options: dict[str, Any] = {"seed": seed, "report": False, "num_threads": 1}
    run = sl.train.fit(Config.for_data(train), train, valid, **as_arguments(**options))
    return sl.infer.evaluate(run.trained, held, num_threads=1)["r2"]


@pytest.mark.parametrize("trait", ["Y1", pytest.param("Y2", marks=pytest.mark.soak)])
def test_a_genotype_mlp_is_at_least_as_good_as_ridge_regression_on_real_data(trait):
    files = DEMO_GENOTYPES / "example.bed", DEMO_GENOTYPES / "phenotype.txt"
    pairs = sl.data.folds(
        sl.data.GenotypeDataset(files[0], sl.data.Labels(files[1], label_column=trait)),
        5,
        seed=0,
    )
    theirs = np.mean([ridge(*pair) for pair in pairs])
    ours = np.mean([network(*pair, seed=i) for i, pair in enumerate(pairs)])
    assert ours >= theirs - 0.02
