"""Tests of ESM-2 with adapters: training, saved arrays, and finding the base network."""

import shutil
from typing import Any

import numpy as np
import pytest

import seqloom as sl
from fit_arguments import as_arguments
from seqloom.models._esm2_lora import _pool_packed

MOTIF_OF_CLASS = {"after": "WC", "before": "CW"}


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    folder = tmp_path_factory.mktemp("base") / "small"
    config = sl.models.ESM2Config(layers=2, width=32, heads=4)
    config.init("numpy", sl.Key(3)).save(folder)
    return folder


def make_proteins(count, seed):
    """Return proteins of several lengths; the label is the order of two residues."""
    rng = np.random.default_rng(seed)
    sequences, labels = {}, {}
    for number in range(count):
        length = int(rng.integers(14, 20))
        rest = "".join(rng.choice([*"ADEFGHIKLMNPQRSTVY"], length))
        place, label = int(rng.integers(0, length)), ["after", "before"][number % 2]
        sequences[f"p{number}"] = rest[:place] + MOTIF_OF_CLASS[label] + rest[place:]
        labels[f"p{number}"] = label
    encoder = sl.encode.Tokens("esm2")
    return sl.data.SequenceDataset(sequences, labels=labels, encoder=encoder)


@pytest.fixture(scope="module")
def parts():
    return make_proteins(500, 1), make_proteins(200, 2)


@pytest.fixture(scope="module")
def run(base, parts, tmp_path_factory):
    train, test = parts
    config = sl.models.ESM2LoRAConfig.for_data(train, base, hidden=(16,))
    out = tmp_path_factory.mktemp("run") / "lora"
    return fit(config, train, test, out=out), out


def fit(model, train, test, **options):
    settings: Any = {"epochs": 7, "batch_size": 32, "lr": 1e-2, "report": False}
    return sl.train.fit(model, train, **as_arguments(test=test, **settings, **options))


@pytest.mark.filterwarnings("ignore::seqloom.errors.NoSkillWarning")
def test_adapters_learn_a_task_that_a_frozen_network_cannot(run, base, parts):
    train, test = parts
    frozen = sl.models.ESM2LoRAConfig.for_data(train, base, hidden=(16,)).init("numpy")
    frozen.base.freeze()
    head_alone = fit(frozen, train, test).test.metrics["accuracy"]
    adapted = run[0].test.metrics["accuracy"]
    assert adapted > 0.95
    assert head_alone < 0.65


def test_only_adapters_and_head_are_saved(run, base):
    _, out = run
    written = sl.record.load(out / "model.safetensors")
    names = {path.rsplit(".", 1)[1] for path in written if path.startswith("base.")}
    assert names == {"down", "up"}
    numbers = sum(np.asarray(it).size for it in written.values())
    size = (out / "model.safetensors").stat().st_size
    assert size < 4 * numbers + 8192
    assert size < 0.65 * (base / "model.safetensors").stat().st_size
    checkpoint = sl.record.load(out / "checkpoint" / "last.safetensors")
    assert not any(path.endswith("qkv.weight") for path in checkpoint)


def test_a_loaded_run_gives_the_scores_of_training(run, parts):
    made, out = run
    again = sl.infer.predict(out, parts[1])
    np.testing.assert_array_equal(again.to_numpy(), made.test.scores.to_numpy())


def test_a_moved_base_network_is_named_and_found_with_base(run, base, tmp_path):
    _, out = run
    moved = tmp_path / "moved"
    shutil.copytree(base, moved)
    copy = tmp_path / "run"
    shutil.copytree(out, copy)
    text = (copy / "config.json").read_text()
    (copy / "config.json").write_text(text.replace(str(base), str(tmp_path / "gone")))
    with pytest.raises(sl.errors.MissingFileError, match=r"gone.*base=FOLDER.*--base"):
        sl.models.load(copy)
    found: Any = sl.models.load(copy, base=moved).model
    assert found.config.base == str(moved)


