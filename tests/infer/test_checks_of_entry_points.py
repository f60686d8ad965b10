"""Tests that all functions that read records make the same checks with equal messages."""

import subprocess
import warnings
from pathlib import Path

import numpy as np
import pytest

import seqloom as sl
from seqloom.cli._export import PROGRAM
from seqloom.errors import DataWarning

TRAINING_PROTEINS = ["MKLVWYHE", "MKLVWYHEDF"]
DNA_SEQUENCES = ["ACGTTGCA", "TTGGCCAAA"] * 80
# For each check, records that fail the check, and the error message.
RECORDS_AND_WARNING_BY_CHECK = {
    "kind": (
        DNA_SEQUENCES,
        "the sequences look like dna, but the model was trained on protein",
    ),
    "length": (["MKLVWYHE", "MKLVWYHEDFGH"], "1 of 2 sequences have 12 residues, but"),
    "twice": (TRAINING_PROTEINS, "2 sequences have the id 'x'"),
    "unfinished": (TRAINING_PROTEINS, "training of this model did not finish"),
}


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A folder with the run of a protein model, and an unfinished copy of this run."""
    folder = tmp_path_factory.mktemp("doors")
    table = {"sequence": TRAINING_PROTEINS * 2, "label": ["yes", "no"] * 2}
    data = sl.data.SequenceDataset(table, encoder=sl.encode.OneHot("protein"))
    config = sl.models.SequenceCNNConfig.for_data(data)
    for name in ("run", "stopped"):
        sl.train.fit(
            config, data, epochs=1, out=sl.train.RunFolder(folder / name, report=False)
        )
    settings = folder / "stopped/config.json"
    text = settings.read_text().replace('"finished": true', '"finished": false')
    settings.write_text(text)
    return folder


def predict_list(model, ids, records):
    sl.infer.predict(model, list(zip(ids, records, strict=True)))


def predict_file(model, ids, records):
    del ids
    sl.infer.predict(model, write(records))


def predict_table(model, ids, records):
    sl.infer.predict(model, {"id": ids, "sequence": records})


def predict_intervals(model, ids, records):
    del ids
    lines = [f"r{row}\t0\t{len(it)}\n" for row, it in enumerate(records)]
    Path("r.bed").write_text("".join(lines))
    encoder = sl.models.load(model).encoder
    sl.infer.predict(
        model, sl.data.IntervalDataset(write(records), "r.bed", encoder=encoder)
    )


def evaluate(model, ids, records):
    labels = (["yes", "no"] * len(records))[: len(records)]
    table = {"id": ids, "sequence": records, "label": labels}
    sl.infer.evaluate(model, table)


def explain(model, ids, records):
    table = {"id": ids, "sequence": records}
    sl.infer.explain(model, table, target="yes", window=8)


def export(model, ids, records):
    del ids, records
    sl.export.save(model, "made", overwrite=True)


def predict_exported(model, ids, records):
    sl.infer.predict(made_of(model), write(records, ids))


def seqloom_run(model, ids, records):
    words = [PROGRAM, made_of(model), write(records, ids)]
    found = subprocess.run(words, capture_output=True, check=True, text=True)
    return [it for it in found.stderr.splitlines() if it.startswith("warning: ")]


def made_of(model):
    """An exported model; the warning of the export is raised here, not in the tests."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        sl.export.save(model, "made.seqloom", overwrite=True)
    return "made.seqloom"


def write(records, ids=None):
    path = Path("records.fa")
    names = ids or [f"r{row}" for row in range(len(records))]
    pairs = zip(names, records, strict=True)
    path.write_text("".join(f">{name}\n{it}\n" for name, it in pairs))
    return path


# evaluate and export write no table, so they do not check ids; an export reads no
# records.
ALL_CHECK_NAMES = {"kind", "length", "twice", "unfinished"}
CHECKS_OF_ENTRY_POINT = {
    predict_list: ALL_CHECK_NAMES,
    predict_file: ALL_CHECK_NAMES - {"twice"},
    predict_table: ALL_CHECK_NAMES,
    predict_intervals: ALL_CHECK_NAMES - {"twice"},
    evaluate: ALL_CHECK_NAMES - {"twice"},
    explain: ALL_CHECK_NAMES,
    export: {"unfinished"},
    predict_exported: ALL_CHECK_NAMES,
    seqloom_run: ALL_CHECK_NAMES,
}


