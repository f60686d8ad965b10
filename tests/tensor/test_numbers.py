"""Errors report where NaN or overflow occurred, and reject impossible sizes."""

import inspect
import json
import struct
from typing import Any

import numpy as np
import pytest

import seqloom as sl
from fit_arguments import as_arguments
from seqloom import nn
from seqloom.errors import GradientError, NotFiniteError, SeqloomError
from seqloom.nn import functional
from seqloom.optim import SGD, Adam, AdamW, LossScale, Muon, ScheduleFreeAdamW

NUMPY = sl.tensor.backend("numpy", num_threads=1)
NAN, INF = float("nan"), float("inf")
X, Y = NUMPY.tensor(np.ones((5, 3), "f4")), NUMPY.tensor(np.arange(5) % 2)
OPTIMISER_CLASSES = [SGD, Adam, AdamW, Muon, ScheduleFreeAdamW]


def network():
    layers = nn.Linear(3, 4), functional.relu, nn.Linear(4, 2)
    return nn.Sequential(*layers).bind("numpy", sl.Key(0))


def find_line(function, text):
    """Return the file and line at which a function's source contains `text`."""
    lines, first = inspect.getsourcelines(function)
    (found,) = [number for number, line in enumerate(lines) if text in line]
    return f"{__file__}:{first + found}"


def train(planted=None, optimizer=None, *, factor=1.0):
    """Run a training step in which one operation receives NaN or infinity."""

    def plant(x, place):
        return x * planted[1] if planted and place == planted[0] else x

    def loss_of(model, x):
        hidden = model.layers[0](plant(x, "input"))  # first operation
        active = functional.relu(plant(hidden, "hidden"))  # second operation
        logits = model.layers[2](plant(active, "active"))  # third operation
        return functional.cross_entropy(plant(logits, "logits"), Y)  # fourth operation

    model, optimizer = network(), optimizer or SGD()
    with sl.tensor.check_finite():
        _, gradients = nn.value_and_grad(loss_of)(model, X)
        gradients = gradients.multiply(factor)
        optimizer.step(0.1, model, gradients)  # update of the weights
    return model


@pytest.mark.parametrize("number", [NAN, INF])
@pytest.mark.parametrize(
    ("place", "line"),
    [
        ("input", "# first"),
        ("hidden", "# second"),
        ("active", "# third"),
        ("logits", "# fourth"),
    ],
)
def test_the_first_nan_is_reported_with_its_line(place, line, number):
    with pytest.raises(NotFiniteError) as caught:
        train((place, number))
    operation, _, rest = str(caught.value).partition(" at ")
    # The reported operation is the multiplication with which the test inserts NaN or
    # infinity.
    assert operation == "multiply"
    assert rest.startswith(f"{find_line(train, 'return x * planted')} gave ")
    assert find_line(train, line)


@pytest.mark.parametrize("path", ["layers.0.weight", "layers.2.bias"])
def test_a_nan_weight_is_reported_with_its_layer(path):
    model = network()
    arrays = {name: np.array(it) for name, it in model.to_record().items()}
    arrays[path][0] = NAN
    model.load_record(arrays)
    with (
        pytest.raises(NotFiniteError, match=f"^linear at {__file__}:"),
        sl.tensor.check_finite(),
    ):
        model(X)


def test_an_overflowing_gradient_is_reported_with_its_operation():
    def loss_of(model, x):
        root = sl.tensor.apply("sqrt", model(x) * 0.0)  # the slope of the square root at 0
        return root.sum()

    line = find_line(loss_of, "# the slope")
    with pytest.raises(NotFiniteError) as caught, sl.tensor.check_finite():
        nn.value_and_grad(loss_of)(network(), X)
    assert str(caught.value).startswith(f"the gradient of sqrt at {line} gave ")


@pytest.mark.parametrize("kind", OPTIMISER_CLASSES, ids=lambda it: it.__name__)
def test_an_overflowing_update_is_reported_with_the_line_of_the_step(kind):
    with pytest.raises(NotFiniteError) as caught:
        train(optimizer=kind(), factor=INF)
    assert f" at {find_line(train, '# update')} gave " in str(caught.value)


def test_an_optimiser_names_the_parameter_that_became_nan():
    with pytest.raises(NotFiniteError, match=r"^AdamW\.step of layers\.0\.weight at "):
        train(optimizer=AdamW(), factor=INF)


def fit_on(inputs, **options):
    labels = np.arange(len(inputs)) % 2
    return sl.train.fit(
        nn.Linear(3, 2),
        (inputs, labels),
        **as_arguments(
            loss=functional.cross_entropy,
            epochs=2,
            batch_size=8,
            num_threads=1,
            progress=False,
            **options,
        ),
    )


