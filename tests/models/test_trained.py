"""Tests of loading a trained model from valid and from invalid run folders."""

import json
from dataclasses import dataclass

import numpy as np
import pytest

import seqloom as sl
from seqloom.errors import ArgumentError, ConfigError, MissingFileError, RecordError


@dataclass(frozen=True)
class LinearConfig(sl.nn.Config):
    """A config whose network has no config attribute."""

    def build(self):
        return Linear(sl.nn.Linear(4, 2))


class Linear(sl.nn.Module):
    """A linear layer on the summed channels, in a network without settings."""

    layer: sl.nn.Linear

    def logits(self, x, *, mask=None, key=None):  # noqa: ARG002 - every network's signature
        return self.layer(x.sum(axis=2))


@pytest.fixture
def folder(toy, small, tmp_path):
    """Train a network and return the folder of the run."""
    sl.train.fit(small, toy(), epochs=1, out=tmp_path / "run")
    return tmp_path / "run"


def edit(folder, **changes):
    """Change entries of config.json; None removes an entry."""
    path = folder / "config.json"
    facts = json.loads(path.read_text()) | changes
    path.write_text(json.dumps({name: it for name, it in facts.items() if it is not None}))


def test_a_loaded_model_equals_the_saved_model(toy, small, tmp_path):
    run = sl.train.fit(small, toy(), epochs=1, out=tmp_path / "run")
    loaded = sl.models.load(tmp_path / "run").model.to_record()
    for path, values in run.model.to_record().items():
        assert (np.asarray(loaded[path]) == values).all()


def test_a_loaded_model_has_its_encoder_classes_and_task(folder):
    loaded = sl.models.load(folder)
    assert loaded.encoder == sl.encode.OneHot("dna")
    assert (loaded.classes, loaded.task.name) == (("no", "yes"), "classify")


def test_a_loaded_model_is_in_evaluation_mode(folder):
    assert not sl.models.load(folder).model.training


def test_a_folder_that_is_not_a_run_is_named(tmp_path):
    with pytest.raises(MissingFileError, match=r"no config\.json in it"):
        sl.models.load(tmp_path)


def test_loading_a_run_without_a_model_raises(folder):
    (folder / "model.safetensors").unlink()
    with pytest.raises(MissingFileError, match="has no model"):
        sl.models.load(folder)


def test_settings_that_are_not_json_are_named(folder):
    (folder / "config.json").write_text("{")
    with pytest.raises(ConfigError, match=r"config\.json: not JSON"):
        sl.models.load(folder)


def test_a_config_without_a_required_entry_is_rejected(folder):
    edit(folder, task=None)
    with pytest.raises(ConfigError, match="not a run's settings"):
        sl.models.load(folder)


def test_a_config_of_a_newer_version_is_rejected(folder):
    edit(folder, version=99)
    with pytest.raises(ConfigError, match="newer seqloom"):
        sl.models.load(folder)


def test_a_corrupt_model_file_is_rejected(folder):
    path = folder / "model.safetensors"
    data = bytearray(path.read_bytes())
    data[-5] ^= 1
    path.write_bytes(data)
    with pytest.raises(RecordError, match="damaged"):
        sl.models.load(folder)


def test_a_network_without_config_is_loaded_into_the_model_argument(toy, tmp_path):
    run = sl.train.fit(Linear(sl.nn.Linear(4, 2)), toy(), epochs=1, out=tmp_path / "run")
    loaded = sl.models.load(tmp_path / "run", model=Linear(sl.nn.Linear(4, 2)))
    weights = [dict(it.model.parameters())["layer.weight"].numpy() for it in (run, loaded)]
    assert (weights[0] == weights[1]).all()


def test_loading_a_network_without_config_needs_the_model_argument(toy, tmp_path):
    sl.train.fit(Linear(sl.nn.Linear(4, 2)), toy(), epochs=1, out=tmp_path / "run")
    with pytest.raises(ArgumentError, match=r"load\(folder, model=Net\(\)\)"):
        sl.models.load(tmp_path / "run")


def test_a_network_without_config_can_be_loaded_with_a_config(toy, tmp_path):
    run = sl.train.fit(LinearConfig(), toy(), epochs=1, out=tmp_path / "run")
    loaded = sl.models.load(tmp_path / "run", model=LinearConfig())
    weights = [dict(it.model.parameters())["layer.weight"].numpy() for it in (run, loaded)]
    assert (weights[0] == weights[1]).all()


def test_a_model_argument_that_is_not_a_network_is_named(toy, tmp_path):
    sl.train.fit(LinearConfig(), toy(), epochs=1, out=tmp_path / "run")
    with pytest.raises(ArgumentError, match="which model=dict does not give"):
        sl.models.load(tmp_path / "run", model={})


@pytest.mark.parametrize(
    "change",
    [
        {"batch_size": 0},
        {"batch_size": "64"},
        {"version": "1"},
        {"task": ["yes"]},
        {"task": {"class": "Classify", "version": 1, "columns": 3}},
        {"task": {"class": "Classify", "version": 1, "columns": ["yes", "yes"]}},
        {"task": {"class": "OneHot", "version": 1, "alphabet": "dna"}},
        {"encoder": {"class": "OneHot", "version": [], "alphabet": "dna"}},
        {"encoder": {"class": ["OneHot"]}},
        {"model": 7},
    ],
    ids=str,
)
def test_an_error_in_a_corrupt_config_names_the_file(folder, change):
    edit(folder, **change)
    with pytest.raises(ConfigError, match=r"run/config\.json: "):
        sl.models.load(folder)


def test_a_config_with_version_null_is_an_error_that_names_the_file(folder):
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"version": None}))
    with pytest.raises(ConfigError, match=r"config\.json: version must be"):
        sl.models.load(folder)


def test_the_error_for_a_folder_of_folds_suggests_one_fold(tmp_path):
    (tmp_path / "fold-1").mkdir()
    (tmp_path / "fold-1/config.json").write_text("{}")
    with pytest.raises(MissingFileError, match=r"expected a run folder, such as .*fold-1"):
        sl.models.load(tmp_path)


def test_a_model_stores_the_lengths_and_files_of_its_training_set(small, tmp_path):
    path = tmp_path / "train.fa"
    path.write_text(">a\nACGTA\n>b\nGGCCGGCC\n>c\nACGTAC\n")
    labels = {"a": "x", "b": "y", "c": "x"}
    data = sl.data.SequenceDataset(path, labels=labels, encoder=sl.encode.OneHot("dna"))
    sl.train.fit(small, data, epochs=1, out=tmp_path / "run")
    known = sl.models.load(tmp_path / "run").trained_on
    assert (known.records, known.lengths, known.files) == (3, (5, 8), ("train.fa",))


def test_a_folder_without_training_files_can_be_loaded(folder):
    edit(folder, trained_on=None)
    assert sl.models.load(folder).trained_on is None
