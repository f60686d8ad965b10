"""The model that ``fit("auto")`` selects: a network, a linear model or an ensemble."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from benchmarks._simulated_scan import simulate_scan

import seqloom as sl
from exported import Run as ExportedRun
from seqloom.errors import ArgumentError, DataWarning
from seqloom.models import Ensemble, GenotypeMLPConfig, SequenceLinear
from seqloom.nn import functional
from seqloom.train import _fit, _training, _updates
from seqloom.train._baselines import fit_baselines
from seqloom.train._parts import Parts
from seqloom.train._prepare import prepare
from seqloom.train._ranks import Ranks
from seqloom.train._selection import _select_members
from seqloom.train._settings import FitSettings, read_arguments
from seqloom.train._training import _list_improved


def draw_sequences(count, lengths):
    """Sequences of two classes, one of them with more G and C, and the classes, by id."""
    draw = np.random.default_rng(3)
    classes = {f"r{number}": ["no", "yes"][number % 2] for number in range(count)}
    shares = {"no": [0.3, 0.2, 0.2, 0.3], "yes": [0.2, 0.3, 0.3, 0.2]}
    texts = {
        name: "".join(draw.choice([*"ACGT"], draw.choice(lengths), p=shares[label]))
        for name, label in classes.items()
    }
    return texts, classes


def compositions(count=160, lengths=(24,)):
    """A dataset of sequences of two classes, one of them with more G and C."""
    texts, classes = draw_sequences(count, lengths)
    encoder = sl.encode.OneHot("dna")
    return sl.data.SequenceDataset(texts, labels=classes, encoder=encoder)


def traits(folder, *, covariates=None):
    """Genotypes with a trait that depends on three variants."""
    draw = np.random.default_rng(4)
    genotypes = draw.binomial(2, 0.4, (200, 30)).astype(np.int8)
    trait = genotypes[:, :3] @ [1.0, -0.7, 0.5] + draw.normal(size=200) / 3
    sl.io.to_bed(folder / "a.bed", genotypes)
    names = [f"iid{number + 1}" for number in range(200)]
    labels = sl.data.Labels(
        dict(zip(names, map(float, trait), strict=True)), task="regress"
    )
    age = None if covariates is None else dict(zip(names, covariates, strict=True))
    return sl.data.GenotypeDataset(folder / "a.bed", labels, covariates=age)


def fit_linear_models(data, config):
    """The fitted baselines of a training and a validation set, and their job."""
    given = read_arguments(
        {
            "objective": "auto",
            "epochs": None,
            "batch_size": 32,
            "lr": 1e-3,
            "optimizer": None,
            "seed": 0,
            "backend": "numpy",
            "out": None,
            "resume": False,
        },
        {},
    )
    parts = Parts(data[: len(data) // 2], data[len(data) // 2 :], None)
    job = prepare(config, parts, FitSettings.of(given), ranks=Ranks())
    return job, {it.name: it for it in fit_baselines(job)}


def outputs_of(network, data):
    """The outputs of a network for all records."""
    x = network.backend.tensor(data.batch(np.arange(len(data)))["inputs"])
    return network.logits(x).numpy()


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run with a folder, which selected its model."""
    data, out = compositions(), tmp_path_factory.mktemp("selection") / "run"
    return sl.train.fit("auto", data[:120], data[120:], out=out, epochs=3)


def test_the_selected_model_has_the_lowest_validation_loss(run):
    losses = [it.valid_loss for it in run.candidates]
    kept = [it.valid_loss for it in run.candidates if it.is_selected]
    rows = run.valid.scores.to_numpy()[np.arange(40), run.valid.labels]
    assert min(kept) == min(losses)
    assert -np.log(rows).mean() <= min(losses) * 1.001


def test_networks_and_linear_models_are_candidates(run):
    assert [it.name for it in run.candidates] == [
        "SequenceCNN, length 24",
        "SequenceCNN, any length",
        "SequenceCNN, any length, both strands",
        "logistic regression, composition",
        "logistic regression, 4-mer counts",
        "logistic regression, 6-mer counts",
        "logistic regression, one-hot",
    ]
    assert [it.best_epoch is None for it in run.candidates] == [False] * 3 + [True] * 4


def test_a_linear_model_is_selected_if_labels_depend_on_the_composition(run):
    kept = [it.name for it in run.candidates if it.is_selected]
    assert "logistic regression, composition" in kept


def test_the_results_contain_the_candidates(run):
    results = json.loads((run.folder / "results.json").read_text())
    assert results["candidates"] == [it.to_dict() for it in run.candidates]


def test_the_report_shows_the_candidates(run):
    page = (run.folder / "report.html").read_text()
    assert "Candidates" in page
    assert "logistic regression, composition" in page


