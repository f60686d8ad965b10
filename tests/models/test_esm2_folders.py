"""ESM-2 folders of transformers are read, and transformers reads folders of seqloom."""

import json

import numpy as np
import pytest
import torch
import transformers
from safetensors.numpy import load_file, save_file

import seqloom as sl
from esm_networks import MASK, draw_proteins, make_huggingface, run_huggingface
from seqloom.errors import (
    ArgumentError,
    ConfigError,
    MissingFileError,
    RecordError,
)

MAX_ABSOLUTE_ERROR = 2e-5
RANDOM_PROTEINS = draw_proteins((6, 40, 21))


@pytest.fixture(scope="module")
def theirs():
    return make_huggingface("8M", layers=2)


@pytest.fixture(scope="module")
def expected(theirs):
    return run_huggingface(theirs, RANDOM_PROTEINS)


@pytest.fixture
def folder(theirs, tmp_path):
    theirs.save_pretrained(tmp_path / "esm")
    return tmp_path / "esm"


def change_arrays(folder, change):
    """Apply a function to the arrays of the weight file."""
    file = folder / "model.safetensors"
    save_file(change(load_file(file)), file, metadata={"format": "pt"})


def change_settings(folder, **values):
    """Change fields of config.json; None removes a field."""
    file = folder / "config.json"
    settings = {**json.loads(file.read_text()), **values}
    file.write_text(json.dumps({k: v for k, v in settings.items() if v is not ...}))


def logits_error(folder, expected, **options) -> float:
    """Return the largest absolute error of the logits of a folder."""
    model = sl.models.ESM2.load(folder, **options)
    logits = model.logits(model(*RANDOM_PROTEINS.packed)).numpy()
    return float(np.abs(logits - expected["logits"]).max())


def test_a_folder_in_several_files_is_read(theirs, tmp_path, expected):
    theirs.save_pretrained(tmp_path, max_shard_size="2MB")
    assert len(list(tmp_path.glob("model-*.safetensors"))) > 1
    assert logits_error(tmp_path, expected) < MAX_ABSOLUTE_ERROR


def test_a_folder_of_esm_model_gives_hidden_states_but_no_logits(
    theirs, tmp_path, expected
):
    theirs.esm.save_pretrained(tmp_path)
    model = sl.models.ESM2.load(tmp_path)
    hidden = model(*RANDOM_PROTEINS.packed)
    assert np.abs(hidden.numpy() - expected["hidden"][-1]).max() < MAX_ABSOLUTE_ERROR
    assert len(model.contacts(*RANDOM_PROTEINS.packed)) == 3
    with pytest.raises(ArgumentError, match="no head that predicts tokens"):
        model.logits(hidden)


@pytest.mark.parametrize(("weight", "bias"), [("gamma", "beta"), ("weight", "bias")])
def test_both_naming_schemes_of_layer_norm_arrays_are_read(folder, expected, weight, bias):
    def change(arrays):
        names = {".gamma": weight, ".weight": weight, ".beta": bias, ".bias": bias}
        return {
            f"{name.rpartition('.')[0]}.{names[name[name.rindex('.') :]]}"
            if "LayerNorm" in name or "layer_norm" in name
            else name: array
            for name, array in arrays.items()
        }

    change_arrays(folder, change)
    assert any(f"LayerNorm.{weight}" in name for name in sl.record.load(folder))
    assert logits_error(folder, expected) < MAX_ABSOLUTE_ERROR


def test_a_bfloat16_file_is_loaded_as_float32(theirs, tmp_path):
    half = make_huggingface("8M", layers=2).to(torch.bfloat16)
    half.save_pretrained(tmp_path)
    model = sl.models.ESM2.load(tmp_path)
    assert model.load_report.converted["layers.0.qkv.weight"] == ("bfloat16", "float32")
    rounded = run_huggingface(half.float(), RANDOM_PROTEINS)
    # The file has rotary rates that were rounded with the weights.
    logits = model.logits(model(*RANDOM_PROTEINS.packed)).numpy()
    assert np.abs(logits - rounded["logits"]).max() < MAX_ABSOLUTE_ERROR


def test_rotary_rates_in_the_file_are_used(folder, expected):
    exact = logits_error(folder, expected)

    def change(arrays):
        kept = {k: v for k, v in arrays.items() if "inv_freq" not in k}
        rates = next(v for k, v in arrays.items() if "inv_freq" in k)
        place = "esm.encoder.layer.{}.attention.self.rotary_embeddings.inv_freq"
        rounded = rates.astype(np.float16)
        return kept | {place.format(number): rounded for number in range(2)}

    change_arrays(folder, change)
    model = sl.models.ESM2.load(folder)
    rates = load_file(folder / "model.safetensors")
    first = next(v for k, v in rates.items() if "inv_freq" in k)
    assert model.rates.numpy().tolist() == first.astype(np.float32).tolist()
    assert logits_error(folder, expected) > exact
    half = sl.models.ESM2.load(folder, "torch").to("torch", "float16")
    assert half.rates.value.dtype == np.float32


def test_unused_arrays_in_an_esm2_folder_are_ignored(folder, expected):
    extra = {
        "lm_head.decoder.weight": np.zeros((33, 320), np.float32),
        "esm.embeddings.position_ids": np.arange(1026)[None],
        "esm.embeddings.position_embeddings.weight": np.zeros((1026, 320), np.float32),
        "esm.pooler.dense.bias": np.zeros(320, np.float32),
    }
    change_arrays(folder, lambda arrays: arrays | extra)
    assert logits_error(folder, expected) < MAX_ABSOLUTE_ERROR


