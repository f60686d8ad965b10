"""Every layer of sl.nn is exported to both formats, for any length and for one length."""

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest

import seqloom as sl
from exported_networks import ready
from seqloom import nn
from seqloom._rust._native import ExportedModel
from seqloom.tensor import apply

LAYERS_OF_SEQUENCES: dict[str, Callable[[], Any]] = {
    "AdaptiveAvgPool1d": lambda: nn.AdaptiveAvgPool1d(1),
    "AdaptiveMaxPool1d": lambda: nn.AdaptiveMaxPool1d(1),
    "AvgPool1d": lambda: nn.AvgPool1d(3, 2, 1),
    "AvgPool1d beyond the end": lambda: nn.AvgPool1d(3, 2, 1, ceil_mode=True),
    "AvgPool1d of a part": lambda: nn.AvgPool1d(2, 3, ceil_mode=True),
    "AvgPool1d without zeros": lambda: nn.AvgPool1d(3, 2, 1, count_include_pad=False),
    "BatchNorm1d": lambda: nn.BatchNorm1d(4),
    "Conv1d": lambda: nn.Conv1d(4, 6, 3, stride=2, padding=1, dilation=2, groups=2),
    "Conv1d as long": lambda: nn.Conv1d(4, 6, 4, padding="same"),
    "Conv1d mirrored": lambda: nn.Conv1d(4, 6, 4, padding="same", padding_mode="reflect"),
    "Conv1d in a ring": lambda: nn.Conv1d(4, 6, 3, padding=2, padding_mode="circular"),
    "Conv1d repeated": lambda: nn.Conv1d(4, 6, 3, padding=2, padding_mode="replicate"),
    "ConvTranspose1d": lambda: nn.ConvTranspose1d(4, 6, 3, 2, 1, 1),
    "Dropout": lambda: nn.Dropout(0.3),
    "ELU": nn.ELU,
    "Flatten": nn.Flatten,
    "GELU": nn.GELU,
    "GELU by tanh": lambda: nn.GELU("tanh"),
    "GLU": lambda: nn.GLU(1),
    "GroupNorm": lambda: nn.GroupNorm(2, 4),
    "GroupNorm of all": lambda: nn.GroupNorm(1, 4),
    "GroupNorm of each": lambda: nn.GroupNorm(4, 4),
    "GroupNorm alone": lambda: nn.GroupNorm(2, 4, affine=False),
    "Identity": nn.Identity,
    "LeakyReLU": nn.LeakyReLU,
    "LogSigmoid": nn.LogSigmoid,
    "LogSoftmax": lambda: nn.LogSoftmax(1),
    "MaxPool1d": lambda: nn.MaxPool1d(3, 2, 1),
    "MaxPool1d beyond the end": lambda: nn.MaxPool1d(3, 2, 1, ceil_mode=True),
    "MaxPool1d apart": lambda: nn.MaxPool1d(3, 2, 1, dilation=2),
    "PReLU": lambda: nn.PReLU(4),
    "ReLU": nn.ReLU,
    "Residual": lambda: nn.Residual(nn.Conv1d(4, 4, 3, padding=1)),
    "Sequential": lambda: nn.Sequential(nn.Conv1d(4, 4, 3), nn.ReLU()),
    "SiLU": nn.SiLU,
    "Sigmoid": nn.Sigmoid,
    "Softmax": lambda: nn.Softmax(1),
    "Softplus": nn.Softplus,
    "Softplus bent": lambda: nn.Softplus(2.0, 5.0),
    "Tanh": nn.Tanh,
    "Upsample": lambda: nn.Upsample(scale_factor=2),
    "Upsample by a fraction": lambda: nn.Upsample(scale_factor=1.5),
    "Upsample to a size": lambda: nn.Upsample(10, mode="nearest-exact"),
    "Upsample by lines": lambda: nn.Upsample(scale_factor=2, mode="linear"),
    "Upsample by lines to a size": lambda: nn.Upsample(10, mode="linear"),
    "Upsample from end to end": lambda: nn.Upsample(
        scale_factor=2, mode="linear", align_corners=True
    ),
}
LAYERS_OF_IMAGES: dict[str, Callable[[], Any]] = {
    "AvgPool2d": lambda: nn.AvgPool2d(3, 2, 1),
    "AvgPool2d without zeros": lambda: nn.AvgPool2d(3, 2, 1, count_include_pad=False),
    "BatchNorm2d": lambda: nn.BatchNorm2d(4),
    "Conv2d": lambda: nn.Conv2d(4, 6, 3, padding=1),
    "Conv2d mirrored": lambda: nn.Conv2d(4, 6, 3, padding=1, padding_mode="reflect"),
    "GroupNorm": lambda: nn.GroupNorm(2, 4),
    "MaxPool2d": lambda: nn.MaxPool2d(2),
    "MaxPool2d padded": lambda: nn.MaxPool2d(3, 2, 1),
    "Upsample": lambda: nn.Upsample(scale_factor=2),
    "Upsample by lines": lambda: nn.Upsample(scale_factor=2, mode="bilinear"),
}
LAYERS_OF_FEATURE_VECTORS: dict[str, Callable[[], Any]] = {
    "GRU": lambda: nn.GRU(4, 3),
    "LSTM": lambda: nn.LSTM(4, 3),
    "LayerNorm": lambda: nn.LayerNorm(4),
    "Linear": lambda: nn.Linear(4, 3),
    "LoRALinear": lambda: nn.add_lora(nn.Sequential(nn.Linear(4, 3)), 2),
    "MultiHeadAttention": lambda: nn.MultiHeadAttention(4, 2),
    "RMSNorm": lambda: nn.RMSNorm(4),
    "SelfAttention": lambda: nn.SelfAttention(4, 2),
    "TransformerEncoder": lambda: nn.TransformerEncoder(
        nn.TransformerEncoderLayer(4, 2, 8), 2
    ),
    "TransformerEncoderLayer": lambda: nn.TransformerEncoderLayer(4, 2, 8, rotary=100.0),
}
LAYERS_WITH_OTHER_INPUTS: dict[
    str, tuple[tuple[int | str, ...], tuple[int | str, ...], Any]
] = {
    "rows": (("batch", 4, "length"), ("batch", 4, 24), LAYERS_OF_SEQUENCES),
    "images": (("batch", 4, "length", 6), ("batch", 4, 12, 6), LAYERS_OF_IMAGES),
    "features": (("batch", "length", 4), ("batch", 24, 4), LAYERS_OF_FEATURE_VECTORS),
}
# Classes that are not layers, and integer layers (see test_networks and test_errors).
EXCLUDED_LAYERS = {"Buffer", "Embedding", "Int8Linear", "Module", "Param"}


