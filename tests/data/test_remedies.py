"""The option that an error message recommends is accepted, and prevents the error."""

import gc
import re
from pathlib import Path
from typing import Any

import pytest

import seqloom as sl
from seqloom.data import (
    GenotypeDataset,
    Labels,
    PackedStream,
    SequenceDataset,
    SequenceStream,
    guess_alphabet,
)
from seqloom.encode import OneHot
from seqloom.errors import SeqloomError

PLAIN_FASTA = ">a\nACGTACGT\n>b\nGGCCGGCC\n>c\nTTTTACGT\n"
BLANK, COMMENT = PLAIN_FASTA.replace("GTAC", "GT AC"), PLAIN_FASTA.replace(">b", ";x\n>b")
LABEL_OF_ID = {"a": "x", "b": "y"}


def dataset(text=PLAIN_FASTA, *, labels=None, **options):
    """Open a FASTA file with the given text."""
    Path("a.fa").write_text(text)
    return SequenceDataset("a.fa", **with_labels(labels, options))


def stream(text=PLAIN_FASTA, *, labels=None, **options):
    """Read a stream of the given text to its end."""
    Path("a.fa").write_text(text)
    return list(SequenceStream("a.fa", **with_labels(labels, options)))


def with_labels(source, options) -> dict[str, Any]:
    """Move label options into a `Labels` object."""
    of_labels = {"unlabelled", "task", "coding"} & options.keys()
    labels = Labels(source, **{key: options.pop(key) for key in of_labels})
    return {"labels": labels, **options}


def packed(text=PLAIN_FASTA, **options):
    """Pack the records of a FASTA file with the given text."""
    Path("a.fa").write_text(text)
    return list(PackedStream("a.fa", **options))


def guess(text, **options):
    """Guess the alphabet of a file with the given text and many valid records."""
    Path("a.fa").write_text(text + "".join(f">{i}\nACGTNNNN\n" for i in range(5000)))
    return guess_alphabet("a.fa", **options)


def inspect_file(text, **options):
    """Inspect a FASTA file with the given text."""
    Path("a.fa").write_text(text)
    return sl.io.inspect("a.fa", **options)


def protein(letters, **policy):
    """Open one protein with the given encoder options."""
    return SequenceDataset({"a": letters}, encoder=OneHot("protein", **policy))


def dna(letters, **policy):
    """Open one DNA sequence with the given encoder options."""
    return SequenceDataset({"a": letters}, encoder=OneHot("dna", **policy))


def samples(labels, **options):
    """Open three samples with labels or covariates."""
    sl.io.to_bed("x.bed", [[0, 1], [2, 1], [1, 0]])
    return GenotypeDataset("x.bed", **with_labels(labels, options))


INDIVIDUAL_IDS = ["iid1", "iid2", "iid3"]
LABELS_WITH_GAPS = {"iid1": 1.5, "iid2": 2.5}
# (function, arguments that raise, remedy in the message)
FAILING_CALLS_WITH_REMEDIES = [
    (dataset, {"text": BLANK}, {"whitespace": "strip"}),
    (stream, {"text": BLANK}, {"whitespace": "strip"}),
    (guess, {"text": BLANK}, {"whitespace": "strip"}),
    (inspect_file, {"text": BLANK}, {"whitespace": "strip"}),
    (inspect_file, {"text": COMMENT}, {"comments": "skip"}),
    (dataset, {"text": COMMENT}, {"comments": "skip"}),
    (stream, {"text": COMMENT}, {"comments": "skip"}),
    (guess, {"text": COMMENT}, {"comments": "skip"}),
    (guess, {"text": ">a\nAC-GT\n"}, {"symbols": "zeros"}),
    (packed, {"text": BLANK}, {"whitespace": "strip"}),
    (packed, {"text": COMMENT}, {"comments": "skip"}),
    (packed, {"text": ">a\n>b\nACGT\n"}, {"empty": "keep"}),
    (packed, {"text": PLAIN_FASTA, "max_tokens": 9}, {"max_tokens": 10}),
    (dataset, {"labels": LABEL_OF_ID}, {"unlabelled": "skip"}),
    (stream, {"labels": LABEL_OF_ID}, {"unlabelled": "skip"}),
    (dataset, {"labels": LABEL_OF_ID | {"c": "?", "a": 1, "b": 2}}, {"task": "classify"}),
    (dataset, {"labels": [1, 2.5, 3]}, {"task": "regress"}),
    (dataset, {"labels": ("1,2", "3,4", "1,4")}, None),
    (protein, {"letters": "MUK"}, {"rare": "replace"}),
    (protein, {"letters": "M*K"}, {"symbols": "zeros"}),
    (dna, {"letters": "AC-T"}, {"symbols": "zeros"}),
    (dna, {"letters": "ACUT"}, {"rna_as_dna": True}),
    (dna, {"letters": "acgt", "case": "error"}, {"case": "fold"}),
    (samples, {"labels": LABELS_WITH_GAPS}, {"unlabelled": "skip"}),
    (samples, {"labels": ["0", "1", "2"]}, {"coding": "12"}),
    (
        samples,
        {"labels": False, "covariates": LABELS_WITH_GAPS},
        {"missing_covariates": "mean"},
    ),
]


