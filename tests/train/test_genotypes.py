"""Tests of `fit` on genotypes: statistics of the encoder, its file, and resumed runs."""

import json
from typing import Any

import numpy as np
import pytest

import seqloom as sl
from fit_arguments import as_arguments
from seqloom.errors import (
    ArgumentError,
    ConfigError,
    MissingFileError,
    RecordError,
    RunFolderError,
)


@pytest.fixture
def start(cohort, tmp_path):
    """Train three epochs in a folder, on two thirds of the samples."""

    def call(out="run", **options):
        train, valid = sl.data.split(options.pop("data", None) or cohort(), (2 / 3, 1 / 3))
        config = sl.models.GenotypeMLPConfig.for_data(train)
        every: dict[str, Any] = {"epochs": 3, "batch_size": 16, **options}
        every |= {"num_threads": 1, "out": tmp_path / out}
        return sl.train.fit(config, train, valid, **as_arguments(**every))

    return call


class Stop(sl.train.Progress):
    """A callback that simulates Ctrl-C after the second epoch."""

    def on_start(self, plan):
        self.plan = plan

    def on_batch(self, step):
        self.step = step

    def on_epoch(self, row):
        if row["epoch"] == 2:
            raise KeyboardInterrupt

    def on_end(self, run):
        self.run = run


def test_means_are_computed_from_the_training_samples_only(start, cohort):
    data = cohort()
    train, _ = sl.data.split(data, (2 / 3, 1 / 3))
    copies = (
        data.with_encoder(sl.data.GenotypeEncoder(impute=None, standardize=None).fit(data))
        .batch(train.indices)["inputs"]
        .astype("f8")
    )
    found = start().trained.encoder.fitted
    np.testing.assert_allclose(found.mean, np.nanmean(copies, axis=0))
    np.testing.assert_allclose(1 / found.scale, np.nanstd(copies, axis=0))


def test_mistakes_on_samples_are_listed_without_sequences(start, cohort):
    cases = cohort(labels=np.arange(60) % 2, task="classify")
    report = start(data=cases, lr=1e-9).report
    (section,) = (it for it in report.sections if it.title == "Worst mistakes")
    assert section.note.endswith("not shown, because these records are not sequences.")
    assert section.table.rows
    assert not section.drawings


def test_the_encoder_of_the_dataset_is_not_changed(start, cohort):
    data = cohort()
    start(data=data)
    assert not data.encoder.is_fitted


def test_a_fitted_encoder_is_not_fitted_again(start, cohort):
    data = cohort()
    fitted = data.encoder.fit(data)
    assert start(data=data.with_encoder(fitted)).trained.encoder == fitted


def test_validation_and_test_sets_use_the_encoder_of_the_training_set(start, cohort):
    test = cohort(30, name="test", labels=np.arange(30) / 7)
    run = start(test=test)
    mine = test.with_encoder(run.trained.encoder)
    expected = sl.infer.predict(run.trained, mine, num_threads=1)
    assert np.array_equal(run.test.scores.to_numpy(), expected.to_numpy())


def test_a_loaded_model_has_the_same_encoder(start, tmp_path):
    run, loaded = start(), sl.models.load(tmp_path / "run")
    assert loaded.encoder == run.trained.encoder
    arrays = loaded.encoder.arrays()
    for name, values in run.trained.encoder.arrays().items():
        assert np.array_equal(arrays[name], values)


def test_a_stopped_run_on_genotypes_resumes_to_the_same_bits(start, tmp_path):
    start("whole")
    with pytest.raises(KeyboardInterrupt):
        start(progress=Stop())
    start(resume=True)
    for name in ("model.safetensors", "encoder.safetensors", "config.json"):
        assert (tmp_path / "run" / name).read_bytes() == (
            tmp_path / "whole" / name
        ).read_bytes()


def test_a_run_cannot_resume_with_other_genotypes(start, cohort):
    start()
    with pytest.raises(RunFolderError, match="other training data"):
        start(data=cohort(name="other", change=lambda it, by: (it[::-1], by)), resume=True)


