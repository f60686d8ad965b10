"""Tests of `Run.save`, and of the text and HTML forms of runs."""

import numpy as np
import pytest

import seqloom as sl
from fit_arguments import as_arguments
from seqloom.errors import ArgumentError, RunFolderError
from seqloom.train._run import _html_table


@pytest.fixture
def train(toy, small):
    """Train two epochs; keyword arguments override the defaults."""

    def call(**options):
        parts = {"valid": toy(30, name="valid"), "test": toy(20, name="test")}
        return sl.train.fit(small, toy(), **as_arguments(epochs=2, **parts, **options))

    return call


def test_a_saved_run_has_all_files_of_a_run_folder_except_the_checkpoint(train, tmp_path):
    train(out=tmp_path / "out")
    train().save(tmp_path / "saved")
    for name in ("config.json", "model.safetensors", "scores-valid.tsv", "scores-test.tsv"):
        assert (tmp_path / "saved" / name).read_bytes() == (
            tmp_path / "out" / name
        ).read_bytes()
    names = [
        {path.name for path in (tmp_path / each).iterdir()} for each in ("out", "saved")
    ]
    assert names[0] - names[1] == {"checkpoint"}


def test_a_saved_model_predicts_exactly_the_same_scores(train, tmp_path):
    run = train()
    run.trained.save(tmp_path / "model")
    scores = sl.infer.predict(tmp_path / "model", tmp_path / "test.fa")
    assert scores.to_numpy().tobytes() == run.test.scores.to_numpy().tobytes()


def test_a_saved_genotype_model_keeps_its_fitted_encoder(cohort, tmp_path):
    data = cohort()
    run = sl.train.fit(sl.models.GenotypeMLPConfig.for_data(data), data, epochs=1)
    run.trained.save(tmp_path / "model")
    first, second = (sl.infer.predict(it, data) for it in (run, tmp_path / "model"))
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("what", ["run", "model"])
def test_saving_overwrites_nothing_by_default(train, tmp_path, what):
    run = train()
    thing = run if what == "run" else run.trained
    run.save(tmp_path / "there")
    with pytest.raises(RunFolderError, match=r"already contains a run.*overwrite=True"):
        thing.save(tmp_path / "there")
    thing.save(tmp_path / "there", overwrite=True)
    for name in ("scores-test.tsv", "labels-test.tsv"):
        assert (tmp_path / "there" / name).exists() == (what == "run")


def test_saving_never_overwrites_other_files(train, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(RunFolderError, match="contains other files"):
        train().save(tmp_path, overwrite=True)
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_a_folder_of_the_wrong_type_is_an_error_in_one_sentence(train):
    with pytest.raises(ArgumentError, match="folder must be a folder's path, got 3"):
        train().save(3)


def test_the_repr_of_a_run_is_one_line(train, tmp_path):
    said = repr(train(out=tmp_path / "run"))
    assert said.startswith("Run of SequenceCNN, ")
    assert "parameters; classify no, yes; epoch " in said  # the task that `fit` inferred
    assert "of 2; validation accuracy " in said
    assert said.endswith(f"in {tmp_path / 'run'}")
    assert "\n" not in said
    assert len(said) < 150 + len(str(tmp_path))


def test_the_reprs_of_a_trained_model_and_of_test_results_are_one_line(train):
    run = train()
    assert repr(run.trained).endswith("parameters: classify no, yes")
    assert repr(run.test).startswith("Part of 20 records: accuracy ")


def test_a_notebook_shows_a_table_of_the_metrics(train):
    page = train()._repr_html_()
    assert "<th>validation</th><th>test</th>" in page
    assert page.count("<tr>") == 1 + len(train().test.metrics)


def test_names_are_escaped_in_html():
    page = _html_table("<b>net</b>", {"<i>": {"<u>": 1.0}})
    assert not {"<b>", "<i>", "<u>"} & {page[i : i + 3] for i in range(len(page))}
