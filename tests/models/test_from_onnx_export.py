"""An imported ONNX file can be exported to a folder or to ONNX."""

import numpy as np
import pytest

import seqloom as sl
from exported import Run, operations
from exported_networks import Attention, Dilated, Recurrent, ready
from seqloom import nn
from seqloom.infer._forward import Forward

pytest.importorskip("onnx")
pytest.importorskip("torch")
from torch_exports import NETWORKS_AND_INPUTS, export

DNA_ENCODER = sl.encode.OneHot("dna")
INPUT_SHAPES = {
    "convolutions": (("batch", 4, "length"), (5, 4, 18)),
    "attention": (sl.export.Input(("batch", "length"), "int64"), (5, 17)),
}
SHAPES_OF_LAST_POSITION = ("batch", "length", 4), (5, 17, 4)


def letters(shape):
    """Return tokens or one-hot channels of a size that differs from the file's input."""
    rng = np.random.default_rng(0)
    if len(shape) == 2:
        return rng.integers(0, 7, shape)
    return (rng.random(shape) < 0.3).astype("float32")


@pytest.mark.parametrize("name", NETWORKS_AND_INPUTS)
def test_a_pytorch_file_is_exported_to_a_folder_with_bitwise_equal_results(tmp_path, name):
    net = sl.models.from_onnx(export(name, tmp_path)[1])
    inputs, shape = INPUT_SHAPES.get(name, SHAPES_OF_LAST_POSITION)
    sl.export.save(net, tmp_path / "net.seqloom", inputs=inputs)
    for size in (shape, (1, *shape[1:])):
        x = letters(size)
        found = Run(tmp_path / "net.seqloom")({"inputs": x})
        assert found.tobytes() == net(x).numpy().tobytes()


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_selecting_the_last_position_of_each_record_is_one_gather(tmp_path, kind):
    net = sl.models.from_onnx(export(kind, tmp_path)[1])
    sl.export.save(net, tmp_path / "net.seqloom", inputs=SHAPES_OF_LAST_POSITION[0])
    names = operations(tmp_path / "net.seqloom")
    assert names.count("take_along_axis") == 1
    assert not {"take", "stack", "permute_dims", "nonzero"}.intersection(names)


EXPORTED_NETWORKS = {
    "cnn": lambda: sl.models.SequenceCNNConfig(channels=4, outputs=2).build(),
    "dilated": Dilated,
    "lstm": lambda: Recurrent(nn.LSTM),
    "gru": lambda: Recurrent(nn.GRU),
    "attention": Attention,
}


@pytest.mark.parametrize("name", EXPORTED_NETWORKS)
def test_an_exported_onnx_file_can_be_imported(tmp_path, name):
    model, path = ready(EXPORTED_NETWORKS[name]()), tmp_path / "net.onnx"
    sl.export.onnx(model, path, encoder=DNA_ENCODER)
    net = sl.models.from_onnx(path, encoder=DNA_ENCODER)
    batch = {
        "inputs": DNA_ENCODER.batch(["ACGTACGTACGTA", "GGTTACAGGACCA"]),
        "mask": np.ones((2, 13), "float32"),
        "lengths": np.array([13, 13]),
    }
    found = net(**{it.name: batch[it.name] for it in net.graph.inputs})
    expected = Forward.of(model)(model, batch, encoder=DNA_ENCODER)
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-4, atol=1e-5)