def test_the_loaded_model_predicts_the_same_bits(run):
    data = compositions()
    expected = sl.infer.predict(run.trained, data).to_numpy()
    loaded = sl.models.load(run.folder)
    np.testing.assert_array_equal(sl.infer.predict(loaded, data).to_numpy(), expected)


def test_the_history_has_the_loss_of_each_network(run):
    for row in run.history:
        losses = [row[f"valid_loss_{number}"] for number in (1, 2, 3)]
        assert row["valid_loss"] == min(losses)


def test_each_network_has_the_weights_of_its_best_epoch(run):
    for number, it in enumerate(run.candidates[:3], start=1):
        losses = [row[f"valid_loss_{number}"] for row in run.history]
        assert it.best_epoch == 1 + losses.index(min(losses))
        assert it.valid_loss == pytest.approx(min(losses), rel=1e-5)


def test_a_metric_cannot_have_the_name_of_the_loss_of_a_candidate():
    with pytest.raises(ArgumentError, match="'loss_1'"):
        sl.train.Objective(metrics={"loss_2": lambda *_: 0.0})


def test_a_folder_of_a_longer_selection_can_be_loaded_when_it_is_stopped(tmp_path):
    data, out = compositions(), tmp_path / "run"
    sl.train.fit("auto", data[:120], data[120:], epochs=2, out=out)
    settings: Any = {"epochs": 4, "out": out, "resume": True, "lr": 1e-3}
    with pytest.raises(KeyboardInterrupt):
        sl.train.fit("auto", data[:120], data[120:], callbacks=[StopInThird()], **settings)
    with pytest.warns(DataWarning, match="did not finish"):
        scores = sl.infer.predict(out, data)
    assert len(scores) == 160


def test_a_network_without_settings_cannot_be_selected(monkeypatch):
    monkeypatch.setattr(_fit, "config_of", lambda _: None)
    data = compositions()
    with pytest.raises(ArgumentError, match="has no attribute config"):
        sl.train.fit("auto", data[:120], data[120:], epochs=1)


def test_an_exported_selection_gives_the_same_outputs(tmp_path):
    data = compositions(lengths=(20, 24, 31))
    run = sl.train.fit("auto", data[:120], data[120:], epochs=2)
    assert isinstance(run.model, (Ensemble, SequenceLinear))
    sl.export.save(run.trained, tmp_path / "model")
    batch = data.batch(np.arange(run.trained.batch_size) % 160)
    mask = {"mask": batch["mask"]} if "mask" in batch else {}
    model: Any = run.model
    given = {it: model.backend.tensor(value) for it, value in mask.items()}
    expected = model.logits(model.backend.tensor(batch["inputs"]), **given).numpy()
    found = ExportedRun(tmp_path / "model")({"inputs": batch["inputs"], **mask})
    np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize(
    "name", ["composition", "4-mer counts", "one-hot"], ids=lambda it: it[:3]
)
def test_a_network_computes_the_outputs_of_a_linear_model_of_sequences(name):
    data = compositions()
    job, fits = fit_linear_models(data, sl.models.SequenceCNNConfig.for_data(data))
    fitted = fits[f"logistic regression, {name}"]
    network = fitted.to_network(job.trained.model.backend)
    found = outputs_of(network, data)
    np.testing.assert_allclose(found, fitted.score(data), atol=1e-4)


def test_unknown_residues_do_not_count_as_length_in_both_forms_of_a_linear_model():
    texts, classes = draw_sequences(160, (20, 24, 31))
    texts = {name: text.replace("GG", "NN") for name, text in texts.items()}
    encoder = sl.encode.OneHot("dna")
    data = sl.data.SequenceDataset(texts, labels=classes, encoder=encoder)
    job, fits = fit_linear_models(data, sl.models.SequenceCNNConfig.for_data(data))
    fitted = fits["logistic regression, 4-mer counts"]
    network = fitted.to_network(job.trained.model.backend)
    np.testing.assert_allclose(outputs_of(network, data), fitted.score(data), atol=1e-4)


def test_masked_residues_make_no_linear_network():
    texts, classes = draw_sequences(40, (20,))
    encoder = sl.encode.OneHot("dna", case="mask")
    data = sl.data.SequenceDataset(texts, labels=classes, encoder=encoder)
    job, fits = fit_linear_models(data, sl.models.SequenceCNNConfig.for_data(data))
    backend = job.trained.model.backend
    assert all(it.to_network(backend) is None for it in fits.values())


def test_an_infinite_loss_is_never_selected_and_is_null_in_json():
    losses = [float("inf"), 0.5, 0.4]
    assert _select_members(lambda rows: losses[rows[0]], 3) == [2]
    candidate = sl.train.Candidate(name="CNN", parameters=1, valid_loss=losses[0])
    assert candidate.to_dict()["valid_loss"] is None