def test_a_nan_loss_ends_fit_before_the_step(tmp_path):
    inputs = np.ones((32, 3), "f4")
    inputs[20] = NAN
    # The error reports the row of the array instead of advising a lower learning rate.
    message = r"epoch 1, batch \d: the loss is nan; nothing was saved; the array x "
    with pytest.raises(GradientError, match=message + "contains nan in row 20; replace"):
        fit_on(inputs, out=tmp_path / "run", report=False)
    assert not (tmp_path / "run/model.safetensors").exists()


def test_a_nan_label_is_an_error_that_names_it():
    labels = np.zeros((32, 2), "f4")
    labels[7, 1] = INF
    with pytest.raises(GradientError, match="array label contains inf in row 7") as found:
        sl.train.fit(
            nn.Linear(3, 2),
            {"inputs": np.ones((32, 3), "f4"), "label": labels},
            objective=functional.mse_loss,
            epochs=1,
            backend=sl.train.Computation(num_threads=1),
            progress=False,
        )
    assert "lower lr" not in str(found.value)


def test_nan_in_a_loader_or_validation_set_is_reported_with_its_row():
    x, y = np.ones((8, 3), "f4"), np.zeros(8, "i8")
    wrong = x.copy()
    wrong[5] = NAN
    options: dict[str, Any] = {
        "loss": functional.cross_entropy,
        "epochs": 1,
        "num_threads": 1,
    }
    batches = [{"inputs": x, "label": y}, {"inputs": wrong, "label": y}]
    with pytest.raises(GradientError, match=r"batch 2: .* inputs contains nan in row 5"):
        sl.train.fit(nn.Linear(3, 2), batches, **as_arguments(**options))
    message = "validation loss is not finite; .* in the validation set the array x"
    with pytest.raises(GradientError, match=message):
        sl.train.fit(nn.Linear(3, 2), (x, y), (wrong, y), **as_arguments(**options))


def test_nan_in_a_dataset_is_reported_with_the_record_id(monkeypatch):
    table = {"id": ["a", "b"], "sequence": ["ACGT", "ACGA"], "label": ["x", "y"]}
    data = sl.data.SequenceDataset(table, encoder=sl.encode.OneHot("dna"))
    batch = data.batch

    def spoil(indices, **options):
        found = batch(indices, **options)
        found["inputs"] = np.where(np.asarray(indices)[:, None, None] == 1, NAN, 1.0)
        return found

    monkeypatch.setattr(data, "batch", spoil)
    from seqloom.train._loss import describe_part

    assert describe_part(data).startswith("the array inputs contains nan in the record 'b'")


@pytest.mark.filterwarnings("ignore:overflow encountered")
def test_a_diverging_loss_advises_a_lower_learning_rate():
    inputs = np.full((32, 3), 1e30, "f4")
    labels = np.zeros((32, 2), "f4")
    with pytest.raises(GradientError, match=r"a lower lr \(--lr\) may help"):
        sl.train.fit(
            nn.Linear(3, 2),
            (inputs, labels),
            objective=functional.mse_loss,
            epochs=2,
            backend=sl.train.Computation(num_threads=1),
            progress=False,
        )


def test_a_loss_spike_is_recorded_and_training_continues():
    inputs = np.ones((32, 3), "f4")
    inputs[20:22] = 1e6  # two rows, one of each class
    history = fit_on(inputs).history
    assert len(history) == 2
    assert history[0]["train_loss"] > 100
    assert np.isfinite([row["train_loss"] for row in history]).all()


@pytest.mark.filterwarnings("ignore:overflow encountered")
def test_a_step_that_overflows_in_float16_is_skipped_and_counted():
    layer, scale, optimizer = nn.Linear(2, 1).bind("numpy", sl.Key(0)), LossScale(), SGD()
    before = {name: np.array(it) for name, it in layer.to_record().items()}

    def loss_of(layer, x):
        with sl.tensor.autocast("float16", allow_slow=True):
            return layer(x).astype("float32").mean() * scale.value

    for size in (60000.0, 1.0):
        x = NUMPY.tensor([[size, size]])
        _, gradients = nn.value_and_grad(loss_of)(layer, x)
        if (found := scale.unscale(gradients)) is not None:
            optimizer.step(0.1, layer, found)
        if size > 1:
            after = layer.to_record()
            assert all((np.asarray(after[name]) == it).all() for name, it in before.items())
    assert (scale.skipped_steps, optimizer.step_count) == (1, 1)
    again = LossScale().load_record(scale.to_record())
    assert (again.skipped_steps, again.value) == (1, 32768.0)


