"""Exported networks and `evaluate` give bitwise equal results for any input size."""

import numpy as np
import pytest

import seqloom as sl
from exported import Run, batch_of, graph, manifest, operations
from exported_networks import (
    NETWORKS_OF_ANY_LENGTH,
    NETWORKS_OF_SOME_LENGTHS,
    Recurrent,
    Short,
    Tokens,
    draw_records,
    ready,
)
from onnx_graphs import floats, node, save
from seqloom import nn
from seqloom.infer._forward import Forward

DNA_ENCODER = sl.encode.OneHot("dna")
EXPORTED_NETWORKS = {**NETWORKS_OF_ANY_LENGTH, **NETWORKS_OF_SOME_LENGTHS}


def check(model, place, encoder, lengths, dtype="float32"):
    """Test that the exported model and `evaluate` compute bitwise equal results."""
    batch = batch_of(encoder, draw_records(lengths), dtype)
    name = "graph.json"
    if batch["mask"].all():
        del batch["mask"]
        has_two = (place / "graph-unpadded.json").exists()
        name = "graph-unpadded.json" if has_two else name
    found = Run(place, name)(batch)
    wanted = Forward.of(model)(model, batch, encoder=encoder).numpy()
    assert found.tobytes() == wanted.tobytes()


@pytest.mark.sample(5)
@pytest.mark.parametrize("name", EXPORTED_NETWORKS)
@pytest.mark.parametrize("lengths", [(24, 24, 24), (16,), (24, 16, 32, 24, 8 * 9)])
def test_the_reference_reader_is_bitwise_equal_to_predict(tmp_path, name, lengths):
    model, place = ready(EXPORTED_NETWORKS[name]()), tmp_path / "model"
    sl.export.save(model, place, encoder=DNA_ENCODER)
    check(model, place, DNA_ENCODER, lengths)


@pytest.mark.parametrize("kind", [Tokens, Short])
@pytest.mark.parametrize("lengths", [(9, 9), (5, 12, 7)])
def test_an_exported_graph_reads_integer_tokens(tmp_path, kind, lengths):
    encoder, model, place = sl.encode.Integer("dna"), ready(kind()), tmp_path / "model"
    sl.export.save(model, place, encoder=encoder)
    assert graph(place)["inputs"][0]["dtype"] == "int32"
    check(model, place, encoder, lengths, "int32")


def test_a_network_with_a_mask_is_exported_as_two_graphs(tmp_path):
    sl.export.save(ready(Recurrent()), tmp_path / "model", encoder=DNA_ENCODER)
    names = [it["name"] for it in graph(tmp_path / "model")["inputs"]]
    plain = graph(tmp_path / "model", "graph-unpadded.json")["inputs"]
    plain = [it["name"] for it in plain]
    assert (names, plain) == (["inputs", "mask"], ["inputs"])


def test_each_direction_of_a_recurrent_layer_is_one_graph_operation(tmp_path):
    sl.export.save(ready(Recurrent()), tmp_path / "model", encoder=DNA_ENCODER)
    assert operations(tmp_path / "model").count("lstm") == 2


def packed(lengths, seed=0):
    """Return packed tokens, and the start of each record."""
    rng = np.random.default_rng(seed)
    ids = rng.integers(4, 24, sum(lengths)).astype("int32")
    return ids, np.cumsum([0, *lengths]).astype("int32")


@pytest.mark.parametrize("lengths", [(9,), (5, 12, 7)])
def test_esm2_is_exported_for_packed_tokens(tmp_path, lengths):
    model = sl.models.ESM2Config(layers=2, width=16, heads=4).init("numpy").eval()
    place = tmp_path / "esm"
    sl.export.save(model, place, encoder=sl.encode.Tokens("esm2"), pool="mean")
    facts = manifest(place)
    assert (facts["layout"], facts["pool"]) == ("packed", "mean")
    ids, starts = packed(lengths)
    arrays = {"input_ids": ids, "cu_seqlens": starts}
    found = Run(place)(arrays, sequences=len(lengths), longest=max(lengths))
    wanted = model(ids, starts, max(lengths)).numpy()
    assert found.tobytes() == wanted.tobytes()


