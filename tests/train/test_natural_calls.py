"""Tests of calls of `fit` that users may try: they work or raise a clear error."""

import signal
from typing import Any

import numpy as np
import pytest

import seqloom as sl
from fit_arguments import as_arguments
from seqloom.errors import ArgumentError, ConfigError, SeqloomError


@pytest.fixture
def fit(toy, small):
    """Train once; keyword arguments override the defaults."""

    def call(**options):
        every: dict[str, Any] = {
            "model": small,
            "train": toy(),
            "epochs": 1,
            "progress": False,
            **options,
        }
        return sl.train.fit(every.pop("model"), every.pop("train"), **as_arguments(**every))

    return call


def weights(run):
    """Return the parameters of a run's network."""
    return [np.asarray(array).tobytes() for array in run.model.to_record().values()]


@pytest.mark.parametrize(
    ("given", "meant"),
    [("epoch", "epochs"), ("learning_rate", "lr"), ("optimiser", "optimizer")],
)
def test_an_unknown_argument_is_an_error_that_suggests_the_nearest_name(fit, given, meant):
    with pytest.raises(TypeError, match=f"no argument {given}=; did you mean {meant}="):
        fit(**{given: 3})


def test_an_unknown_argument_is_an_error_that_lists_all_arguments(fit):
    with pytest.raises(TypeError, match=r"no argument zzz=; it takes model, train, valid,"):
        fit(zzz=1)


def test_a_pytorch_optimiser_is_an_error_that_names_the_seqloom_optimiser(fit):
    torch = pytest.importorskip("torch")
    layer = torch.nn.Linear(2, 2)
    for given in (torch.optim.RMSprop, torch.optim.RMSprop(layer.parameters(), lr=0.1)):
        with pytest.raises(ArgumentError, match=r"optimizer=sl.optim.RMSProp\(\) .*lr= of"):
            fit(optimizer=given)
    with pytest.raises(ArgumentError, match=r"pass optimizer=one of seqloom\.optim"):
        fit(optimizer=torch.optim.LBFGS(layer.parameters()))


def test_an_optimiser_class_is_an_error_that_suggests_an_object(fit):
    with pytest.raises(ArgumentError, match=r"pass optimizer=sl.optim.SGD\(\) with"):
        fit(optimizer=sl.optim.SGD)


PYTHON_AND_NUMPY_NUMBERS = {
    "epochs": (1, np.int64(1)),
    "batch_size": (8, np.int32(8)),
    "lr": (0.5, np.float32(0.5)),
    "weight_decay": (0.5, np.array(0.5)),
    "seed": (3, np.uint8(3)),
    "num_threads": (1, np.int64(1)),
}


@pytest.mark.parametrize("name", PYTHON_AND_NUMPY_NUMBERS)
def test_numpy_numbers_are_accepted_like_python_numbers(fit, tmp_path, name):
    plain, numpys = PYTHON_AND_NUMPY_NUMBERS[name]
    first = fit(**{name: plain}, out=tmp_path / "plain")
    second = fit(**{name: numpys}, out=tmp_path / "numpys")
    assert weights(first) == weights(second)


def test_a_backend_object_is_accepted_in_place_of_its_name(fit):
    backend = sl.tensor.backend("numpy", num_threads=1)
    assert fit(backend=backend).model.backend is backend


def test_the_number_of_threads_of_a_backend_is_kept(fit):
    backend = sl.tensor.backend("numpy", num_threads=1)
    with pytest.raises(ArgumentError, match="has 1 threads, num_threads is 2"):
        fit(backend=backend, num_threads=2)


def test_a_folder_may_be_bytes(fit, tmp_path):
    fit(out=bytes(tmp_path / "run"))
    assert sl.models.load(tmp_path / "run").classes == ("no", "yes")


def test_a_progress_object_need_not_define_all_methods(fit):
    class Epochs:
        def __init__(self):
            self.rows = []

        def on_epoch(self, row):
            self.rows.append(row["epoch"])

    watcher = Epochs()
    fit(progress=watcher, epochs=2)
    assert watcher.rows == [1, 2]


def test_progress_true_prints_a_line_for_each_epoch(fit, capsys):
    fit(progress=True, epochs=2)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[2:]] == ["1", "2"]


def test_for_data_accepts_none_for_a_missing_set(toy):
    data = toy()
    config = sl.models.SequenceCNNConfig
    assert config.for_data(data, None) == config.for_data(data)