LAYERS_AND_EMPTY_SHAPES = {
    "Linear": (nn.Linear(3, 2), [(0, 3)]),
    "Conv1d": (nn.Conv1d(3, 2, 3, padding=1), [(0, 3, 9), (2, 3, 0)]),
    "Conv2d": (nn.Conv2d(3, 2, 3), [(0, 3, 9, 9)]),
    "ConvTranspose1d": (nn.ConvTranspose1d(3, 2, 3), [(0, 3, 4)]),
    "BatchNorm1d": (nn.BatchNorm1d(3), [(0, 3), (0, 3, 4), (2, 3, 0)]),
    "LayerNorm": (nn.LayerNorm(3), [(0, 3), (2, 0, 3)]),
    "RMSNorm": (nn.RMSNorm(3), [(0, 3), (2, 0, 3)]),
    "GroupNorm": (nn.GroupNorm(1, 3), [(0, 3, 4)]),
    "GRU": (nn.GRU(3, 2), [(0, 4, 3), (2, 0, 3)]),
    "LSTM": (nn.LSTM(3, 2), [(0, 4, 3), (2, 0, 3)]),
    "SelfAttention": (nn.SelfAttention(4, heads=2), [(0, 5, 4), (2, 0, 4)]),
    "MaxPool1d": (nn.MaxPool1d(2), [(0, 3, 4), (2, 3, 0)]),
    "AvgPool1d": (nn.AvgPool1d(2), [(0, 3, 4), (2, 3, 0)]),
    "AdaptiveAvgPool1d": (nn.AdaptiveAvgPool1d(1), [(0, 3, 4), (2, 3, 0)]),
    "Flatten": (nn.Flatten(), [(0, 3, 4)]),
    "Upsample": (nn.Upsample(scale_factor=2), [(0, 3, 4), (2, 3, 0)]),
}


@pytest.mark.parametrize("is_training", [True, False], ids=["training", "evaluation"])
@pytest.mark.parametrize("name", LAYERS_AND_EMPTY_SHAPES)
def test_a_layer_accepts_an_empty_array_or_raises_a_clear_error(name, is_training):
    layer, shapes = LAYERS_AND_EMPTY_SHAPES[name]
    model = layer.bind("numpy", sl.Key(0))
    model = model.train() if is_training else model.eval()
    for shape in shapes:
        x = NUMPY.tensor(np.zeros(shape, "f4"))
        try:
            out = model(x)
        except SeqloomError:
            continue
        else:
            out = out[0] if isinstance(out, tuple) else out
            assert out.size == 0 or np.isfinite(out.numpy()).all() or 0 in x.shape[1:]


@pytest.mark.parametrize("shape", [(0, 5, 4), (2, 0, 4)])
def test_attention_of_empty_arrays_is_empty(shape):
    model = nn.MultiHeadAttention(4, 2).bind("numpy", sl.Key(0)).eval()
    x = NUMPY.tensor(np.zeros(shape, "f4"))
    assert model(x, x, x)[0].shape == shape


