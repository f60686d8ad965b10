"""Exported networks, run by Rust: the bits of the evaluation loop."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import seqloom as sl
from exported import batch_of
from exported_networks import (
    OF_ANY_LENGTH,
    OF_SOME_LENGTHS,
    draw_records,
    ready,
)
from seqloom._rust import _native
from seqloom.infer._forward import Forward

DNA = sl.encode.OneHot("dna")
CNN = Path(__file__).parent / "data" / "version_1_cnn"
NETWORKS = {
    **OF_ANY_LENGTH,
    **OF_SOME_LENGTHS,
    "cnn": lambda: sl.models.SequenceCNNConfig(channels=4, outputs=3).build(),
}


# Positions by NumPy's sine and cosine, which differ from Rust's in their last bits.
CLOSE = frozenset({"attention", "rotary"})


def open_model(place, **options):
    """The model, and the names of its inputs."""
    model = _native.ExportedModel(str(place), **options)
    return model, {it["name"] for it in json.loads(model.facts)["inputs"]}


def given(batch, names):
    """The arrays of a batch that a model reads; no mask where nothing is padded."""
    if batch["mask"].all():
        names = names - {"mask"}
    return {name: np.ascontiguousarray(batch[name]) for name in names}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("lengths", [(24, 24, 24), (16,), (24, 16, 32, 24, 72)])
def test_rust_gives_the_bits_of_predict(tmp_path, name, lengths, threads):
    network = ready(NETWORKS[name]())
    sl.export.save(network, tmp_path / "model", encoder=DNA)
    model, names = open_model(tmp_path / "model")
    batch = batch_of(DNA, draw_records(lengths), "float32")
    (found,) = model.run(given(batch, names), threads)
    if batch["mask"].all():
        del batch["mask"]
    wanted: Any = Forward.of(network)(network, batch, encoder=DNA).numpy()
    if name in CLOSE:
        np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-6)
    else:
        assert found.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("lengths", [(9,), (5, 12, 7)])
def test_rust_runs_packed_esm2(tmp_path, lengths):
    network = sl.models.ESM2Config(layers=2, width=16, heads=4).init("numpy").eval()
    sl.export.save(network, tmp_path / "esm", encoder=sl.encode.Tokens("esm2"), pool="mean")
    ids = np.random.default_rng(0).integers(4, 24, sum(lengths)).astype("int32")
    starts = np.cumsum([0, *lengths]).astype("int32")
    model, _ = open_model(tmp_path / "esm")
    (found,) = model.run({"input_ids": ids, "cu_seqlens": starts}, 1)
    wanted = network(ids, starts, max(lengths)).numpy()
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=2e-6)


@pytest.mark.parametrize("name", ["cnn", "lstm"])
def test_rust_gives_the_scores_of_a_golden_export(name):
    place = CNN.with_name(f"version_1_{name}")
    model, names = open_model(place)
    lengths = (30, 24, 30, 17, 9)
    with sl.io.open_sequences(Path(sl.__file__).parent / "_demo/test.fa.gz") as reader:
        found = [bytes(it.sequence) for it, _ in zip(reader, lengths, strict=False)]
    cut = [it[:length].decode() for it, length in zip(found, lengths, strict=True)]
    wanted = json.loads(place.with_suffix(".json").read_text())
    task = sl.models.Classify(("EI", "IE", "N"))
    scores = task.activate(model.run(given(batch_of(DNA, cut), names), 1)[0])
    np.testing.assert_allclose(scores, np.array(wanted), rtol=1e-5, atol=1e-6)


def test_a_model_that_is_larger_than_the_limit_is_refused():
    with pytest.raises(sl.errors.MemoryLimitError, match="larger limit"):
        open_model(CNN, memory_limit=1000)
    model, names = open_model(CNN, memory_limit=200_000)
    with pytest.raises(sl.errors.SeqloomError, match="larger limit"):
        model.run({"inputs": np.zeros((4000, 4, 30), np.float32)}, 1)
    assert "inputs" in names


def test_an_input_of_another_type_is_named():
    model, _ = open_model(CNN)
    with pytest.raises(sl.errors.ArgumentError, match="inputs: expected float32"):
        model.run({"inputs": np.zeros((1, 4, 30))}, 1)
    with pytest.raises(sl.errors.ArgumentError, match="is no input"):
        model.run({"reads": np.zeros((1, 4, 30), np.float32)}, 1)