def test_replacing_a_run_replaces_its_encoder(start, tmp_path):
    start()
    (tmp_path / "run/encoder.safetensors").write_bytes(b"left over")
    start(overwrite=True)
    assert sl.models.load(tmp_path / "run").encoder.is_fitted


def test_a_corrupt_encoder_file_is_an_error(start, tmp_path):
    start()
    path = tmp_path / "run/encoder.safetensors"
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(content)
    with pytest.raises(RecordError, match=r"encoder\.safetensors"):
        sl.models.load(tmp_path / "run")


def test_the_encoder_of_another_run_is_an_error(start, cohort, tmp_path):
    start()
    start("other", data=cohort(40, name="other"))
    name = "encoder.safetensors"
    (tmp_path / "run" / name).write_bytes((tmp_path / "other" / name).read_bytes())
    with pytest.raises(RecordError, match="of different runs"):
        sl.models.load(tmp_path / "run")


def test_a_run_without_its_encoder_file_is_an_error(start, tmp_path):
    start()
    (tmp_path / "run/encoder.safetensors").unlink()
    with pytest.raises(MissingFileError, match=r"encoder\.safetensors: no such file"):
        sl.models.load(tmp_path / "run")


def test_config_json_contains_no_arrays(start, tmp_path):
    start()
    facts = json.loads((tmp_path / "run/config.json").read_text())["encoder"]
    assert facts["class"] == "GenotypeEncoder"
    assert len(facts["digest"]) == 32
    assert set(facts) <= {"class", "version", "impute", "standardize", "count_A1", "digest"}


def test_sets_with_different_encoder_settings_are_an_error(cohort):
    train, valid = cohort(), cohort(name="valid", standardize=None)
    config = sl.models.GenotypeMLPConfig.for_data(train)
    with pytest.raises(ConfigError, match="the validation set"):
        sl.train.fit(config, train, valid, epochs=1)


def test_missing_genotypes_without_imputation_are_an_error(cohort):
    data = cohort(impute=None)
    config = sl.models.GenotypeMLPConfig.for_data(data)
    with pytest.raises(ArgumentError, match='impute="mean"'):
        sl.train.fit(config, data, epochs=1)


def test_a_network_for_another_number_of_variants_is_an_error(cohort):
    config = sl.models.GenotypeMLPConfig(variants=11, outputs=1)
    with pytest.raises(sl.errors.ShapeError, match=r"11 variants .* dataset has 12"):
        sl.train.fit(config, cohort(), epochs=1)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_a_trait_of_any_scale_can_be_predicted(start, cohort, scale):
    trait = {f"iid{i + 1}": scale * (it + 100) for i, it in enumerate(cohort().labels)}
    run = start(data=cohort(name="scaled", labels=trait, task="regress"), epochs=30)
    assert run.valid.metrics["r2"] > 0.8


def test_a_network_can_classify_cases_and_controls(start, cohort):
    trait = {f"iid{i + 1}": 1 + (it > 2) for i, it in enumerate(cohort().labels)}
    run = start(data=cohort(labels=trait), epochs=30)
    assert run.trained.task.name == "classify"
    assert run.valid.metrics["auroc"] > 0.8


def test_covariates_improve_the_prediction(start, cohort):
    age = {f"iid{i}": 20 + i for i in range(1, 61)}
    trait = {name: it + (int(name[3:]) % 3) / 10 for name, it in age.items()}
    run = start(data=cohort(labels=trait, covariates=age, task="regress"), epochs=60)
    assert run.valid.metrics["r2"] > 0.8


def test_the_report_uses_the_word_samples(start, cohort):
    def still(values, properties):
        values = values.copy()
        values[:, 5] = 1
        return values, properties

    report = start(data=cohort(change=still), report=True).report
    assert report.lead.startswith("GenotypeMLP trained on 40 samples")
    note = "Variants that are constant in the training samples are not used: 1."
    assert report.notes[0] == note


def test_samples_without_a_label_are_counted_once(start, cohort):
    trait = {f"iid{i}": "NA" if i % 6 == 0 else i / 7 for i in range(1, 61)}
    report = start(data=cohort(labels=trait)).report
    counted = [note for note in report.notes if "missing" in note]
    assert counted == ["The label of 10 samples is missing; they were left out."]