def test_a_network_with_adapters_can_be_exported(tmp_path):
    model = sl.models.ESM2Config(layers=1, width=16, heads=4).init("numpy").eval()
    sl.nn.add_lora(model, 2, key=sl.Key(0))
    sl.export.save(model, tmp_path / "esm", encoder=sl.encode.Tokens("esm2"))
    ids, starts = packed((5, 4))
    arrays = {"input_ids": ids, "cu_seqlens": starts}
    found = Run(tmp_path / "esm")(arrays, sequences=2, longest=5)
    assert found.tobytes() == model(ids, starts, 5).numpy().tobytes()


def test_exporting_a_network_from_onnx_keeps_its_settings(tmp_path):
    pytest.importorskip("onnx")
    nodes = [node("Flatten", "x", ("a",)), node("MatMul", "a weight")]
    path, x = tmp_path / "net.onnx", {"x": np.zeros((1, 4, 6), np.float32)}
    save(path, nodes, x, weights={"weight": floats(24, 2)})
    net = sl.models.from_onnx(path, encoder=DNA_ENCODER, length=6, pair="sum").eval()
    sl.export.save(net, tmp_path / "model")
    facts = manifest(tmp_path / "model")
    kept = {name: facts[name] for name in ("length", "crop", "pair")}
    assert kept == {"length": 6, "crop": "pad", "pair": "sum"}
    batch = DNA_ENCODER.batch(draw_records((6, 6, 6)))
    found = Run(tmp_path / "model")({"inputs": batch})
    assert found.tobytes() == net.logits(batch).numpy().tobytes()


def test_an_export_for_records_padded_to_one_length_reads_a_mask(tmp_path):
    model, place = ready(Recurrent()), tmp_path / "model"
    sl.export.save(model, place, encoder=DNA_ENCODER, length=12, crop="pad")
    shapes = {it["name"]: it["shape"] for it in graph(place)["inputs"]}
    assert shapes == {"inputs": ["batch", 4, 12], "mask": ["batch", 12]}
    batch = batch_of(DNA_ENCODER, draw_records((12, 5, 7)))
    found = Run(place)(batch)
    wanted = Forward.of(model)(model, batch, encoder=DNA_ENCODER).numpy()
    assert found.tobytes() == wanted.tobytes()


class Shares(nn.Module):
    """A network that divides sums by the length, which is an integer."""

    head: nn.Linear

    def __init__(self):
        self.head = nn.Linear(4, 2)

    def __call__(self, x):
        return self.head(x.sum(axis=-1) / x.shape[2])


@pytest.mark.parametrize("lengths", [(7, 7), (12,)])
def test_a_network_that_divides_a_sum_by_the_length_can_be_exported(tmp_path, lengths):
    model, place = ready(Shares()), tmp_path / "model"
    sl.export.save(model, place, encoder=DNA_ENCODER)
    check(model, place, DNA_ENCODER, lengths)


def test_a_protein_model_with_a_head_is_exported_for_padded_tokens(tmp_path):
    sl.models.ESM2Config(layers=1, width=16, heads=4).init("numpy").save(tmp_path / "base")
    config = sl.models.ESM2LoRAConfig(str(tmp_path / "base"), outputs=2)
    model, encoder = config.init("numpy").eval(), sl.encode.Tokens("esm2")
    sl.export.save(model, tmp_path / "model", encoder=encoder)
    lengths = np.array([5, 12])
    inputs = encoder.batch(["MKV", "MKVLLTACDE"], length=12).astype("i4")
    batch = {"inputs": inputs, "lengths": lengths}
    batch["mask"] = (np.arange(12) < lengths[:, None]).astype("f4")
    found = Run(tmp_path / "model")(batch)
    assert (
        found.tobytes()
        == Forward.of(model)(model, batch, encoder=encoder).numpy().tobytes()
    )