@pytest.mark.parametrize("entry_point", CHECKS_OF_ENTRY_POINT, ids=lambda it: it.__name__)
@pytest.mark.parametrize("fault", RECORDS_AND_WARNING_BY_CHECK)
@pytest.mark.filterwarnings("ignore:.*training record:UserWarning")
def test_each_way_to_use_a_model_warns_about_unsuitable_records(
    home, tmp_path, monkeypatch, entry_point, fault
):
    monkeypatch.chdir(tmp_path)
    records, said = RECORDS_AND_WARNING_BY_CHECK[fault]
    ids = ["x"] * len(records) if fault == "twice" else list(map(str, range(len(records))))
    model = home / ("stopped" if fault == "unfinished" else "run")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DataWarning)
        printed = entry_point(model, ids, records) or []
    texts = [*printed, *(str(it.message) for it in caught)]
    assert sum(said in text for text in texts) == (
        fault in CHECKS_OF_ENTRY_POINT[entry_point]
    )
    assert all(it.filename == __file__ for it in caught)


def test_fit_warns_about_each_set_with_another_alphabet_or_length():
    table = {"sequence": DNA_SEQUENCES, "label": ["yes", "no"] * 80}
    encoder = sl.encode.OneHot("protein")
    data = sl.data.SequenceDataset(table, encoder=encoder)
    longer = {"sequence": [it * 2 for it in DNA_SEQUENCES], "label": ["yes", "no"] * 80}
    valid = sl.data.SequenceDataset(longer, encoder=encoder)
    config = sl.models.SequenceCNNConfig(channels=20, outputs=2, widths=(4,))
    with pytest.warns(DataWarning) as caught:
        sl.train.fit(config, data, valid, epochs=1)
    said = [str(it.message) for it in caught]
    for name in ("training", "validation"):
        text = f"the sequences of the {name} set look like dna, but the encoder reads"
        assert sum(it.startswith(text) for it in said) == 1
    text = "the validation set: 160 of 160 sequences have 16 to 18 residues, but"
    assert sum(it.startswith(text) for it in said) == 1
    assert {it.filename for it in caught} == {__file__}


def test_embed_warns_about_dna_for_a_protein_model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def one_hot(batch):
        return np.eye(33, dtype=np.float32)[batch["input_ids"]]

    with pytest.warns(DataWarning, match="look like dna, but the model reads protein"):
        sl.infer.embed(one_hot, write(DNA_SEQUENCES), out="made")


def test_dna_is_recognised_from_100_bases(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("few.fa").write_text(">a\n" + "ACGTTGCAAC" * 10 + "\n")

    def one_hot(batch):
        return np.eye(33, dtype=np.float32)[batch["input_ids"]]

    with pytest.warns(DataWarning, match="look like dna"):
        sl.infer.embed(one_hot, "few.fa", out="made")


def test_settings_and_model_card_mention_an_unfinished_run(tmp_path, toy, small):
    class Stop:
        def on_epoch(self, *_):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sl.train.fit(small, toy(), epochs=9, out=tmp_path / "run", callbacks=[Stop()])
    assert not sl.models.load(tmp_path / "run").is_finished
    assert "has not finished" in (tmp_path / "run/README.md").read_text()
    sl.train.fit(small, toy(), epochs=9, out=tmp_path / "run", resume=True)
    assert sl.models.load(tmp_path / "run").is_finished
    assert "has not finished" not in (tmp_path / "run/README.md").read_text()


def test_a_run_without_results_counts_as_unfinished(tmp_path, toy, small):
    sl.train.fit(small, toy(), epochs=1, out=tmp_path / "run")
    settings = tmp_path / "run/config.json"
    settings.write_text(settings.read_text().replace(',\n  "finished": true', ""))
    assert sl.models.load(tmp_path / "run").is_finished
    (tmp_path / "run/results.json").unlink()
    assert not sl.models.load(tmp_path / "run").is_finished
