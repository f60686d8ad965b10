"""Tests of the baselines of a run, whose linear models are compared with scikit-learn."""

import json

import numpy as np
import pytest
from sklearn.linear_model import Lasso, LogisticRegression, Ridge

import seqloom as sl
from seqloom.cli import main
from seqloom.data._parts import split
from seqloom.models import Classify
from seqloom.train import Baseline, Comparison, Objective, _baseline_features
from seqloom.train._baseline_features import RecordFeatures
from seqloom.train._baselines import Ranking, _format_p
from seqloom.train._linear import (
    IDENTITY_LINK,
    LOGISTIC_LINK,
    SOFTMAX_LINK,
    Sample,
    fit_lasso,
    fit_ridge,
)
from seqloom.train._paired import bootstrap


def random_sample(outputs, seed=0, records=400, features=30):
    """Simulate features and the outputs of a sparse linear model with noise."""
    random = np.random.default_rng(seed)
    x = random.normal(size=(records, features)).astype(np.float32)
    weights = np.random.default_rng(9).normal(size=(features, outputs))
    weights *= np.random.default_rng(8).random((features, 1)) < 0.3
    return x, x @ weights + random.gumbel(size=(records, outputs))


def pair_of_samples(outputs, to_targets):
    """Return a training and a validation sample."""
    for seed in (0, 1):
        x, y = random_sample(outputs, seed)
        yield Sample(x, to_targets(y), np.ones(len(x)))


def test_ridge_regression_equals_that_of_scikit_learn():
    train, valid = pair_of_samples(2, lambda y: y)
    found = fit_ridge(train, valid, IDENTITY_LINK)
    oracle = Ridge(alpha=found.penalty * len(train.x)).fit(train.x, train.targets)
    np.testing.assert_allclose(found(valid.x), oracle.predict(valid.x), atol=0.02)


def test_logistic_regression_equals_that_of_scikit_learn():
    train, valid = pair_of_samples(3, lambda y: np.eye(3)[y.argmax(axis=1)])
    found = fit_ridge(train, valid, SOFTMAX_LINK)
    strength = 1 / (found.penalty * len(train.x))
    oracle = LogisticRegression(C=strength, tol=1e-8, max_iter=5000)
    oracle.fit(train.x, train.targets.argmax(axis=1))
    chances = SOFTMAX_LINK.mean(found(valid.x))
    np.testing.assert_allclose(chances, oracle.predict_proba(valid.x), atol=0.02)


def test_logistic_regression_of_several_labels_fits_each_label_alone():
    train, valid = pair_of_samples(2, lambda y: (y > 0).astype(float))
    found = fit_ridge(train, valid, LOGISTIC_LINK)
    strength = 1 / (found.penalty * len(train.x))
    for column in range(2):
        oracle = LogisticRegression(C=strength, tol=1e-8, max_iter=5000)
        oracle.fit(train.x, train.targets[:, column])
        expected = oracle.predict_proba(valid.x)[:, 1]
        chances = LOGISTIC_LINK.mean(found(valid.x))[:, column]
        np.testing.assert_allclose(chances, expected, atol=0.02)


def test_a_record_of_weight_n_counts_like_n_equal_records():
    train, valid = pair_of_samples(2, lambda y: np.eye(2)[y.argmax(axis=1)])
    times = np.arange(len(train.x)) % 3 + 1
    repeated = Sample(
        np.repeat(train.x, times, axis=0),
        np.repeat(train.targets, times, axis=0),
        np.ones(times.sum()),
    )
    weighted = Sample(train.x, train.targets, times.astype(float))
    found, expected = (
        fit_ridge(it, valid, SOFTMAX_LINK)(valid.x) for it in (weighted, repeated)
    )
    np.testing.assert_allclose(found, expected, atol=0.05)


@pytest.mark.parametrize("features", [30, 900], ids=["few", "more than records"])
def test_lasso_equals_that_of_scikit_learn(features):
    samples = [random_sample(1, seed, features=features) for seed in (0, 1)]
    train, valid = (Sample(x, y, np.ones(len(x))) for x, y in samples)
    found = fit_lasso(train, valid)
    oracle = Lasso(alpha=found.penalty, tol=1e-8, max_iter=100_000)
    oracle.fit(train.x.astype(float), train.targets[:, 0])
    np.testing.assert_allclose(found.weights[:, 0], oracle.coef_, atol=2e-3)
    np.testing.assert_allclose(found.bias, oracle.intercept_, atol=2e-3)


