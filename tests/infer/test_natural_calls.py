"""Natural calls of predict, evaluate and load."""

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
    """The scores of the file by its path."""
    return sl.infer.predict(run.trained, tmp_path / "toy.fa").to_numpy().tobytes()


def test_a_run_stands_for_its_model(run, data, tmp_path, expected):
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
def test_an_open_file_gives_the_scores_of_its_path(run, tmp_path, expected, open_file):
    with open_file(tmp_path / "toy.fa") as file:
        assert sl.infer.predict(run, file).to_numpy().tobytes() == expected


def test_a_single_sequence_is_said_to_stand_in_a_list(run):
    for call in (sl.infer.predict, sl.infer.explain):
        with pytest.raises(
            MissingFileError, match=r'no such file; .* in a list: \["ACGT"\]'
        ):
            call(run, "ACGT")


def test_an_open_file_that_is_faulty_is_named_as_it_was_opened(run, tmp_path):
    path = tmp_path / "faulty.fa"
    path.write_text(">a\nACGT\n>b\nACJT\n")
    with path.open("rb") as file, pytest.raises(AlphabetError) as caught:
        sl.infer.predict(run, file)
    assert str(caught.value).startswith(f"{path}: record 1 (b)")
    assert caught.value.path == str(path)


def test_a_path_may_be_bytes(run, tmp_path, expected):
    scores = sl.infer.predict(run, bytes(tmp_path / "toy.fa"))
    assert scores.to_numpy().tobytes() == expected


def test_scores_are_an_array_to_numpy(run, tmp_path):
    scores = sl.infer.predict(run, tmp_path / "toy.fa")
    np.testing.assert_array_equal(np.asarray(scores), scores.to_numpy())


@pytest.mark.parametrize("progress", [True, False, None])
def test_progress_may_be_a_truth(run, data, progress):
    assert sl.infer.evaluate(run, data, progress=progress)["n"] == 48


def test_threads_may_be_numpys_number(run, data):
    threads: Any = np.int64(1)
    assert sl.infer.evaluate(run, data, num_threads=threads)["n"] == 48


@pytest.mark.parametrize("call", [sl.infer.evaluate, sl.infer.predict, sl.models.load])
@pytest.mark.parametrize("model", [None, 3, sl.nn.Linear(1, 1)], ids=["None", "3", "net"])
def test_what_is_no_model_is_one_sentence(call, model, data):
    arguments = (model,) if call is sl.models.load else (model, data)
    with pytest.raises(ArgumentError, match="model must be a run, its"):
        call(*arguments)


def test_load_says_that_a_run_is_loaded_already(run):
    with pytest.raises(ArgumentError, match=r"run\.trained"):
        sl.models.load(run)


@pytest.mark.parametrize("value", ["a.fa", Path("a.fa"), ["a.fa"], None], ids=repr)
def test_evaluate_says_what_makes_a_dataset(run, value):
    with pytest.raises(ArgumentError, match=r"data must be a dataset.*SequenceDataset\("):
        sl.infer.evaluate(run, value)


@pytest.mark.parametrize(
    "value", [None, 3, np.zeros((2, 4, 20))], ids=["None", "3", "array"]
)
def test_what_cannot_be_scored_is_one_sentence(run, value):
    with pytest.raises(ArgumentError, match="data must be a file, an open file"):
        sl.infer.predict(run, value)


def test_a_backend_is_taken_for_its_name(run, small, data, tmp_path):
    sl.train.fit(small, data, epochs=1, out=tmp_path / "run")
    backend = sl.tensor.backend("numpy", num_threads=1)
    assert sl.models.load(tmp_path / "run", backend=backend).model.backend is backend
