"""ONNX exports pass ONNX's checker, and ONNX Runtime computes the same scores."""

import json
from typing import Any

import numpy as np
import pytest

import seqloom as sl
from exported import batch_of
from exported_networks import (
    NETWORKS_OF_ANY_LENGTH,
    NETWORKS_OF_SOME_LENGTHS,
    Dilated,
    Tokens,
    draw_records,
    ready,
)
from seqloom import nn
from seqloom.errors import RunFolderError
from seqloom.infer._forward import Forward
from seqloom.tensor import apply
from seqloom.tensor._operations import OPERATIONS
from write_signatures import list_arguments

onnx = pytest.importorskip("onnx")
runtime: Any = pytest.importorskip("onnxruntime")

DNA_ENCODER = sl.encode.OneHot("dna")
TWO_CLASSES = sl.models.Classify(("no", "yes"))


def cnn(**options: Any):
    return sl.models.SequenceCNNConfig(channels=4, outputs=2, **options).build()


EXPORTED_NETWORKS = {"cnn": cnn, **NETWORKS_OF_ANY_LENGTH}
NETWORKS_OF_FIXED_LENGTH: dict[str, Any] = {
    "cnn of one length": lambda: cnn(length=24, pools=(1, 2, 2)),
    "aligned": lambda: cnn(length=24, aligned=4),
    **NETWORKS_OF_SOME_LENGTHS,
}


def run(path, arrays):
    """Run an ONNX file on the arrays that it reads, and return its outputs by name."""
    model: Any = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
    given = {it.name: arrays[it.name] for it in session.get_inputs()}
    names = [it.name for it in session.get_outputs()]
    return dict(zip(names, session.run(names, given), strict=True))


def wanted(model, batch, encoder):
    return Forward.of(model)(model, batch, encoder=encoder).numpy()