def test_a_constant_feature_has_no_weight_in_the_lasso():
    train, valid = pair_of_samples(1, lambda y: y)
    train.x[:, 3] = 2
    assert fit_lasso(train, valid).weights[3, 0] == 0


def test_the_lasso_of_constant_features_predicts_the_mean():
    x = np.ones((5, 9), np.float32)
    sample = Sample(x, np.arange(5.0)[:, None], np.ones(5))
    np.testing.assert_allclose(fit_lasso(sample, sample)(x), 2.0)


def test_the_bootstrap_reports_only_clear_differences_as_significant():
    noise = np.random.default_rng(0).normal(size=200)
    noise -= noise.mean()
    assert bootstrap(np.zeros(50)) == 1
    assert bootstrap(noise) > 0.5
    assert bootstrap(noise + 1) == bootstrap(noise - 1) == pytest.approx(0.001, abs=1e-4)


def test_the_bootstrap_agrees_with_the_normal_distribution():
    noise = np.random.default_rng(0).normal(size=400)
    values = (noise - noise.mean()) / noise.std() + 2 / np.sqrt(len(noise))
    assert bootstrap(values) == pytest.approx(0.0455, abs=0.015)


def sequences(count, *, lengths=(40,), alphabet="ACGT", seed=0):
    """Simulate sequences; the class depends on the frequency of the first residue."""
    random, found, labels = np.random.default_rng(seed), {}, {}
    for number in range(count):
        share = 0.2 + 0.3 * (number % 2)
        chances = np.full(len(alphabet), (1 - share) / (len(alphabet) - 1))
        chances[0] = share
        length = lengths[number % len(lengths)]
        found[f"s{number}"] = "".join(random.choice(list(alphabet), length, p=chances))
        labels[f"s{number}"] = "rich" if number % 2 else "poor"
    return found, labels


def train_on(found, labels, *, alphabet="dna", **settings):
    """Train for one epoch on 80 % of the records."""
    encoder = settings.pop("encoder", sl.encode.OneHot(alphabet))
    data = sl.data.SequenceDataset(found, labels=labels, encoder=encoder)
    train, valid, test = split(data, (0.6, 0.2, 0.2))
    config = sl.models.SequenceCNNConfig.for_data(train, valid, test)
    return sl.train.fit(config, train, valid, test=test, epochs=1, **settings)


def names_of(run):
    """Return the names of the baselines of a run."""
    return [it.name for it in run.baselines]


def test_dna_of_one_length_has_five_baselines():
    run = train_on(*sequences(100))
    assert names_of(run) == [
        "most frequent class",
        "logistic regression, composition",
        "logistic regression, 4-mer counts",
        "logistic regression, 6-mer counts",
        "logistic regression, one-hot",
    ]


def test_sequences_of_several_lengths_have_no_one_hot_baseline():
    run = train_on(*sequences(60, lengths=(30, 45)))
    assert not any("one-hot" in name for name in names_of(run))


def test_proteins_are_compared_with_counts_of_dipeptides():
    found = sequences(60, alphabet="ACDEFGHIKLMNPQRSTVWY")
    assert any("2-mer" in name for name in names_of(train_on(*found, alphabet="protein")))


def test_the_composition_baseline_learns_classes_that_differ_in_composition():
    run = train_on(*sequences(300))
    composition = run.baselines[1]
    assert composition.metrics["test"]["accuracy"] > 0.9
    assert composition.metrics["test"]["n"] == 60


def test_the_constant_baseline_has_the_accuracy_of_the_largest_class():
    found, labels = sequences(100)
    labels = {name: "poor" if int(name[1:]) % 5 else "rich" for name in labels}
    metrics = train_on(found, labels).baselines[0].metrics["test"]
    assert metrics["accuracy"] == 0.8
    assert metrics["auroc"] == 0.5