def test_settings_with_numpy_numbers_and_lists_equal_plain_settings():
    sizes: dict[str, Any] = {"widths": [np.int64(4)], "kernel_size": np.int64(3)}
    sizes |= {"channels": np.int64(4), "outputs": 2}
    found = sl.models.SequenceCNNConfig(**sizes, dropout=np.float64(0.5))
    assert found == sl.models.SequenceCNNConfig(
        4, 2, widths=(4,), kernel_size=3, dropout=0.5
    )
    assert found.to_json() == type(found).from_json(found.to_json()).to_json()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"epochs": "1"}, "epochs (--epochs) must be an integer"),
        ({"epochs": True}, "epochs (--epochs) must be an integer"),
        ({"lr": "1e-3"}, "lr (--lr) must be a number above 0, got '1e-3'"),
        ({"lr": None}, "lr (--lr) must be a number above 0, got None"),
        ({"weight_decay": "0"}, "weight_decay (--weight-decay) must be a number"),
        ({"num_threads": "2"}, "num_threads must be an integer"),
        ({"backend": None}, 'backend must be a name such as "numpy", got None'),
        ({"task": ["classify"]}, 'task must be "auto", "classify"'),
        ({"class_weight": True}, "class_weight must be"),
        ({"class_weight": {"yes": "much"}}, "class_weight must be a number, got 'much'"),
        ({"loss": "mse"}, "loss must be a function"),
        ({"out": 3}, "out must be a folder's path, got 3"),
        ({"resume": True}, "without out="),
        ({"resume": "run", "out": "run"}, "got resume='run'"),
        ({"progress": "bar"}, "progress must be True, False"),
        ({"progress": print}, "progress must be True, False"),
        ({"train": "a.fa"}, "the training set must be a dataset, got 'a.fa'"),
        ({"valid": 0.1}, "sl.data.split(data, (0.9, 0.1))"),
        ({"test": "a.fa"}, "the test set must be a dataset"),
        ({"model": sl.models.SequenceCNNConfig}, "SequenceCNNConfig.for_data(train)"),
    ],
    ids=str,
)
def test_an_argument_of_the_wrong_type_is_an_error_in_one_sentence(fit, options, said):
    with pytest.raises(ArgumentError) as caught:
        fit(**options)
    assert said in str(caught.value)
    assert len(str(caught.value)) < 300


def test_a_loader_in_place_of_a_dataset_is_an_error(fit, toy):
    loader = sl.data.DataLoader(toy(), batch_size=4)
    with pytest.raises(ArgumentError, match="pass the dataset of the loader"):
        fit(train=loader)


@pytest.mark.parametrize(
    "make",
    [
        lambda: sl.models.SequenceCNNConfig("4", 2),  # pyright: ignore[reportArgumentType]
        lambda: sl.models.SequenceCNNConfig(4, 2, widths=8),  # pyright: ignore[reportArgumentType]
        lambda: sl.models.GenotypeMLPConfig(3, None),  # pyright: ignore[reportArgumentType]
        lambda: sl.models.Classify("ab"),  # pyright: ignore[reportArgumentType]
    ],
    ids=["channels", "widths", "outputs", "columns"],
)
def test_an_error_names_the_field_of_the_wrong_type(make):
    with pytest.raises(ConfigError, match=r"^\w+\.\w+: Expected"):
        make()


@pytest.mark.parametrize("value", ["a.fa", None, 3, ["ACGT"]], ids=repr)
@pytest.mark.parametrize(
    "config", [sl.models.SequenceCNNConfig, sl.models.GenotypeMLPConfig]
)
def test_for_data_without_a_dataset_is_an_error_with_advice(config, value):
    with pytest.raises(SeqloomError, match="train must be a dataset"):
        config.for_data(value)


def test_a_missing_training_set_is_an_error(small):
    nothing: Any = None
    with pytest.raises(ArgumentError, match="training set"):
        sl.train.fit(small, nothing)


def test_a_signal_handler_of_the_program_may_stop_a_run(toy, small, tmp_path):
    def stop(number, frame):
        raise KeyboardInterrupt

    class Scheduler:
        def on_epoch(self, row):
            if row["epoch"] == 2:
                signal.raise_signal(signal.SIGTERM)

    scheduler: Any = Scheduler()
    before = signal.signal(signal.SIGTERM, stop)
    try:
        with pytest.raises(KeyboardInterrupt, match="contains 2 epochs; continue"):
            sl.train.fit(small, toy(), epochs=5, out=tmp_path / "run", progress=scheduler)
        assert signal.getsignal(signal.SIGTERM) is stop
    finally:
        signal.signal(signal.SIGTERM, before)
    run = sl.train.fit(small, toy(), epochs=5, out=tmp_path / "run", resume=True)
    assert len(run.history) == 5