@pytest.mark.sample(5)
@pytest.mark.parametrize("lengths", [(24, 24), (9,), (24, 13, 30, 7)])
@pytest.mark.parametrize("name", EXPORTED_NETWORKS)
def test_onnx_runtime_gives_the_scores_of_predict(tmp_path, name, lengths):
    model, path = ready(EXPORTED_NETWORKS[name]()), tmp_path / "model.onnx"
    sl.export.onnx(model, path, encoder=DNA_ENCODER, task=TWO_CLASSES)
    batch = batch_of(DNA_ENCODER, draw_records(lengths))
    found, outputs = run(path, batch), wanted(model, batch, DNA_ENCODER)
    np.testing.assert_allclose(found["outputs"], outputs, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(found["scores"], TWO_CLASSES.activate(outputs), atol=1e-5)


@pytest.mark.parametrize("count", [1, 5])
@pytest.mark.parametrize("name", NETWORKS_OF_FIXED_LENGTH)
def test_networks_without_a_mask_have_equal_scores_in_onnx_runtime(tmp_path, name, count):
    model, path = ready(NETWORKS_OF_FIXED_LENGTH[name]()), tmp_path / "model.onnx"
    sl.export.onnx(model, path, encoder=DNA_ENCODER, task=TWO_CLASSES)
    batch = batch_of(DNA_ENCODER, draw_records([24] * count))
    del batch["mask"]
    found = run(path, batch)["outputs"]
    np.testing.assert_allclose(
        found, wanted(model, batch, DNA_ENCODER), rtol=1e-5, atol=1e-5
    )


@pytest.mark.parametrize("name", [it for it, line in OPERATIONS.items() if line.onnx])
def test_onnx_operators_have_a_valid_number_of_inputs(name):
    schema = onnx.defs.get_schema(OPERATIONS[name].onnx)
    assert schema.min_input <= len(list_arguments(name)[0]) <= schema.max_input


def test_an_onnx_graph_reads_integer_tokens(tmp_path):
    encoder, path = sl.encode.Integer("dna"), tmp_path / "model.onnx"
    model = ready(Tokens())
    sl.export.onnx(model, path, encoder=encoder)
    batch = batch_of(encoder, draw_records((9, 4)), "int32")
    found = run(path, batch)
    assert list(found) == ["outputs"]
    np.testing.assert_allclose(
        found["outputs"], wanted(model, batch, encoder), rtol=1e-5, atol=1e-5
    )


@pytest.mark.parametrize("covariates", [0, 2])
def test_onnx_genotype_scores_are_in_the_units_of_the_labels(tmp_path, covariates):
    config = sl.models.GenotypeMLPConfig(variants=7, outputs=1, covariates=covariates)
    model, path = ready(config.build()), tmp_path / "model.onnx"
    task = sl.models.Regress(("height",), mean=(170.0,), deviation=(9.0,))
    sl.export.onnx(model, path, inputs=("batch", 7 + covariates), task=task)
    x = np.random.default_rng(0).normal(size=(3, 7 + covariates)).astype("f4")
    found = run(path, {"inputs": x})["scores"]
    outputs = wanted(model, {"inputs": x}, None)
    np.testing.assert_allclose(found, task.activate(outputs), rtol=1e-5)


@pytest.mark.parametrize("lengths", [(9, 9), (5, 12, 7)])
def test_an_esm2_model_in_onnx_reads_padded_tokens(tmp_path, lengths):
    config = sl.models.ESM2Config(layers=2, width=16, heads=4)
    model, path = ready(config.build()), tmp_path / "esm.onnx"
    encoder = sl.encode.Tokens("esm2")
    sl.export.onnx(model, path, encoder=encoder)
    rng = np.random.default_rng(0)
    proteins = ["".join(rng.choice(list("ACDEFGHIKLMNPQRSTVWY"), it)) for it in lengths]
    longest = max(lengths) + 2
    ids = encoder.batch(proteins, length=longest)
    mask = (np.arange(longest) < np.array(lengths)[:, None] + 2).astype("f4")
    found = run(path, {"input_ids": ids, "mask": mask})["outputs"]
    expected = model(ids, mask=mask).numpy()
    real = mask > 0
    np.testing.assert_allclose(found[real], expected[real], rtol=1e-4, atol=1e-5)


def test_onnx_metadata_describe_encoder_and_task(tmp_path):
    path = tmp_path / "model.onnx"
    sl.export.onnx(ready(cnn(length=24)), path, encoder=DNA_ENCODER, task=TWO_CLASSES)
    model: Any = onnx.load(path)
    found = {it.key: json.loads(it.value) for it in model.metadata_props}
    assert found["classes"] == ["no", "yes"]
    assert found["task"] == {"name": "classify", "columns": ["no", "yes"]}
    assert found["encoder"]["kernel"]["kind"] == "one_hot"
    assert (found["length"], found["version"]) == (24, 1)


def test_onnx_weights_keep_the_names_of_the_model_record(tmp_path):
    path = tmp_path / "model.onnx"
    model = ready(Dilated())
    sl.export.onnx(model, path, encoder=DNA_ENCODER)
    loaded: Any = onnx.load(path)
    names = {it.name for it in loaded.graph.initializer}
    assert {it for it, _ in model.parameters()} <= names


class Placed(nn.Module):
    """A network that adds the index of each position, for inputs of one length."""

    layer: nn.Linear

    def __init__(self):
        self.layer = nn.Linear(5, 2)

    def __call__(self, x):
        places = x.backend.arange(x.shape[1], dtype="float32")
        return self.layer(x + sl.tensor.Tensor(places, x.backend))


def test_a_range_of_constant_size_is_exported_as_valid_onnx(tmp_path):
    model, path = ready(Placed()), tmp_path / "model.onnx"
    sl.export.onnx(model, path, inputs=("batch", 5))
    x = np.ones((3, 5), "f4")
    expected = model(model.backend.tensor(x)).numpy()
    found = run(path, {"inputs": x})["outputs"]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


class Masked(nn.Module):
    """A recurrent layer whose mask excludes every third position."""

    cells: nn.GRU | nn.LSTM

    def __init__(self, kind: type[nn.GRU | nn.LSTM]):
        self.cells = kind(4, 3, bidirectional=True)

    def __call__(self, x, mask):
        place = sl.tensor.Tensor(x.backend.arange(x.shape[2], dtype="int32"), x.backend)
        some = mask * apply("astype", place % 3, "float32")
        out, last = self.cells(x.permute_dims((0, 2, 1)), mask=some)
        state = last[0] if isinstance(last, tuple) else last
        return apply("concat", [out.sum(axis=1), state[0], state[1]], axis=1)


@pytest.mark.parametrize("kind", [nn.GRU, nn.LSTM])
def test_an_onnx_recurrent_layer_accepts_masks_with_gaps(tmp_path, kind):
    inputs = {"x": ("batch", 4, "length"), "mask": ("batch", "length")}
    model, path = ready(Masked(kind)), tmp_path / "model.onnx"
    sl.export.onnx(model, path, inputs=inputs)
    batch = batch_of(DNA_ENCODER, draw_records((9, 2, 1, 14)))
    arrays = {"x": batch["inputs"], "mask": batch["mask"]}
    expected = model(
        model.backend.tensor(arrays["x"]), model.backend.tensor(arrays["mask"])
    )
    found = run(path, arrays)["outputs"]
    np.testing.assert_allclose(found, expected.numpy(), rtol=1e-5, atol=1e-5)


class Holds(nn.Module):
    """A recurrent layer in one direction that returns the state at every position."""

    w_ih: nn.Param
    w_hh: nn.Param
    reverse: bool

    def __init__(self, *, reverse):
        self.w_ih = nn.Param((9, 4), nn.FanIn(4))
        self.w_hh = nn.Param((9, 3), nn.FanIn(3))
        self.reverse = reverse

    def __call__(self, x, hx, mask):
        weights = (self.w_ih.value, self.w_hh.value, None, None, mask > 0)
        states, *_ = apply("gru", x, hx, *weights, reverse=self.reverse)
        return states


@pytest.mark.parametrize("reverse", [False, True])
def test_an_onnx_recurrent_layer_repeats_states_at_masked_positions(tmp_path, reverse):
    given: Any = {"x": ("batch", "length", 4), "hx": ("batch", 3)}
    given["mask"] = ("batch", "length")
    model, path = ready(Holds(reverse=reverse)), tmp_path / "model.onnx"
    rng = np.random.default_rng(0)
    shapes = {"x": (5, 7, 4), "hx": (5, 3), "mask": (5, 7)}
    arrays = {it: rng.normal(size=shapes[it]).astype("f4") for it in given}
    arrays["mask"][0] = 0
    sl.export.onnx(Gapped(model), path, inputs=given)
    tensors = {name: model.backend.tensor(it) for name, it in arrays.items()}
    expected = Gapped(model)(**tensors).numpy()
    np.testing.assert_allclose(run(path, arrays)["outputs"], expected, 1e-5, 1e-5)


class Gapped(nn.Module):
    """A network that computes a mask, which the export must distinguish from the input."""

    inner: Holds

    def __init__(self, inner):
        self.inner = inner

    def __call__(self, x, hx, mask):
        return self.inner(x, hx, mask * 1.5)


def test_an_onnx_file_is_replaced_only_with_overwrite(tmp_path):
    path = tmp_path / "model.onnx"
    sl.export.onnx(ready(Dilated()), path, encoder=DNA_ENCODER)
    with pytest.raises(RunFolderError, match="overwrite"):
        sl.export.onnx(ready(Dilated()), path, encoder=DNA_ENCODER)
    sl.export.onnx(ready(Dilated()), path, encoder=DNA_ENCODER, overwrite=True)


class Many(nn.Module):
    """A network of operations that no other network in this file contains."""

    weight: nn.Param

    def __init__(self):
        self.weight = nn.Param((4,), nn.Fill(0.5))

    def __call__(self, x):
        rows = [x[:, 0], x[:, -1], x[:, 1, ::-1], x[:, 2, 3:9].sum(axis=-1, keepdims=True)]
        rows += [apply("flip", x[:, 3], axis=-1), apply("clip", x[:, 0], -0.2, 0.2)]
        rows += [apply(it, x[:, 1]) for it in ("square", "expm1", "log1p", "abs", "silu")]
        rows += [apply("softmax", x[:, 2], axis=-1), apply("log_softmax", x[:, 2])]
        rows += [apply("cumulative_sum", x[:, 3], axis=-1) % 0.3, x[:, 1] // 0.25]
        rows += [apply("where", apply("isfinite", x[:, 0]), x[:, 1], 0.0)]
        rows += [apply("take", x[:, 0], x.argmax(axis=1)[0] * 2, axis=1)]
        parts = [it.mean(axis=-1) for it in rows]
        one, *_ = apply("unstack", x, axis=1)
        total = apply("stack", [*parts, one.max(axis=1), x.std(axis=(1, 2))], axis=1)
        any_large = apply("astype", apply("any", x > 0.9, axis=(1, 2)), "float32")
        return total * any_large[:, None] + apply("rms_norm", x[:, :, 0], None, eps=1e-6)[
            0
        ].sum(axis=-1, keepdims=True)


def test_a_chain_of_operations_has_equal_results_in_onnx_runtime(tmp_path):
    model, path = ready(Many()), tmp_path / "model.onnx"
    sl.export.onnx(model, path, inputs=("batch", 4, "length"))
    x = np.random.default_rng(0).uniform(-0.9, 1, (3, 4, 17)).astype("f4")
    found = run(path, {"inputs": x})["outputs"]
    np.testing.assert_allclose(found, wanted(model, {"inputs": x}, None), 1e-4, 1e-5)