def test_the_first_epoch_stores_the_weights_of_each_network():
    row = {"valid_loss": 0.5, "valid_loss_1": None, "valid_loss_2": 0.5}
    assert _list_improved([row], 2) == ("members.0.", "members.1.")
    assert _list_improved([row, {**row, "valid_loss_1": 0.9}], 2) == ("members.0.",)


def test_a_perfect_candidate_has_no_further_members():
    assert _select_members(lambda rows: 0.0 * rows[0], 3) == [0]


@pytest.mark.parametrize("kind", ["ridge regression", "lasso"])
@pytest.mark.parametrize("has_covariates", [False, True])
def test_a_network_computes_the_outputs_of_a_linear_model_of_genotypes(
    tmp_path, kind, has_covariates
):
    ages = [float(it) for it in range(200)] if has_covariates else None
    data = traits(tmp_path, covariates=ages)
    job, fits = fit_linear_models(data, GenotypeMLPConfig.for_data(data))
    features = "genotypes and covariates" if has_covariates else "genotypes"
    fitted = fits[f"{kind}, {features}"]
    network: Any = fitted.to_network(job.trained.model.backend)
    part: Any = job.parts.valid
    rows = fitted.features.read(part, np.arange(len(part)))
    found = network.logits(network.backend.tensor(rows)).numpy()
    np.testing.assert_allclose(found, fitted.score(part), atol=1e-4)


def test_only_the_strongest_variants_have_weights_in_a_screened_model(
    tmp_path, monkeypatch
):
    monkeypatch.setattr("seqloom.train._baseline_features._MAX_VARIANTS", 5)
    data = traits(tmp_path)
    job, fits = fit_linear_models(data, GenotypeMLPConfig.for_data(data))
    fitted = fits["lasso, genotypes (5 of 30)"]
    network: Any = fitted.to_network(job.trained.model.backend)
    assert np.count_nonzero(network.linear.genotypes.numpy()) <= 5


def test_the_lasso_is_selected_for_a_trait_of_few_variants(tmp_path):
    data = traits(tmp_path)
    run = sl.train.fit("auto", data[:150], data[150:])
    assert "lasso, genotypes" in [it.name for it in run.candidates if it.is_selected]
    assert run.valid.metrics["r2"] > 0.6


class StopInEpoch:
    """A callback that simulates Ctrl-C in the second epoch."""

    def on_batch(self, step):
        if (step.epoch, step.batch) == (2, 2):
            raise KeyboardInterrupt


class StopInThird:
    """A callback that simulates Ctrl-C in the third epoch."""

    def on_batch(self, step):
        if step.epoch == 3:
            raise KeyboardInterrupt


class StopAfterEpoch:
    """A callback that simulates Ctrl-C at the end of an epoch."""

    def __init__(self, epoch):
        self.epoch = epoch

    def on_epoch(self, row):
        if row["epoch"] == self.epoch:
            raise KeyboardInterrupt


# With this learning rate, the two networks have different best epochs.
UNEVEN_SETTINGS: Any = {"epochs": 7, "lr": 0.05}


@pytest.fixture(scope="module")
def uninterrupted():
    """A run whose networks have different best epochs."""
    data = compositions()
    run = sl.train.fit("auto", data[:120], data[120:], **UNEVEN_SETTINGS)
    epochs = [it.best_epoch for it in run.candidates[:2]]
    assert epochs[0] != epochs[1]
    return run


@pytest.mark.parametrize("stop", [StopInEpoch(), *map(StopAfterEpoch, range(1, 7))])
def test_a_stopped_selection_resumes_to_the_same_bits(uninterrupted, stop, tmp_path):
    data, out = compositions(), tmp_path / "stopped"
    settings = {**UNEVEN_SETTINGS, "out": out}
    with pytest.raises(KeyboardInterrupt):
        sl.train.fit("auto", data[:120], data[120:], callbacks=[stop], **settings)
    resumed = sl.train.fit("auto", data[:120], data[120:], resume=True, **settings)
    assert resumed.candidates == uninterrupted.candidates
    found, expected = (it.model.to_record() for it in (resumed, uninterrupted))
    for path in expected:
        assert np.asarray(found[path]).tobytes() == np.asarray(expected[path]).tobytes()


@pytest.fixture
def short_rounds(monkeypatch):
    """Rounds of two epochs, after which only the best network is trained further."""
    monkeypatch.setattr(_updates, "FIRST_ROUND", 2)
    monkeypatch.setattr(_training, "_MAX_CANDIDATE_LOSS", 1.0)
    monkeypatch.setattr(_training, "_FIRST_CHECK", 2)


def test_a_worse_network_is_not_trained_in_later_rounds(short_rounds):
    data = compositions()
    run = sl.train.fit("auto", data[:120], data[120:])
    losses = [[row[f"valid_loss_{it}"] for it in (1, 2, 3)] for row in run.history]
    trained = [sum(loss is not None for loss in row) for row in losses]
    assert trained == [3, 3, *[1] * (len(losses) - 2)]
    assert len(losses) > 2


