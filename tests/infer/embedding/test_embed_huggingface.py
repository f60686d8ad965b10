"""Tests of packed embeddings with Hugging Face's ESM, compared with single sequences."""

from pathlib import Path

import numpy as np
import pytest
import torch

import seqloom as sl
from esm_networks import make_huggingface

TOLERANCE = 2e-5  # maximum absolute error in float32
AMINO_ACIDS = list("ACDEFGHIKLMNPQRSTVWY")
LAYER_NUMBERS = (0, 1, -1)


@pytest.fixture(scope="module")
def huggingface_network():
    return make_huggingface("8M", layers=2)


@pytest.fixture
def records(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    draw = np.random.default_rng(3)
    records = ["".join(draw.choice(AMINO_ACIDS, size)) for size in draw.integers(1, 70, 25)]
    Path("p.fa").write_text("".join(f">s{n}\n{it}\n" for n, it in enumerate(records)))
    return records


def run_alone(huggingface_network, record):
    """Return the hidden states of one protein, computed by Hugging Face's network alone."""
    tokens = torch.tensor(sl.encode.Tokens("esm2")(record)[None].astype("int64"))
    with torch.no_grad():
        states = huggingface_network.esm(tokens, output_hidden_states=True).hidden_states
    return [states[layer][0].numpy() for layer in LAYER_NUMBERS]


def test_embeddings_equal_hidden_states_of_each_protein_alone(huggingface_network, records):
    model = sl.models.packed_huggingface(huggingface_network)
    summary = sl.infer.embed(
        model,
        "p.fa",
        out="e",
        pool="none",
        layers=LAYER_NUMBERS,
        max_tokens=128,
        shard_size=10,
    )
    assert summary.records == 25
    found = sl.infer.load("e")
    for ordinal, record in enumerate(records):
        wanted = run_alone(huggingface_network, record)
        for layer, states in zip(LAYER_NUMBERS, wanted, strict=True):
            rows = found.get(ordinal, layer=layer)
            np.testing.assert_allclose(rows, states[1:-1], rtol=0, atol=TOLERANCE)


def test_an_embedding_job_continues_after_its_finished_shards(huggingface_network, records):
    model = sl.models.packed_huggingface(huggingface_network)
    sl.infer.embed(model, "p.fa", out="e", shard_size=10)
    before = Path("e/shard-000001.safetensors").read_bytes()
    Path("e/shard-000001.done").unlink()
    Path("e/complete.json").unlink()
    again = sl.infer.embed(
        sl.models.packed_huggingface(huggingface_network), "p.fa", out="e", shard_size=10
    )
    assert again.computed == 1
    assert Path("e/shard-000001.safetensors").read_bytes() == before


def change_weight(network):
    """Change one weight of a network."""
    with torch.no_grad():
        network.esm.encoder.layer[1].output.dense.bias[3] += 1e-3


def change_setting(network):
    """Change a setting that does not affect the weights."""
    network.config.layer_norm_eps = 1e-3


@pytest.mark.parametrize("change", [change_weight, change_setting])
def test_embeddings_of_another_network_in_the_same_folder_are_an_error(records, change):
    network = make_huggingface("8M", layers=2)
    sl.infer.embed(sl.models.packed_huggingface(network), "p.fa", out="e")
    change(network)
    with pytest.raises(sl.errors.ConfigError, match="another plan: model"):
        sl.infer.embed(sl.models.packed_huggingface(network), "p.fa", out="e")


def test_batches_of_a_seqloom_loader_can_be_embedded(huggingface_network, records):
    model = sl.models.packed_huggingface(huggingface_network)
    collate = sl.data.VarlenCollator(tokens=sl.encode.Tokens("esm2"), max_tokens=200)
    loader = sl.data.create_async_dataloader("p.fa", collate_fn=collate, num_workers=0)
    seen: list[int] = []
    for batch in loader:
        states = model.embed(batch)[-1].numpy()
        bounds = batch["cu_seqlens"]
        for ordinal, first, stop in zip(
            batch["ordinals"], bounds[:-1], bounds[1:], strict=True
        ):
            wanted = run_alone(huggingface_network, records[ordinal])[-1]
            np.testing.assert_allclose(states[first:stop], wanted, rtol=0, atol=TOLERANCE)
            seen.append(int(ordinal))
    assert sorted(seen) == list(range(25))