def test_labels_of_the_test_set_do_not_change_a_baseline():
    found, labels = sequences(100)
    data = sl.data.SequenceDataset(found, labels=labels, encoder=sl.encode.OneHot("dna"))
    other = {name: "rich" if it == "poor" else "poor" for name, it in labels.items()}
    train, valid, test = split(data, (0.6, 0.2, 0.2))
    swapped = sl.data.SequenceDataset(
        {it: found[it] for it in test.ids},
        labels=sl.data.Labels(other, classes=data.classes),
        encoder=data.encoder,
    )
    config = sl.models.SequenceCNNConfig.for_data(train)
    runs = [sl.train.fit(config, train, valid, test=it, epochs=1) for it in (test, swapped)]
    for one, two in zip(*(run.baselines for run in runs), strict=True):
        assert one.metrics["validation"] == two.metrics["validation"]
        accuracy = two.metrics["test"]["accuracy"]
        assert one.metrics["test"]["accuracy"] == pytest.approx(1 - accuracy)


def test_without_a_validation_set_training_records_choose_the_penalty():
    found, labels = sequences(200)
    data = sl.data.SequenceDataset(found, labels=labels, encoder=sl.encode.OneHot("dna"))
    train, test = split(data, (0.8, 0.2))
    config = sl.models.SequenceCNNConfig.for_data(train)
    run = sl.train.fit(config, train, test=test, epochs=1)
    assert run.baselines[1].records == 128
    assert run.baselines[1].metrics["test"]["accuracy"] > 0.9


def test_a_regression_is_compared_with_ridge_regression_and_the_mean():
    found, _ = sequences(200)
    labels = sl.data.Labels(
        {name: text.count("A") / 40 for name, text in found.items()}, task="regress"
    )
    run = train_on(found, labels)
    mean, composition = run.baselines[:2]
    assert mean.name == "mean"
    assert abs(mean.metrics["test"]["r2"]) < 0.1
    assert composition.name == "ridge regression, composition"
    assert composition.metrics["test"]["r2"] > 0.99


def test_several_labels_are_compared_with_logistic_regression():
    found, _ = sequences(200)
    labels = sl.data.Labels(
        {it: [int(text[0] == "A"), int(text[1] == "C")] for it, text in found.items()},
        task="multilabel",
    )
    run = train_on(found, labels)
    assert run.baselines[0].name == "frequency of each label"
    assert run.baselines[-1].metrics["test"]["accuracy"] > 0.9


@pytest.mark.parametrize("length", [30, 31], ids=["one length", "several lengths"])
def test_baselines_accept_ambiguous_and_rare_residues(length):
    found, labels = sequences(60, lengths=(30, length), alphabet="ACDEFGHIKLMNPQRSTVWY")
    found["s0"] = "U" + found["s0"][1:]
    found["s1"] = "X" + found["s1"][1:-1] + "*"
    encoder = sl.encode.OneHot("protein", rare="keep", symbols="keep")
    assert len(train_on(found, labels, encoder=encoder).baselines) > 2


def test_a_custom_task_and_a_loader_have_no_baselines():
    x = np.random.default_rng(0).normal(size=(20, 3)).astype(np.float32)
    model = sl.nn.Linear(3, 1)
    loss = Objective(loss=lambda output, y: ((output - y) ** 2).mean())
    run = sl.train.fit(model, (x, x[:, :1]), (x, x[:, :1]), objective=loss, epochs=1)
    assert run.baselines == ()


def test_arrays_with_a_task_are_compared_with_a_linear_model():
    x, y = random_sample(1)
    part = {"inputs": x, "label": y[:, 0]}
    run = sl.train.fit(sl.nn.Linear(30, 1), part, part, objective="regress", epochs=1)
    assert names_of(run) == ["mean", "ridge regression, inputs"]
    assert run.baselines[1].metrics["validation"]["r2"] > 0.8


def test_baselines_can_be_disabled():
    assert train_on(*sequences(40), objective=Objective(baselines=False)).baselines == ()


