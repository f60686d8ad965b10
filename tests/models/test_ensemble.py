"""Ensembles: several networks that are trained together and predict as one model."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import seqloom as sl
from exported import Run
from seqloom.cli import main
from seqloom.errors import ArgumentError
from seqloom.models import EnsembleConfig, GenotypeMLPConfig, SequenceCNNConfig
from seqloom.train._loss import BatchLoss

CONFIG = SequenceCNNConfig(channels=4, outputs=2, length=12, widths=(8,), kernel_size=3)


def toy_data(count=40):
    """Return sequences whose class is their first base."""
    random = np.random.default_rng(0)
    texts = ["".join(random.choice(list("ACGT"), 12)) for _ in range(count)]
    labels = {f"r{it}": "yes" if text[0] in "AC" else "no" for it, text in enumerate(texts)}
    found = dict(zip(labels, texts, strict=True))
    return sl.data.SequenceDataset(found, labels=labels, encoder=sl.encode.OneHot("dna"))


@pytest.fixture
def run(tmp_path):
    """A finished run of three members in a folder."""
    data = toy_data()
    config = EnsembleConfig.of(CONFIG, 3)
    return sl.train.fit(config, data[:30], data[30:], epochs=2, out=tmp_path / "run")


def test_the_outputs_of_an_ensemble_are_the_mean_of_those_of_its_members():
    model = EnsembleConfig.of(CONFIG, 3).init("numpy", sl.Key(1)).eval()
    x = model.backend.tensor(toy_data().batch(np.arange(5))["inputs"])
    members = [member.logits(x).numpy() for member in model.members]
    np.testing.assert_allclose(model.logits(x).numpy(), np.mean(members, axis=0), rtol=1e-5)


def test_ensemble_members_have_different_initial_weights():
    model = EnsembleConfig.of(CONFIG, 2).init("numpy", sl.Key(1)).eval()
    x = model.backend.tensor(toy_data().batch(np.arange(5))["inputs"])
    one, two = (member.logits(x).numpy() for member in model.members)
    assert np.abs(one - two).max() > 1e-3


def test_the_loss_of_an_ensemble_is_the_mean_of_the_losses_of_its_members():
    model = EnsembleConfig.of(CONFIG, 3).init("numpy", sl.Key(1)).train()
    task = sl.models.Classify(("no", "yes"))
    objective = BatchLoss(loss=task.loss, task=task, encoder=sl.encode.OneHot("dna"))
    arrays = objective.prepare(model, toy_data().batch(np.arange(8)))
    key = sl.Key(2)
    alone = [
        float(objective(member, arrays, key.fold(number))[0].numpy())
        for number, member in enumerate(model.members)
    ]
    loss, outputs = objective(model, arrays, key)
    assert float(loss.numpy()) == pytest.approx(np.mean(alone), rel=1e-6)
    assert outputs.shape == (8, 2)


def test_a_loaded_ensemble_predicts_the_same_bits(run):
    data = toy_data()
    expected = sl.infer.predict(run.trained, data).to_numpy()
    loaded: Any = sl.models.load(run.folder)
    assert loaded.model.config == EnsembleConfig.of(CONFIG, 3)
    np.testing.assert_array_equal(sl.infer.predict(loaded, data).to_numpy(), expected)


def test_an_exported_ensemble_gives_the_same_bits(run, tmp_path):
    sl.export.save(run.trained, tmp_path / "model")
    batch = toy_data().batch(np.arange(run.trained.batch_size) % 40)
    model = run.model
    expected = model.logits(model.backend.tensor(batch["inputs"])).numpy()
    found = Run(tmp_path / "model")({"inputs": batch["inputs"]})
    np.testing.assert_array_equal(found, expected)


def test_an_ensemble_is_explained_as_one_model(run):
    found = sl.infer.explain(run.trained, toy_data()[:2])
    assert len(found) == 2


def test_a_stopped_run_resumes_to_the_same_weights(run, tmp_path):
    class Stop:
        def on_batch(self, step):
            if (step.epoch, step.batch) == (2, 2):
                raise KeyboardInterrupt

    data, out = toy_data(), tmp_path / "stopped"
    settings: Any = {"epochs": 2, "batch_size": 8}
    config = EnsembleConfig.of(CONFIG, 3)
    whole = sl.train.fit(config, data[:30], data[30:], **settings)
    with pytest.raises(KeyboardInterrupt):
        sl.train.fit(config, data[:30], data[30:], out=out, callbacks=[Stop()], **settings)
    resumed = sl.train.fit(config, data[:30], data[30:], out=out, resume=True, **settings)
    pair = (it.model.to_record() for it in (whole, resumed))
    one, two = ({name: np.asarray(it[name]) for name in it} for it in pair)
    assert one.keys() == two.keys()
    for name, weights in one.items():
        np.testing.assert_array_equal(weights, two[name])


def test_ensemble_members_may_have_different_settings():
    other = SequenceCNNConfig(channels=4, outputs=2, widths=(6,), kernel_size=5)
    config = EnsembleConfig((CONFIG, other))
    assert config.length == 12
    model = config.init("numpy").eval()
    x = model.backend.tensor(np.zeros((3, 4, 12), np.float32))
    assert model.logits(x).shape == (3, 2)


def test_members_of_different_lengths_are_rejected():
    longer = replace(CONFIG, length=20)
    with pytest.raises(ArgumentError, match="the lengths 12, 20"):
        EnsembleConfig((CONFIG, longer))


def test_a_member_learns_with_sgd_as_fast_as_a_single_network():
    data = sl.data.SequenceDataset(
        {"a": "ACGTACGTACGT", "b": "TTTTACGAACGT"},
        labels={"a": "x", "b": "y"},
        encoder=sl.encode.OneHot("dna"),
    )
    config = replace(CONFIG, dropout=0.0)
    single, ensemble = config.init("numpy"), EnsembleConfig.of(config, 2).init("numpy")
    own = single.to_record()
    paths = {f"members.{number}.{path}": own[path] for number in (0, 1) for path in own}
    ensemble.load_record(paths)
    settings: Any = {"epochs": 1, "lr": sl.optim.Constant(0.1)}
    for model in (single, ensemble):
        sl.train.fit(model, data, optimizer=sl.optim.SGD(), **settings)
    found = ensemble.to_record()
    for path, array in single.to_record().items():
        np.testing.assert_allclose(found[f"members.1.{path}"], array, atol=1e-6)


def test_networks_of_genotypes_form_an_ensemble():
    config = EnsembleConfig.of(GenotypeMLPConfig(variants=6, outputs=1, hidden=(4,)), 2)
    model = config.init("numpy").eval()
    assert model.logits(model.backend.tensor(np.ones((3, 6), np.float32))).shape == (3, 1)


def test_settings_are_restored_from_json():
    config = EnsembleConfig.of(CONFIG, 2)
    assert sl.nn.Config.from_dict(json.loads(json.dumps(config.to_dict()))) == config


@pytest.mark.parametrize(
    "members",
    [(CONFIG,), (CONFIG, SequenceCNNConfig(channels=4, outputs=3))],
    ids=["one", "different outputs"],
)
def test_an_ensemble_of_one_member_or_different_outputs_is_an_error(members):
    with pytest.raises(ArgumentError, match="members must be the settings of"):
        EnsembleConfig(members)


def test_the_command_line_trains_an_ensemble(tmp_path):
    random = np.random.default_rng(0)
    texts = ["".join(random.choice(list("ACGT"), 12)) for _ in range(60)]
    fasta, table, out = (tmp_path / name for name in ("a.fa", "a.tsv", "run"))
    fasta.write_text("".join(f">r{it}\n{text}\n" for it, text in enumerate(texts)))
    rows = (
        f"r{it}\t{'yes' if text[0] in 'AC' else 'no'}\n" for it, text in enumerate(texts)
    )
    table.write_text("id\tlabel\n" + "".join(rows))
    settings = ["--alphabet", "dna", "--members", "2", "--epochs", "1"]
    arguments = ["--labels", str(table), "--out", str(out), *settings]
    with pytest.raises(SystemExit, match="0"):
        main(["train", str(fasta), *arguments])
    model: Any = sl.models.load(out).model
    assert len(model.members) == 2