@pytest.mark.parametrize("stop", [2, 3])
def test_a_selection_without_its_worse_networks_resumes_to_the_same_bits(
    short_rounds, stop, tmp_path
):
    data, out = compositions(), tmp_path / "run"
    whole = sl.train.fit("auto", data[:120], data[120:])
    callbacks = [StopAfterEpoch(stop)]
    with pytest.raises(KeyboardInterrupt):
        sl.train.fit("auto", data[:120], data[120:], callbacks=callbacks, out=out)
    resumed = sl.train.fit("auto", data[:120], data[120:], out=out, resume=True)
    assert resumed.candidates == whole.candidates
    found, expected = (it.model.to_record() for it in (resumed, whole))
    for path in expected:
        assert np.asarray(found[path]).tobytes() == np.asarray(expected[path]).tobytes()


def test_an_ensemble_cannot_be_resumed_as_a_selection(tmp_path):
    data, out = compositions(), tmp_path / "run"
    config = sl.models.SequenceCNNConfig.for_data(data)
    other = replace(config, length=None, pools=(), kernel_size=9, dropout=0.1)
    config = sl.models.EnsembleConfig((config, other))
    sl.train.fit(config, data[:120], data[120:], epochs=1, out=out)
    with pytest.raises(sl.errors.RunFolderError, match="--network auto"):
        sl.train.fit("auto", data[:120], data[120:], epochs=1, out=out, resume=True)


def test_variants_are_learned_with_a_small_and_a_large_weight_decay():
    letters, values = simulate_scan(60, length=20)
    ids = [f"v{number}" for number in range(60)]
    labels = sl.data.Labels(dict(zip(ids, map(float, values), strict=True)), task="regress")
    data = sl.data.SequenceDataset(
        dict(zip(ids, letters, strict=True)),
        labels=labels,
        encoder=sl.encode.OneHot("protein"),
    )
    run = sl.train.fit("auto", data[:48], data[48:], epochs=1)
    assert [it.name for it in run.candidates[:2]] == [
        "SequenceCNN, length 20, weight decay 0.3",
        "SequenceCNN, length 20, weight decay 3",
    ]
    assert "weight decay" not in run.report.facts


def test_selection_without_a_validation_set_is_an_error():
    with pytest.raises(ArgumentError, match="validation set"):
        sl.train.fit("auto", compositions())


def test_selection_with_a_loss_function_is_an_error():
    data = compositions()
    with pytest.raises(ArgumentError, match="built-in task"):
        sl.train.fit("auto", data, data, objective=functional.cross_entropy)


def test_selection_of_unencoded_arrays_is_an_error():
    arrays = (np.zeros((4, 2), np.float32), np.arange(4) % 2)
    with pytest.raises(ArgumentError, match="train must be a dataset"):
        sl.train.fit("auto", arrays, arrays)


def test_stranded_dna_has_no_candidate_of_both_strands():
    data, objective = compositions(), sl.train.Objective(stranded=True)
    run = sl.train.fit("auto", data[:120], data[120:], epochs=1, objective=objective)
    assert not any("both strands" in it.name for it in run.candidates)


def test_members_with_equal_settings_are_numbered():
    texts, classes = draw_sequences(160, (20, 24, 31))
    encoder = sl.encode.OneHot("rna")
    texts = {name: text.replace("T", "U") for name, text in texts.items()}
    data = sl.data.SequenceDataset(texts, labels=classes, encoder=encoder)
    run = sl.train.fit("auto", data[:120], data[120:], epochs=1)
    assert [it.name for it in run.candidates[:2]] == [
        "SequenceCNN, any length (1)",
        "SequenceCNN, any length (2)",
    ]


def test_a_selected_baseline_is_not_compared_with_itself(tmp_path):
    data, out = traits(tmp_path), tmp_path / "run"
    run = sl.train.fit("auto", data[:150], data[150:], epochs=1, out=out)
    assert "Run of lasso, genotypes, " in repr(run)
    lasso = next(it for it in run.baselines if it.name == "lasso, genotypes")
    assert lasso.comparisons == {}
    note = "lasso, genotypes is better than the best other baseline (ridge regression"
    assert note in (out / "report.html").read_text()
    assert note in (out / "README.md").read_text()


def test_the_mean_of_the_selected_candidates_is_listed_with_its_loss(run):
    chosen = [it for it in run.candidates if it.is_selected]
    mean = run.candidates[-1]
    if len(chosen) == 1:
        assert mean.name != "mean of the selected candidates"
    else:
        assert mean.name == "mean of the selected candidates"
        assert mean.valid_loss < min(it.valid_loss for it in chosen)
        assert mean.parameters == sum(it.parameters for it in chosen)
