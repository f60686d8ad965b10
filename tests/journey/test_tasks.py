"""Regression and multilabel models of real sequences with a label table."""

from pathlib import Path

import numpy as np
import pytest

import seqloom as sl
from seqloom.nn._metrics import auroc

DEMO_FASTA = Path(sl.__file__).parent / "_demo/train.fa.gz"
LABEL_MOTIFS = ("GGTA", "TTTC")


def write_table(path, label_of):
    """Write a label for each of the demo's windows."""
    windows = sl.data.SequenceDataset(DEMO_FASTA)
    texts = [text.decode() for text in windows.to_numpy()["sequence"]]
    rows = [f"{name}\t{label_of(it)}" for name, it in zip(windows.ids, texts, strict=True)]
    path.write_text("\n".join(["id\tlabel", *rows, ""]))
    return path


def gc_content(text):
    """Return the fraction of G and C."""
    return (text.count("G") + text.count("C")) / len(text)


def motifs_in(text):
    """Return the motifs that a sequence contains."""
    return ",".join(motif for motif in LABEL_MOTIFS if motif in text)


@pytest.fixture(scope="module")
def numbers(tmp_path_factory):
    """Windows of the demo, labelled with their GC content."""
    table = write_table(tmp_path_factory.mktemp("gc") / "gc.tsv", gc_content)
    return read(table, "regress")


@pytest.fixture(scope="module")
def labels(tmp_path_factory):
    """Windows of the demo, labelled with their motifs."""
    table = write_table(tmp_path_factory.mktemp("motifs") / "motifs.tsv", motifs_in)
    return read(table, "multilabel")


def read(table, task):
    """Open the windows with a table, and split them in half."""
    encoder = sl.encode.OneHot("dna")
    data = sl.data.SequenceDataset(
        DEMO_FASTA, labels=sl.data.Labels(table, task=task), encoder=encoder
    )
    return sl.data.split(data, (0.5, 0.5), seed=0)


def test_a_regression_predicts_gc_content_in_units_of_the_labels(numbers, tmp_path):
    train, test = numbers
    config = sl.models.SequenceCNNConfig.for_data(train)
    sl.train.fit(config, train, epochs=6, lr=1e-2, batch_size=32, out=tmp_path / "run")
    scores = sl.infer.predict(tmp_path / "run", test).to_numpy()[:, 0]
    assert sl.infer.evaluate(tmp_path / "run", test)["r2"] >= 0.95
    assert np.abs(scores - test.labels).mean() < 0.05


def test_the_prediction_column_of_a_regression_has_the_label_name(numbers, tmp_path):
    config = sl.models.SequenceCNNConfig(channels=4, outputs=1, widths=(4,))
    run = sl.train.fit(config, numbers[0], epochs=1)
    sl.infer.predict(run.trained, numbers[1]).to_tsv(tmp_path / "gc.tsv")
    assert (tmp_path / "gc.tsv").read_text().startswith("id\tlabel\n")


def test_a_multilabel_model_learns_two_motifs(labels, tmp_path):
    train, test = labels
    config = sl.models.SequenceCNNConfig(channels=4, outputs=2, widths=(16, 16))
    sl.train.fit(config, train, epochs=8, lr=2e-2, batch_size=32, out=tmp_path / "run")
    scores = sl.infer.predict(tmp_path / "run", test)
    assert scores.classes == LABEL_MOTIFS
    for truth, values in zip(test.labels.T, scores.to_numpy().T, strict=True):
        assert auroc(truth, values) >= 0.95


def test_a_classifier_separates_real_splice_sites(splice, tmp_path):
    train, valid = sl.data.split(splice, (0.5, 0.5), stratify=True, seed=0)
    config = sl.models.SequenceCNNConfig.for_data(train)
    sl.train.fit(config, train, epochs=6, lr=3e-3, out=tmp_path / "run")
    assert sl.infer.evaluate(tmp_path / "run", valid)["accuracy"] >= 0.9