def test_a_base_network_with_other_weights_is_rejected(run, tmp_path):
    _, out = run
    other = sl.models.ESM2Config(layers=2, width=32, heads=4).init("numpy", sl.Key(4))
    other.save(tmp_path / "other")
    with pytest.raises(sl.errors.RecordError, match=r"other weights.*--base"):
        sl.models.load(out, base=tmp_path / "other")


def test_the_argument_base_is_rejected_for_a_network_without_adapters(small, tmp_path):
    task = sl.models.Classify(("no", "yes"))
    encoder = sl.encode.OneHot("dna")
    sl.models.Trained(small.init("numpy").eval(), encoder, task, 256).save(tmp_path / "cnn")
    with pytest.raises(sl.errors.ArgumentError, match=r"base .* is for adapters"):
        sl.models.load(tmp_path / "cnn", base=tmp_path)


@pytest.mark.parametrize("backend", ["numpy", "torch"])
def test_packed_and_padded_sequences_have_the_same_outputs(base, backend):
    model = sl.models.ESM2LoRAConfig(str(base), outputs=3).init(backend).eval()
    rows = [[0, 20, 15, 11, 2], [0, 4, 2], [0, 5, 6, 2]]
    padded = np.array([row + [1] * (5 - len(row)) for row in rows])
    packed = np.concatenate([np.array(row) for row in rows])
    tensor = model.backend.tensor
    one = model.logits(tensor(padded), mask=tensor((padded != 1).astype("float32")))
    other = model.logits(tensor(packed), tensor(np.array([0, 5, 8, 12])), 5)
    np.testing.assert_allclose(one.numpy(), other.numpy(), atol=1e-5)


@pytest.mark.parametrize("backend", ["numpy", "torch", "jax"])
def test_packed_sequences_are_pooled_separately(backend):
    tensor = sl.tensor.backend(backend).tensor
    hidden = np.random.default_rng(0).normal(size=(6, 3)).astype("float32")
    real = np.array([0, 1, 1, 0, 1, 0], "float32")
    found = _pool_packed(tensor(hidden), tensor(real), tensor(np.array([0, 4, 6])))
    expected = np.stack([hidden[1:3].mean(axis=0), hidden[4]])
    np.testing.assert_allclose(found.numpy(), expected, atol=1e-6)


def test_the_mean_hidden_state_is_over_residues_only(base, monkeypatch):
    config = sl.models.ESM2LoRAConfig(str(base), outputs=2, hidden=())
    model = config.init("numpy").eval()
    seen = []
    monkeypatch.setattr(model.head, "logits", lambda x, **_: seen.append(x.numpy()))
    ids = np.array([[0, 20, 15, 11, 2, 1, 1]])
    model.logits(model.backend.tensor(ids), mask=model.backend.tensor(ids != 1))
    plain = sl.models.ESM2.load(base)(ids[:, :5]).numpy()
    np.testing.assert_allclose(seen[0], plain[:, 1:4].mean(axis=1), atol=1e-5)


def test_an_esm2_model_rejects_another_encoder(base, splice):
    with pytest.raises(sl.errors.ArgumentError, match='Tokens\\("esm2"\\)'):
        sl.models.ESM2LoRAConfig.for_data(splice, base)


def test_a_resumed_run_ends_with_equal_adapters(base, parts, tmp_path):
    train = parts[0][:64]
    config = sl.models.ESM2LoRAConfig.for_data(train, base, rank=2)
    options: Any = {"batch_size": 16, "report": False}
    options["schedule"] = sl.optim.Constant(1e-3)
    whole = sl.train.fit(config, train, **as_arguments(epochs=3, **options))
    sl.train.fit(config, train, **as_arguments(epochs=1, out=tmp_path / "r", **options))
    later = sl.train.fit(
        config, train, **as_arguments(epochs=3, out=tmp_path / "r", resume=True, **options)
    )
    for path, array in whole.model.to_record().items():
        np.testing.assert_array_equal(later.model.to_record()[path], array)
