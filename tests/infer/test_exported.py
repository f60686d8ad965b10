"""Tests that an exported model, which runs in Rust, has the same scores in `predict`."""

import numpy as np
import pytest

import seqloom as sl
from exported_networks import Recurrent, ready
from seqloom.cli import main
from seqloom.errors import ArgumentError, DataWarning, FormatError

DNA_ENCODER = sl.encode.OneHot("dna")
TWO_CLASSES = sl.models.Classify(("no", "yes"))


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A trained network, its export as a folder, and as a zip."""
    trained = sl.models.Trained(ready(Recurrent()), DNA_ENCODER, TWO_CLASSES, batch_size=8)
    home = tmp_path_factory.mktemp("exported")
    sl.export.save(trained, home / "model")
    sl.export.save(trained, home / "model.zip")
    return trained, home / "model", home / "model.zip"


@pytest.fixture
def fasta(tmp_path):
    """Records of different lengths."""
    rows = (f">r{row} x\n{'ACGT' * (1 + row % 5)}\n" for row in range(50))
    (tmp_path / "a.fa").write_text("".join(rows))
    return tmp_path / "a.fa"


@pytest.mark.parametrize("threads", [1, 2])
def test_an_exported_model_has_the_scores_of_the_network(model, fasta, threads):
    trained, *exports = model
    wanted = sl.infer.predict(trained, fasta)
    for export in exports:
        found = sl.infer.predict(export, fasta, num_threads=threads)
        assert (found.ids, found.classes) == (wanted.ids, wanted.classes)
        assert np.array_equal(found, wanted)


def test_an_exported_model_scores_several_files_in_order(model, fasta):
    _, export, _ = model
    with pytest.warns(DataWarning, match="2 sequences have the id 'r0', and 49 more ids"):
        both = sl.infer.predict(str(export), [fasta, str(fasta)])
    assert both.ids == [f"r{row}" for row in range(50)] * 2


def test_the_progress_function_is_called_after_each_scored_batch(model, fasta):
    told = []
    sl.infer.predict(model[1], fasta, progress=lambda *numbers: told.append(numbers))
    assert told == [(min(8 * batch, 50), 50) for batch in range(1, 8)]


def test_an_error_in_the_progress_function_stops_the_scoring(model, fasta):
    def refuse(done, total):
        raise KeyError(done, total)

    with pytest.raises(KeyError, match="8, 50"):
        sl.infer.predict(model[1], fasta, progress=refuse)


def test_exported_models_report_invalid_files_like_the_readers(model, tmp_path):
    (tmp_path / "a.fa").write_text(">x\nACGT\n>y\nAC!T\n")
    trained, export, _ = model
    with pytest.raises(FormatError) as found:
        sl.infer.predict(export, tmp_path / "a.fa")
    with pytest.raises(sl.errors.AlphabetError) as wanted:
        sl.infer.predict(trained, tmp_path / "a.fa")
    assert str(found.value) == str(wanted.value)


def test_scoring_with_an_exported_model_needs_files(model):
    for data in ({"a": "ACGT"}, [("a", "ACGT")], [], 7, sl.data.SequenceDataset(["AC"])):
        with pytest.raises(ArgumentError, match="an exported model reads files"):
            sl.infer.predict(model[1], data)


def test_seqloom_predict_accepts_an_exported_model(model, fasta, tmp_path, monkeypatch):
    trained, export, _ = model
    monkeypatch.chdir(tmp_path)
    sl.infer.predict(trained, fasta).to_tsv("wanted.tsv")
    words = ["predict", str(export), "a.fa", "--out", "a.tsv", "--quiet", "--threads", "1"]
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 0
    assert (tmp_path / "a.tsv").read_bytes() == (tmp_path / "wanted.tsv").read_bytes()
    with pytest.raises(SystemExit) as ended:
        main([*words[:4], "b.tsv", "--whitespace", "strip"])
    assert ended.value.code == 2


@pytest.mark.parametrize(
    ("suffix", "header"),
    [("fam", "FID IID PAT MAT SEX PHENOTYPE\n"), ("bim", "CHR SNP CM BP A1 A2\n")],
)
def test_an_exported_model_rejects_a_header_line_in_a_fam_or_bim(tmp_path, suffix, header):
    sl.io.to_bed(tmp_path / "a.bed", np.array([[0, 1], [2, 1], [1, 0]], np.int8))
    data = sl.data.GenotypeDataset(tmp_path / "a.bed")
    config = sl.models.GenotypeMLPConfig(variants=2, outputs=1)
    task = sl.models.Regress(("trait",))
    network = ready(config.init("numpy"))
    trained = sl.models.Trained(network, data.encoder.fit(data), task, 4)
    sl.export.save(trained, tmp_path / "model")
    assert len(sl.infer.predict(tmp_path / "model", tmp_path / "a.bed")) == 3
    table = tmp_path / f"a.{suffix}"
    table.write_text(header + table.read_text())
    with pytest.raises(FormatError, match=rf"a\.{suffix}: line 1"):
        sl.infer.predict(tmp_path / "model", tmp_path / "a.bed")
