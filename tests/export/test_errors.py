"""Networks that cannot be exported: errors that name the line and the remedy."""

import inspect
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import seqloom as sl
from exported_networks import ready
from seqloom.errors import ArgumentError, ExportError, ShapeError
from seqloom.nn import functional as F
from seqloom.tensor import apply

PATH_OF_THIS_FILE = Path(__file__)
INPUT_SHAPE = ("batch", 4, "length")


class Head(sl.nn.Module):
    """Base class of the networks below: a linear layer over the mean of positions."""

    layer: sl.nn.Linear

    def __init__(self):
        self.layer = sl.nn.Linear(4, 2)

    def finish(self, x):
        return self.layer(x.mean(axis=-1))


class Branches(Head):
    def __call__(self, x):
        if x.sum() > 0:  # here
            x = x * 2
        return self.finish(x)


class ReadsValues(Head):
    def __call__(self, x):
        return self.finish(x * x.numpy().max())  # here


class KeepsSome(Head):
    def __call__(self, x):
        return self.finish(x) + x[x > 0].sum()  # here


class DependsOnLength(Head):
    def __call__(self, x):
        if x.shape[2] > 2500:
            x = apply("relu", x)  # here
        return self.finish(x)


class Loops(Head):
    def __call__(self, x):
        out = x[:, :, 0]
        for position in range(1, x.shape[2], 4):
            out = out + x[:, :, position]  # here
        return self.layer(out)


class Scans(Head):
    def __call__(self, x):
        rows = apply("permute_dims", x, (2, 0, 1))
        b = x.backend

        def step(carry, seen):
            return [b.add(carry[0], seen[0])], []

        (total,), _ = b.scan(step, [rows[0].raw], [rows.raw], length=x.shape[2])  # here
        return self.layer(sl.tensor.Tensor(total, b))


class UsesNumbers(Head):
    def __call__(self, x):
        return self.layer(x.sum(axis=-1) * (1.5 / x.shape[2]))  # here


class UsesArrays(Head):
    def __call__(self, x):
        return self.finish(x * np.linspace(0, 1, x.shape[2], dtype="f4"))  # here


class UsesAnArrayOrANumber(Head):
    def __call__(self, x):
        more = np.ones((4, 1), "f4") if x.shape[2] > 100 else 1.0
        return self.finish(x + more)  # here


class SquaresLength(Head):
    def __call__(self, x):
        order = x.shape[2].bit_length() * 3 + x.shape[2] % 7
        return self.finish(x[:, :, :order])  # here


class ReadsOthers(Head):
    def __call__(self, x):
        return self.finish(x) + UNRELATED_LAYER.weight.value.sum()  # here


UNRELATED_LAYER = sl.nn.Linear(2, 2).bind("numpy", sl.Key(0))


class Calls(Head):
    def __call__(self, x):
        return self.finish(np.exp(x))  # here


class Draws(Head):
    def __call__(self, x):
        return self.finish(x * random.random())  # noqa: S311  # here


def made(kind: Any) -> Any:
    """Return a network with new random weights."""
    return ready(kind())


def find_line(kind):
    """Return the line number of the comment "here" in a class."""
    lines, first = inspect.getsourcelines(kind)
    return first + next(i for i, line in enumerate(lines) if "# here" in line)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (Branches, "sl.tensor.where"),
        (ReadsValues, "read no values"),
        (KeepsSome, "depends on values"),
        (DependsOnLength, "length="),
        (Scans, "sl.nn.LSTM"),
        (UsesNumbers, "depends on the sizes of the batch"),
        (UsesArrays, "x.backend.arange"),
        (UsesAnArrayOrANumber, "x.backend.arange"),
        (SquaresLength, "use the shape"),
        (ReadsOthers, "keep parameters in the module"),
        (Calls, "computes with tensors"),
        (Draws, "computes with tensors"),
    ],
)
def test_an_export_error_names_the_source_line_and_a_remedy(tmp_path, kind, words):
    with pytest.raises(ExportError) as caught:
        sl.export.save(made(kind), tmp_path / "model", inputs=INPUT_SHAPE)
    assert f"{PATH_OF_THIS_FILE}:{find_line(kind)}" in str(caught.value)
    assert words in str(caught.value)
    assert "compiled" not in str(caught.value)


def test_a_failed_export_leaves_no_files(tmp_path):
    with pytest.raises(ExportError):
        sl.export.save(made(Branches), tmp_path / "model", inputs=INPUT_SHAPE)
    assert not list(tmp_path.iterdir())


def test_a_loop_over_positions_cannot_be_exported_for_variable_length(tmp_path):
    with pytest.raises(ExportError, match="at another size"):
        sl.export.save(made(Loops), tmp_path / "model", inputs=INPUT_SHAPE)


def test_a_loop_over_positions_can_be_exported_for_a_fixed_length(tmp_path):
    sl.export.save(made(Loops), tmp_path / "model", inputs=("batch", 4, 9))
    assert (tmp_path / "model/graph.json").exists()


class Remembers(Head):
    seen: sl.nn.Buffer

    def __init__(self):
        super().__init__()
        self.seen = sl.nn.Buffer((4,), sl.nn.Fill(0.0))

    def __call__(self, x):
        self.seen.assign(x.mean(axis=(0, 2)))
        return self.finish(x)