class Each(nn.Module):
    """A network that concatenates the outputs of its layers for the same inputs."""

    layers: list[nn.Module]
    scale: nn.Param

    def __init__(self, layers):
        self.layers = layers
        self.scale = nn.Param((1,), nn.Fill(1.0))

    def __call__(self, inputs):
        return apply("concat", self.list_parts(inputs), axis=1)

    def list_parts(self, inputs):
        inputs = inputs * self.scale.value
        made = [_call(layer, inputs) for layer in self.layers]
        return [it.reshape(it.shape[0], -1) for it in made]


def _call(layer, inputs):
    is_attention = isinstance(layer, nn.MultiHeadAttention)
    found = layer(*[inputs] * 3) if is_attention else layer(inputs)
    return found[0] if isinstance(found, tuple) else found


def compare(network, names, run, shape, tolerance):
    """Compare the outputs of export and network, layer by layer."""
    rng = np.random.default_rng(0)
    for batch, length in ((2, 24), (1, 24)) if "length" not in shape else BATCH_AND_LENGTH:
        sizes = tuple({"batch": batch, "length": length}.get(it, it) for it in shape)
        x = rng.normal(size=cast("Any", sizes)).astype("f4")
        parts = [it.numpy() for it in network.list_parts(network.backend.tensor(x))]
        ends = np.cumsum([it.shape[1] for it in parts])[:-1]
        for name, found, part in zip(names, np.split(run(x), ends, 1), parts, strict=True):
            np.testing.assert_allclose(
                found, part, rtol=tolerance, atol=tolerance, err_msg=f"{name} at {sizes}"
            )


BATCH_AND_LENGTH = (2, 24), (3, 11), (1, 30)


def draw(table):
    """A network that contains all layers of a table."""
    return ready(Each([make() for make in table.values()]))


@pytest.mark.parametrize("is_open", [True, False], ids=["any length", "one length"])
@pytest.mark.parametrize("kind", LAYERS_WITH_OTHER_INPUTS)
def test_the_reference_reader_of_exports_computes_every_layer(tmp_path, kind, is_open):
    free, fixed, table = LAYERS_WITH_OTHER_INPUTS[kind]
    shape, network = free if is_open else fixed, draw(table)
    sl.export.save(network, tmp_path / "model", inputs=shape)
    model = ExportedModel(str(tmp_path / "model"))
    compare(network, table, lambda x: model.run({"inputs": x}, 1)[0], shape, 2e-6)


@pytest.mark.parametrize("is_open", [True, False], ids=["any length", "one length"])
@pytest.mark.parametrize("kind", LAYERS_WITH_OTHER_INPUTS)
def test_onnx_runtime_computes_every_exported_layer(tmp_path, kind, is_open):
    runtime: Any = pytest.importorskip("onnxruntime")
    free, fixed, table = LAYERS_WITH_OTHER_INPUTS[kind]
    shape, network, path = free if is_open else fixed, draw(table), tmp_path / "net.onnx"
    sl.export.onnx(network, path, inputs=shape)
    session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
    compare(network, table, lambda x: session.run(None, {"inputs": x})[0], shape, 2e-5)


def test_every_layer_of_sl_nn_is_exported_in_the_tests():
    layers = [it for it in nn.__all__ if isinstance(getattr(nn, it), type)]
    layers = {it for it in layers if issubclass(getattr(nn, it), nn.Module)}
    tested = {
        name.split()[0]
        for _, _, table in LAYERS_WITH_OTHER_INPUTS.values()
        for name in table
    }
    assert layers - EXCLUDED_LAYERS == tested
