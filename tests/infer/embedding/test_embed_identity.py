"""Tests of the model's identity in a plan, and of padded batches of ESM-2."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import seqloom as sl
from seqloom.errors import ArgumentError, ConfigError
from seqloom.infer.embedding._model import identify_model


@pytest.fixture(autouse=True)
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("p.fa").write_text(">a\nMKTAYIAKQR\n>b\nMS\n>c\nMALWMRLLPLLALL\n")


def make(**settings):
    """Create a small ESM-2 with the same weights for all settings."""
    given: dict[str, Any] = {"layers": 2, "width": 16, "heads": 4, **settings}
    return sl.models.ESM2Config(**given).init("numpy", sl.Key(1))


@pytest.mark.parametrize(
    "settings", [{"heads": 2}, {"token_dropout": False}, {"eps": 1e-3}]
)
def test_the_identity_of_a_model_depends_on_its_settings(settings):
    changed = make(**settings, has_contact_head=False)
    sl.infer.embed(make(has_contact_head=False), "p.fa", out="e")
    with pytest.raises(ConfigError, match=next(iter(settings))):
        sl.infer.embed(changed, "p.fa", out="e")


def test_the_identity_of_a_model_includes_the_network_under_adapters():
    def adapt(key):
        model = sl.models.ESM2Config(layers=2, width=16, heads=4).init("numpy", key)
        return sl.nn.add_lora(model, rank=2, key=sl.Key(5))

    sl.infer.embed(adapt(sl.Key(1)), "p.fa", out="e")
    assert sl.infer.embed(adapt(sl.Key(1)), "p.fa", out="e").computed == 0
    with pytest.raises(ConfigError, match="model"):
        sl.infer.embed(adapt(sl.Key(2)), "p.fa", out="e")


@pytest.mark.parametrize("pool", ["mean", "none", "cls"])
def test_padded_and_packed_batches_have_the_same_embeddings(pool):
    for name, packing in (("packed", True), ("padded", False)):
        sl.infer.embed(make(), "p.fa", out=name, pool=pool, packing=packing)
    packed, padded = (sl.infer.load(name) for name in ("packed", "padded"))
    for ordinal in range(3):
        np.testing.assert_allclose(padded[ordinal], packed[ordinal], rtol=1e-4, atol=1e-5)


def test_a_packed_transformers_network_with_padded_batches_is_an_error():
    transformers = pytest.importorskip("transformers")
    shape = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 4}
    config = transformers.EsmConfig(vocab_size=33, pad_token_id=1, **shape)
    model = sl.models.packed_huggingface(transformers.EsmModel(config))
    with pytest.raises(ArgumentError, match="packing=False"):
        sl.infer.embed(model, "p.fa", out="e", packing=False)


def _scale(factor):
    """Return a function with a value in its closure."""

    def embed(batch):
        return batch["input_ids"][:, None].astype("float32") * factor

    return embed


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (lambda batch: batch["input_ids"][:, None] + 1.0, lambda batch: batch["x"] + 2.0),
        (_scale(1.0), _scale(2.0)),
        (_scale(np.ones(3, "f")), _scale(np.array([1, 1, 2], "f"))),
        (_scale((1, 2)), _scale((1, 3))),
    ],
    ids=["code", "number", "array", "tuple"],
)
def test_the_identity_of_a_function_depends_on_code_and_closure_values(first, second):
    assert identify_model(first) != identify_model(second)
    assert identify_model(first) == identify_model(first)


def test_a_function_has_the_same_identity_in_another_process():
    program = (
        "from seqloom.infer.embedding._model import identify_model\n"
        "def make(n):\n"
        "    def f(batch):\n"
        "        return f if batch in {'a', 'b', 'c'} else n\n"
        "    return f\n"
        "print(identify_model(make(3)))\n"
    )
    names = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(names) == 1