def test_exporting_a_buffer_that_changes_in_forward_is_an_error(tmp_path):
    with pytest.raises(ExportError, match="changes seen in"):
        sl.export.save(made(Remembers), tmp_path / "model", inputs=INPUT_SHAPE)


class GivesTwo(Head):
    def __call__(self, x):
        return self.finish(x), x


def test_exporting_a_network_with_several_outputs_is_an_error(tmp_path):
    with pytest.raises(ExportError, match="returns a tuple"):
        sl.export.save(made(GivesTwo), tmp_path / "model", inputs=INPUT_SHAPE)


def test_exporting_a_network_of_an_unsupported_dtype_is_an_error(tmp_path):
    class Narrow(Head):
        def __call__(self, x):
            return self.finish(x.astype("float16").astype("float32"))

    with pytest.raises(ExportError, match="dtype float16"):
        sl.export.save(made(Narrow), tmp_path / "model", inputs=INPUT_SHAPE)


def test_exporting_a_pytorch_network_is_an_error(tmp_path):
    torch = pytest.importorskip("torch")
    net = torch.nn.Linear(4, 2)
    for model in (net, sl.models.TorchModule(net)):
        with pytest.raises(ExportError, match="is a PyTorch module"):
            sl.export.save(model, tmp_path / "model", inputs=("batch", 4))


def test_exporting_an_object_that_is_not_a_model_is_an_error(tmp_path):
    seven: Any = 7
    with pytest.raises(ArgumentError, match="model must be"):
        sl.export.save(seven, tmp_path / "model", inputs=("batch", 4))


@pytest.mark.parametrize("encoder", [len, str.upper, object()])
def test_exporting_a_custom_encoder_is_an_error(tmp_path, encoder):
    with pytest.raises(ExportError, match="only Python can run it"):
        sl.export.save(made(Head), tmp_path / "model", encoder=encoder)


def test_exporting_an_int8_layer_is_an_error(tmp_path):
    network = sl.nn.quantize_int8(made(Head))
    for export, path in ((sl.export.save, "model"), (sl.export.onnx, "model.onnx")):
        with pytest.raises(ExportError, match=r"layer is an Int8Linear.*quantize_int8"):
            export(network, tmp_path / path, inputs=INPUT_SHAPE)


class Divides(Head):
    pool: sl.nn.AdaptiveAvgPool1d

    def __init__(self):
        super().__init__()
        self.pool = sl.nn.AdaptiveAvgPool1d(3)

    def __call__(self, x):
        return self.finish(self.pool(x))  # here


def test_exporting_pooling_windows_that_depend_on_length_is_an_error(tmp_path):
    line = f"{PATH_OF_THIS_FILE}:{find_line(Divides)}"
    with pytest.raises(ExportError, match="AdaptiveAvgPool1d has other windows") as caught:
        sl.export.save(made(Divides), tmp_path / "model", inputs=INPUT_SHAPE)
    assert line in str(caught.value)
    sl.export.save(made(Divides), tmp_path / "model", inputs=("batch", 4, 24))


def test_exporting_an_encoder_that_is_not_fitted_is_an_error(tmp_path):
    model = sl.models.GenotypeMLPConfig(variants=5, outputs=1).init("numpy").eval()
    with pytest.raises(ExportError, match="not fitted"):
        sl.export.save(model, tmp_path / "model", encoder=sl.data.GenotypeEncoder())


@pytest.mark.parametrize(
    "options",
    [
        {"crop": "cut"},
        {"crop": "pad"},
        {"pair": "mean"},
        {"pool": "max"},
        {"pool": "mean"},
        {"length": 0},
        {"batch_size": -1},
        {"batch_size": 70_000},
        {"overwrite": "yes"},
        {"task": "classify"},
        {"inputs": 7},
        {"inputs": ("batch", "lenght")},
    ],
    ids=str,
)
def test_invalid_arguments_of_export_are_errors(tmp_path, options):
    given: Any = {"inputs": INPUT_SHAPE, **options}
    with pytest.raises(ArgumentError):
        sl.export.save(made(Branches), tmp_path / "model", **given)


def test_exporting_a_network_with_an_unknown_argument_is_an_error(tmp_path):
    class Wants(Head):
        def __call__(self, x, temperature):
            return self.finish(x) * temperature

    encoder = sl.encode.OneHot("dna")
    with pytest.raises(ArgumentError, match="temperature"):
        sl.export.save(made(Wants), tmp_path / "model", encoder=encoder)


class Pools(Head):
    def __call__(self, x):
        return self.layer(F.adaptive_avg_pool1d(x, 1).reshape(x.shape[0], 4))


def test_a_mean_over_all_positions_can_be_exported(tmp_path):
    sl.export.save(made(Pools), tmp_path / "model", inputs=INPUT_SHAPE)
    assert (tmp_path / "model/graph.json").exists()


def test_the_error_for_a_network_of_fixed_length_suggests_length(tmp_path):
    flat = sl.nn.Sequential(sl.nn.Flatten(), sl.nn.Linear(80, 2)).bind("numpy", sl.Key(0))
    flat(flat.backend.tensor(np.zeros((1, 4, 20), np.float32)))
    with pytest.raises(ShapeError, match=r"several lengths; .* length=N"):
        sl.export.save(flat, tmp_path / "any", inputs=INPUT_SHAPE)
    sl.export.save(flat, tmp_path / "one", inputs=("batch", 4, 20))
