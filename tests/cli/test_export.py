"""`seqloom export` writes a run as a folder, a zip file, or an ONNX file."""

import json

import pytest

import seqloom as sl
from exported import manifest, operations


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A small run on sequences."""
    place = tmp_path_factory.mktemp("run")
    (place / "a.fa").write_text(">a\nACGTACGT\n>b\nACGAGGAT\n>c\nTTGACATG\n")
    labels = {"a": "yes", "b": "no", "c": "no"}
    encoder = sl.encode.OneHot("dna")
    data = sl.data.SequenceDataset(place / "a.fa", labels=labels, encoder=encoder)
    config = sl.models.SequenceCNNConfig.for_data(data)
    sl.train.fit(config, data, epochs=1, out=place / "run")
    return place / "run"


def test_a_run_is_exported_to_a_folder(call, run, tmp_path):
    done = call("export", run, "--out", tmp_path / "model")
    assert done.code == 0, done.err
    assert "exported SequenceCNN" in done.out
    assert manifest(tmp_path / "model")["task"]["columns"] == ["no", "yes"]
    assert operations(tmp_path / "model")[-1] == "linear"


def test_a_run_is_exported_to_an_onnx_file(call, run, tmp_path):
    onnx = pytest.importorskip("onnx")
    done = call("export", run, "--onnx", "--out", tmp_path / "model.onnx", "--quiet")
    assert (done.code, done.out) == (0, "")
    found = {it.key: it.value for it in onnx.load(tmp_path / "model.onnx").metadata_props}
    assert json.loads(found["classes"]) == ["no", "yes"]


def test_an_export_is_replaced_only_with_overwrite(call, run, tmp_path):
    for options, code in (((), 0), ((), 2), (("--overwrite",), 0)):
        done = call("export", run, "--out", tmp_path / "model.zip", *options)
        assert done.code == code
        assert ("--overwrite" in done.err) == (code == 2)


def test_exporting_a_folder_without_a_run_is_an_error(call, tmp_path):
    done = call("export", tmp_path / "none", "--out", tmp_path / "model")
    assert done.code == 2
    assert "no such folder" in done.err