def test_more_variants_than_the_limit_are_chosen_by_their_correlation(monkeypatch):
    monkeypatch.setattr(_baseline_features, "_MAX_VARIANTS", 5)
    random = np.random.default_rng(0)
    x = random.normal(size=(200, 40)).astype(np.float32)
    y = x[:, 7] - x[:, 23]
    features = RecordFeatures(
        name="genotypes",
        read=lambda _, rows: x[rows],
        count=40,
        has_lasso=True,
    )
    chosen = features.screen(range(200), y[:, None])
    assert chosen.columns.size == 5
    assert {7, 23} <= set(chosen.columns.tolist())
    assert chosen.name == "genotypes (5 of 40)"


def test_a_large_training_set_is_sampled(monkeypatch):
    monkeypatch.setattr(_baseline_features, "_MAX_VALUES", 5 * 20)
    run = train_on(*sequences(200))
    assert run.baselines[1].records == 20


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ((0.9, 0.8, 0.01), "is better than the best baseline (linear) by 0.100"),
        ((0.9, 0.88, 0.3), "is not shown to be better than the best baseline (linear)"),
        ((0.8, 0.9, 0.3), "is not better than the best baseline (linear)"),
        ((0.8, 0.9, 0.01), "is worse than the best baseline (linear) by 0.100"),
    ],
)
def test_the_summary_sentence_reports_the_difference_and_its_significance(values, verdict):
    found = Comparison("accuracy", *values)
    baseline = Baseline(name="linear", records=5, comparisons={"test": found})
    sentence = Ranking("Net", "test", {}, (baseline,)).sentence
    assert sentence.startswith(f"on the test set, Net {verdict}: accuracy ")


def test_a_p_value_slightly_below_the_significance_level_is_not_rounded_up():
    assert _format_p(0.04998, "= ") == "< 0.05"


def test_the_smallest_p_value_of_the_bootstrap_is_shown_as_a_bound():
    assert _format_p(bootstrap(np.ones(20)), "= ") == "<= 0.001"


def test_models_of_unequal_classes_are_compared_by_the_balanced_accuracy():
    found, labels = sequences(300)
    rare = [name for name in labels if labels[name] == "rich"][:50]
    names = [name for name in labels if labels[name] == "poor"] + rare
    run = train_on({it: found[it] for it in names}, {it: labels[it] for it in names})
    compared = run.baselines[0].comparisons["test"]
    assert (compared.metric, compared.baseline) == ("balanced_accuracy", 0.5)
    assert compared.network == run.test.metrics["balanced_accuracy"]


def test_a_model_is_not_compared_with_baselines_if_the_labels_are_shifted():
    found = Comparison("r2", -300.0, -301.0, 0.01)
    baseline = Baseline(name="mean", records=5, comparisons={"test": found})
    metrics = {"r2": -300.0, "pearson": 0.7}
    sentence = Ranking("Net", "test", metrics, (baseline,)).sentence
    assert "is not compared with the baselines, because the labels differ" in sentence


def test_report_card_and_printed_output_contain_the_baselines(tmp_path, capsys):
    found, labels = sequences(100)
    labels["id"] = "label"
    (tmp_path / "a.fa").write_text("".join(f">{it}\n{found[it]}\n" for it in found))
    (tmp_path / "a.tsv").write_text(
        "".join(f"{it}\t{labels[it]}\n" for it in ["id", *labels])
    )
    out, arguments = tmp_path / "run", [str(tmp_path / "a.fa"), "--labels"]
    arguments += [str(tmp_path / "a.tsv"), "--epochs", "1", "--out", str(out)]
    with pytest.raises(SystemExit, match="0"):
        main(["train", *arguments])
    name = "logistic regression, composition"
    assert name in capsys.readouterr().out
    assert name in (out / "README.md").read_text()
    assert name in (out / "report.html").read_text()
    results = json.loads((out / "results.json").read_text())
    assert name in [it["name"] for it in results["baselines"]]


def test_class_weights_also_apply_to_baselines():
    found, labels = sequences(200)
    labels = {it: "rich" if int(it[1:]) % 10 == 1 else "poor" for it in labels}
    weighted = train_on(found, labels, objective=Objective(class_weight="balanced"))
    plain = train_on(found, labels)
    recalls = [
        run.baselines[1].metrics["test"]["balanced_accuracy"] for run in (weighted, plain)
    ]
    assert recalls[0] > recalls[1]
    assert isinstance(plain.trained.task, Classify)