def test_a_stream_that_fails_at_construction_causes_no_warnings():
    # pytest reports exceptions of finalisers as errors.
    with pytest.raises(SeqloomError) as caught:
        stream(labels=LABEL_OF_ID)
    caught.value.args += (caught,)  # a cycle, which only the garbage collector frees
    del caught
    gc.collect()


@pytest.fixture(autouse=True)
def _in_tmp_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("door", "given", "remedy"),
    FAILING_CALLS_WITH_REMEDIES,
    ids=range(len(FAILING_CALLS_WITH_REMEDIES)),
)
def test_remedies_suggested_by_error_messages_work(door, given, remedy):
    if door is samples and isinstance(given["labels"], list):
        given = {"labels": dict(zip(INDIVIDUAL_IDS, given["labels"], strict=True))}
    if remedy is None:
        given = {"labels": dict(zip("abc", given["labels"], strict=True))}
        remedy = {"task": "multilabel"}
    with pytest.raises(SeqloomError) as caught:
        door(**given)
    name, value = next(iter(remedy.items()))
    assert re.search(rf"{name}=[\"']?{value}[\"']?", str(caught.value)), caught.value
    door(**{**given, **remedy})


@pytest.mark.parametrize("door", [dataset, stream, packed, guess, inspect_file])
def test_records_with_empty_headers_can_be_numbered(door):
    text = PLAIN_FASTA.replace(">b", ">")
    with pytest.raises(SeqloomError, match=r'expected an id .*ids="number"'):
        door(text)
    door(text, ids="number")
    assert dataset(text, ids="number").ids == ["a", "1", "c"]


INTERVAL_COLUMNS = {"chrom": ["a"], "start": [1], "stop": [7]}
FUNCTIONS_THAT_INDEX_A_FASTA = {
    "SequenceIndex": sl.io.SequenceIndex,
    "build_index": sl.io.build_index,
    "IntervalDataset": lambda path: sl.data.IntervalDataset(path, INTERVAL_COLUMNS),
    "windows": lambda path: sl.data.windows(path, 4),
    "seqloom index": lambda path: shell("index", path),
}


def shell(*words):
    """Run a command line, and raise its error."""
    from seqloom.cli._app import make_app

    make_app(words)(list(words))


@pytest.mark.parametrize("door", FUNCTIONS_THAT_INDEX_A_FASTA)
@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        (BLANK, "--whitespace strip"),
        (COMMENT, "--comments skip"),
        (PLAIN_FASTA.replace(">b", ">"), "--ids number"),
    ],
)
def test_errors_for_files_that_cannot_be_indexed_suggest_convert(door, text, remedy):
    Path("a.fa").write_text(text)
    with pytest.raises(SeqloomError, match=f"seqloom convert {remedy}"):
        FUNCTIONS_THAT_INDEX_A_FASTA[door]("a.fa")
    shell("convert", "a.fa", "clean.fa", *remedy.split())
    FUNCTIONS_THAT_INDEX_A_FASTA[door]("clean.fa")


def test_the_error_of_predict_suggests_a_dataset_with_options():
    data = dataset(labels=LABEL_OF_ID | {"c": "y"}, encoder=OneHot("dna"))
    config = sl.models.SequenceCNNConfig.for_data(data)
    model = sl.train.fit(config, data, epochs=1).trained
    Path("b.fa").write_text(BLANK)
    call = r"SequenceDataset\(data, encoder=model.encoder, whitespace=.strip.\)"
    with pytest.raises(SeqloomError, match=call):
        sl.infer.predict(model, "b.fa")
    cleaned = SequenceDataset("b.fa", encoder=model.encoder, whitespace="strip")
    assert sl.infer.predict(model, cleaned).ids == ["a", "b", "c"]


COMMANDS_WITH_OPTION = {
    "whitespace": ("inspect", "convert", "train", "evaluate", "predict"),
    "comments": ("inspect", "convert", "train", "evaluate", "predict"),
    "ids": ("inspect", "convert", "train", "evaluate", "predict"),
    "quality": ("inspect", "convert", "train", "evaluate", "predict"),
    "sequence_column": ("train", "evaluate", "predict"),
    "id_column": ("train", "evaluate", "predict"),
    "missing_covariates": ("train", "evaluate", "predict"),
    "unlabelled": ("train", "evaluate"),
    "missing": ("train", "evaluate"),
    "label_column": ("train", "evaluate"),
    "coding": ("train", "evaluate"),
    "task": ("train",),
    "rare": ("train",),
    "symbols": ("train",),
    "case": ("train",),
    "unknown": ("train",),
    "rna_as_dna": ("train",),
}


@pytest.mark.sample(5)
@pytest.mark.parametrize("name", COMMANDS_WITH_OPTION)
def test_errors_of_the_command_line_suggest_its_options(name, capsys):
    from seqloom.cli import main

    # Options that --help does not list are passed with --set.
    for command in COMMANDS_WITH_OPTION[name]:
        texts: list[str] = []
        for words in (["--help"], ["--set", "help"]):
            with pytest.raises(SystemExit):
                main([command, *words])
            texts.append(" ".join(capsys.readouterr().out.split()))
        assert f"--{name.replace('_', '-')} " in texts[0] or f"{name} " in texts[1]