def test_a_missing_array_of_esm2_is_an_error_that_names_it(folder):
    name = "esm.encoder.layer.1.attention.self.key.bias"
    change_arrays(folder, lambda arrays: {k: v for k, v in arrays.items() if k != name})
    with pytest.raises(RecordError, match=r"layer\.1\..*\.key\.bias is missing"):
        sl.models.ESM2.load(folder)


def test_an_esm2_array_of_the_wrong_shape_is_an_error_that_names_it(folder):
    name = "esm.encoder.layer.0.intermediate.dense.weight"
    change_arrays(folder, lambda arrays: arrays | {name: arrays[name][:9].copy()})
    with pytest.raises(RecordError, match=r"dense\.weight has shape \(9, 320\)"):
        sl.models.ESM2.load(folder)


def test_an_unknown_array_of_esm2_is_an_error_that_names_it(folder):
    change_arrays(folder, lambda arrays: arrays | {"esm.adapter": np.zeros(1, "f4")})
    with pytest.raises(RecordError, match="adapter is not an array of ESM-2"):
        sl.models.ESM2.load(folder)


@pytest.mark.parametrize(
    ("values", "phrase"),
    [
        ({"model_type": "bert"}, "model_type is 'bert'"),
        ({"position_embedding_type": "absolute"}, "position_embedding_type is 'absolute'"),
        ({"position_embedding_type": ...}, "position_embedding_type is 'absolute'"),
        ({"emb_layer_norm_before": True}, "emb_layer_norm_before is True"),
        ({"is_folding_model": True}, "is_folding_model is True"),
        ({"tie_word_embeddings": False}, "tie_word_embeddings is False"),
        ({"hidden_size": ...}, "lacks hidden_size"),
        ({"layer_norm_eps": ..., "vocab_size": None}, "lacks vocab_size, layer_norm_eps"),
        ({"num_hidden_layers": "six"}, "layers"),
        ({"num_attention_heads": 7}, "multiple of 2"),
    ],
)
def test_a_folder_with_settings_of_another_network_is_an_error(folder, values, phrase):
    change_settings(folder, **values)
    with pytest.raises((ConfigError, ArgumentError), match=phrase):
        sl.models.ESM2.load(folder)


def test_a_folder_without_settings_or_weights_is_an_error(folder):
    (folder / "model.safetensors").unlink()
    with pytest.raises(MissingFileError, match="contains no weights"):
        sl.models.ESM2.load(folder)
    (folder / "config.json").write_text("{")
    with pytest.raises(ConfigError, match="is not JSON"):
        sl.models.ESM2.load(folder)
    (folder / "config.json").unlink()
    with pytest.raises(MissingFileError, match=r"config\.json: no such file"):
        sl.models.ESM2.load(folder)


@pytest.mark.parametrize("kind", ["EsmForMaskedLM", "EsmModel"])
def test_transformers_reads_a_folder_that_seqloom_writes(theirs, tmp_path, expected, kind):
    source = theirs if kind == "EsmForMaskedLM" else theirs.esm
    source.save_pretrained(tmp_path / "theirs")
    sl.models.ESM2.load(tmp_path / "theirs").save(tmp_path / "ours")
    options = {"attn_implementation": "eager", "output_loading_info": True}
    plain = {} if kind == "EsmForMaskedLM" else {"add_pooling_layer": False}
    again, info = getattr(transformers, kind).from_pretrained(
        tmp_path / "ours", **options, **plain
    )
    assert not info["missing_keys"]
    assert not info["unexpected_keys"]
    found = run_huggingface(again.eval(), RANDOM_PROTEINS)
    assert np.abs(found["hidden"][-1] - expected["hidden"][-1]).max() < MAX_ABSOLUTE_ERROR
    assert np.abs(found["contacts"][1] - expected["contacts"][1]).max() < MAX_ABSOLUTE_ERROR


def test_a_saved_and_loaded_network_is_bitwise_equal(folder, tmp_path):
    model = sl.models.ESM2.load(folder)
    model.save(tmp_path / "again")
    again = sl.models.ESM2.load(tmp_path / "again")
    assert again.config == model.config
    for path, values in model.state_dict().items():
        assert (again.state_dict()[path] == values).all()


@pytest.mark.parametrize(
    "change", [{"num_hidden_layers": 10**9}, {"hidden_size": 2**30}, {"vocab_size": 2**31}]
)
def test_settings_larger_than_the_weights_are_rejected_before_allocation(tmp_path, change):
    sl.models.ESM2Config(layers=1, width=8, heads=2).init("numpy").save(tmp_path)
    path = tmp_path / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(RecordError, match="the weights do not fit"):
        sl.models.ESM2.load(tmp_path)


def test_an_unknown_dtype_is_an_error(folder):
    with pytest.raises(ArgumentError, match='dtype must be "float32"'):
        sl.models.ESM2.load(folder, dtype="float8")


def test_token_dropout_is_scaled_for_each_protein_separately(folder, theirs):
    ids = RANDOM_PROTEINS.each[1].copy()
    ids[2:30] = MASK  # most of the residues
    both = draw_proteins((ids.size, 12))
    both.each[0] = ids
    truth = run_huggingface(theirs, both)["logits"]
    model = sl.models.ESM2.load(folder)
    found = model.logits(model(*both.packed)).numpy()
    assert np.abs(found - truth).max() < MAX_ABSOLUTE_ERROR