LOSS_NAMES = [
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "huber_loss", "kl_div",
    "l1_loss", "log1p_mse_loss", "mse_loss", "multinomial_nll", "poisson_nll_loss",
    "smooth_l1_loss",
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:Mean of empty", "ignore:invalid value")
@pytest.mark.parametrize("name", [*LOSS_NAMES, "cross_entropy", "focal_loss", "nll_loss"])
def test_the_mean_loss_of_an_empty_batch_is_nan_and_its_sum_is_0(name):
    x = NUMPY.tensor(np.zeros((0, 2), "f4"))
    target = x if name in LOSS_NAMES else NUMPY.tensor(np.zeros(0, "i8"))
    loss = getattr(functional, name)
    assert np.isnan(loss(x, target).item())
    assert loss(x, target, reduction="sum").item() == 0


@pytest.mark.parametrize(
    "name", ["AUPRC", "AUROC", "F1", "R2", "Accuracy", "Pearson", "Spearman"]
)
def test_a_metric_without_records_is_nan(name):
    metric = getattr(nn, name)()
    assert np.isnan(metric.compute())
    metric.update(np.zeros(0, "i8"), np.zeros(0, "f4"))
    assert np.isnan(metric.compute())


@pytest.mark.parametrize("shape", [(0, 0), (0, 5), (5, 0)])
def test_an_empty_genotype_file_is_read_as_it_was_written(tmp_path, shape):
    sl.io.to_bed(tmp_path / "x.bed", np.zeros(shape, "i1"))
    with sl.io.open_bed(tmp_path / "x.bed") as bed:
        assert bed.read().shape == shape
    data = sl.data.GenotypeDataset(tmp_path / "x.bed")
    assert len(list(sl.data.DataLoader(data, batch_size=2))) == (shape[0] + 1) // 2


@pytest.mark.parametrize(
    "text", ["", ">a\n\n", ">a\nACGT\n>b\n\n"], ids=["no bytes", "no letters", "one"]
)
def test_a_file_without_records_or_residues_is_an_error_that_names_it(tmp_path, text):
    (tmp_path / "x.fa").write_text(text)
    with pytest.raises(
        sl.errors.FormatError, match=r"x\.fa: (the file is empty|record . \()"
    ):
        list(
            sl.data.DataLoader(
                sl.data.SequenceDataset(tmp_path / "x.fa", encoder=sl.encode.OneHot("dna"))
            )
        )


HUGE_SHAPES = [(2**62, 4), (2**40, 2**40), (2**63,), (2**32, 2**32, 1), (2**31, 2**31, 2)]
ARRAY_NAMESPACE = sl.tensor.backend("numpy").tensor([1.0]).__array_namespace__()


@pytest.mark.parametrize("shape", HUGE_SHAPES, ids=str)
@pytest.mark.parametrize(
    "name", ["zeros", "ones", "empty", "full", "broadcast_to", "reshape"]
)
def test_a_shape_whose_size_overflows_is_an_error(name, shape):
    x = NUMPY.tensor([1.0])
    calls = {
        "full": lambda: ARRAY_NAMESPACE.full(shape, 1.0),
        "broadcast_to": lambda: ARRAY_NAMESPACE.broadcast_to(x, shape),
        "reshape": lambda: x.reshape(shape),
    }
    with pytest.raises(SeqloomError):
        calls.get(name, lambda: getattr(ARRAY_NAMESPACE, name)(shape))()


CALLS_WITH_TOO_MANY_NUMBERS = {
    "arange(2**63)": lambda: ARRAY_NAMESPACE.arange(2**63),
    "arange(-2**64, 2**64)": lambda: ARRAY_NAMESPACE.arange(-(2**64), 2**64),
    "arange(2**61)": lambda: ARRAY_NAMESPACE.arange(2**61),
    "arange(0, 1e30)": lambda: ARRAY_NAMESPACE.arange(0, 1e30),
    "linspace": lambda: ARRAY_NAMESPACE.linspace(0, 1, 2**62),
    "eye": lambda: ARRAY_NAMESPACE.eye(2**40),
    "repeat": lambda: ARRAY_NAMESPACE.repeat(NUMPY.tensor([1.0]), 2**62),
    "one_hot": lambda: functional.one_hot(NUMPY.tensor([1, 2]), 2**62),
    "uniform": lambda: sl.Key(0).uniform(2**61),
    "bits": lambda: sl.Key(0).bits(2**64),
    "bits(-1)": lambda: sl.Key(0).bits(-1),
}


@pytest.mark.parametrize("name", CALLS_WITH_TOO_MANY_NUMBERS)
def test_too_many_numbers_are_an_error(name):
    with pytest.raises(SeqloomError):
        CALLS_WITH_TOO_MANY_NUMBERS[name]()


@pytest.mark.parametrize("sizes", [(2**62, 2**3), (2**40, 2**40), (2**64, 1)])
def test_writing_genotypes_beyond_the_disk_size_is_an_error_and_leaves_no_file(
    tmp_path, sizes
):
    with pytest.raises(SeqloomError):
        sl.io.create_bed(tmp_path / "x.bed", *sizes)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "shape",
    [*map(list, HUGE_SHAPES), [2**64], [-1], [-1, -2], [0, 2**63], [0, 2**40, 2**40]],
    ids=str,
)
def test_a_record_with_an_impossible_shape_is_an_error(tmp_path, shape):
    size = 8 if shape == [-1, -2] else 0
    entry = {"dtype": "F32", "shape": shape, "data_offsets": [0, size]}
    header = json.dumps({"a": entry}).encode()
    (tmp_path / "x.safetensors").write_bytes(
        struct.pack("<Q", len(header)) + header + bytes(size)
    )
    with pytest.raises(sl.errors.RecordError, match=r"x\.safetensors: "):
        np.asarray(sl.record.load(tmp_path / "x.safetensors")["a"])
