"""Tests of calls of `predict`, `evaluate` and `load` that users are likely to try."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import seqloom as sl
from seqloom.errors import AlphabetError, ArgumentError, MissingFileError


@pytest.fixture
def data(toy):
    return toy()


@pytest.fixture
def run(small, data):
    return sl.train.fit(small, data, epochs=1)


@pytest.fixture
def expected(run, tmp_path):
    """The scores of a file that is passed as a path."""
    return sl.infer.predict(run.trained, tmp_path / "toy.fa").to_numpy().tobytes()


def test_predict_accepts_a_run_object_in_place_of_its_model(run, data, tmp_path, expected):
    assert sl.infer.predict(run, tmp_path / "toy.fa").to_numpy().tobytes() == expected
    assert sl.infer.evaluate(run, data) == sl.infer.evaluate(run.trained, data)


@pytest.mark.parametrize(
    "open_file",
    [
        lambda path: path.open("rb"),
        lambda path: path.open(),
        lambda path: io.BytesIO(path.read_bytes()),
        lambda path: io.StringIO(path.read_text()),
    ],
    ids=["binary", "text", "BytesIO", "StringIO"],
)
def test_predict_accepts_an_open_file(run, tmp_path, expected, open_file):
    with open_file(tmp_path / "toy.fa") as file:
        assert sl.infer.predict(run, file).to_numpy().tobytes() == expected


def test_predicting_from_a_single_string_suggests_a_list(run):
    for call in (sl.infer.predict, sl.infer.explain):
        with pytest.raises(
            MissingFileError, match=r'no such file; .* as a list: \["ACGT"\]'
        ):
            call(run, "ACGT")


def test_an_error_in_an_open_file_names_the_file(run, tmp_path):
    path = tmp_path / "faulty.fa"
    path.write_text(">a\nACGT\n>b\nACJT\n")
    with path.open("rb") as file, pytest.raises(AlphabetError) as caught:
        sl.infer.predict(run, file)
    assert str(caught.value).startswith(f"{path}: record 1 (b)")
    assert caught.value.path == str(path)


def test_predict_accepts_a_path_in_bytes(run, tmp_path, expected):
    scores = sl.infer.predict(run, bytes(tmp_path / "toy.fa"))
    assert scores.to_numpy().tobytes() == expected


def test_scores_can_be_converted_to_a_numpy_array(run, tmp_path):
    scores = sl.infer.predict(run, tmp_path / "toy.fa")
    np.testing.assert_array_equal(np.asarray(scores), scores.to_numpy())


@pytest.mark.parametrize("progress", [True, False, None])
def test_the_argument_progress_may_be_a_bool_or_none(run, data, progress):
    assert sl.infer.evaluate(run, data, progress=progress)["n"] == 48


def test_the_number_of_threads_may_be_a_numpy_integer(run, data):
    threads: Any = np.int64(1)
    assert sl.infer.evaluate(run, data, num_threads=threads)["n"] == 48


@pytest.mark.parametrize("call", [sl.infer.evaluate, sl.infer.predict, sl.models.load])
@pytest.mark.parametrize("model", [None, 3, sl.nn.Linear(1, 1)], ids=["None", "3", "net"])
def test_predicting_with_an_object_that_is_not_a_model_is_an_error(call, model, data):
    arguments = (model,) if call is sl.models.load else (model, data)
    with pytest.raises(ArgumentError, match="model must be a run, its"):
        call(*arguments)


def test_loading_a_run_object_is_an_error_with_a_remedy(run):
    with pytest.raises(ArgumentError, match=r"run\.trained"):
        sl.models.load(run)


@pytest.mark.parametrize("value", ["a.fa", Path("a.fa"), ["a.fa"], None], ids=repr)
def test_evaluate_without_a_dataset_is_an_error_with_a_remedy(run, value):
    with pytest.raises(ArgumentError, match=r"data must be a dataset.*SequenceDataset\("):
        sl.infer.evaluate(run, value)


@pytest.mark.parametrize(
    "value", [None, 3, np.zeros((2, 4, 20))], ids=["None", "3", "array"]
)
def test_predicting_from_an_unsupported_object_is_an_error(run, value):
    with pytest.raises(ArgumentError, match="data must be a file, an open file"):
        sl.infer.predict(run, value)


def test_predict_accepts_a_backend_object_or_its_name(run, small, data, tmp_path):
    sl.train.fit(small, data, epochs=1, out=tmp_path / "run")
    backend = sl.tensor.backend("numpy", num_threads=1)
    assert sl.models.load(tmp_path / "run", backend=backend).model.backend is backend
