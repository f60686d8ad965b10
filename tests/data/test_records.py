"""Datasets of FASTA and FASTQ: augmentation, slices, pickling and other processes."""

import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from seqloom import Key
from seqloom._ragged import Ragged
from seqloom.data import Labels, SequenceDataset, folds, split
from seqloom.data._position import Position
from seqloom.data._sequence_source import SequenceSource
from seqloom.encode import Integer, Kmer, OneHot, Tokens
from seqloom.errors import (
    AlphabetError,
    ArgumentError,
    FileError,
    FormatError,
    LabelError,
    OutOfRangeError,
)

TWO_SEQUENCES = {"a": "ACGT", "b": "GG"}


class Rotate:
    """Rotates a sequence by a number of positions from the key."""

    def __call__(self, sequence, key, quality=None) -> Any:
        turn = key.words[0] % max(len(sequence), 1)
        turned = sequence[turn:] + sequence[:turn]
        return turned if quality is None else (turned, quality[turn:] + quality[:turn])


class RotateBatch(Rotate):
    """The augmentation `Rotate`, with a method for batches."""

    def batch(self, sequences, keys, **_):
        rows = zip(sequences.to_list(), keys.tolist(), strict=True)
        return Ragged.from_list([self(row, Key.from_json(words)) for row, words in rows])


@pytest.fixture
def fastq(tmp_path):
    (tmp_path / "a.fq").write_text("@a x\nACGT\n+\n@+I!\n@b\nGG\n+\nIH\n")
    return tmp_path / "a.fq"


@pytest.fixture
def many(fasta):
    return fasta({f"s{i}": "ACGGT" * 4 for i in range(40)}, "many.fa")


def sequences(dataset, **options):
    return dataset.batch(np.arange(len(dataset)), **options)["sequence"]


def test_a_fastq_item_contains_its_quality_string(fastq):
    data = SequenceDataset(fastq)
    assert (data[0]["quality"], data[1]["quality"]) == (b"@+I!", b"IH")
    assert list(data[0]) == ["id", "sequence", "quality", "file", "ordinal"]


def test_encoding_reads_encodes_their_sequences(fastq):
    batch = SequenceDataset(fastq, encoder=OneHot("dna")).batch([0, 1])
    np.testing.assert_array_equal(
        batch["inputs"], OneHot("dna").batch(["ACGT", "GG"], length=4)
    )


def test_a_dataset_of_fasta_and_fastq_files_is_an_error(fastq, fasta):
    with pytest.raises(FormatError, match=r"a\.fq: FASTQ, but .*a\.fa is FASTA"):
        SequenceDataset([fasta(TWO_SEQUENCES), fastq])


def test_a_quality_score_outside_the_given_encoding_is_an_error(fastq):
    with pytest.raises(FormatError):
        SequenceDataset(fastq, quality="phred64")


def test_a_slice_of_a_dataset_is_a_subset(many):
    data = SequenceDataset(many)
    assert data[5:20:5].whole is data
    assert data[5:20:5].ids == ["s5", "s10", "s15"]
    assert data[::-1][0]["id"] == "s39"
    assert data[10:20][-3:].ids == ["s17", "s18", "s19"]
    assert not len(data[50:])


@pytest.mark.parametrize("index", [3, -4])
def test_an_index_beyond_a_subset_is_an_error_with_its_size(many, index):
    with pytest.raises(OutOfRangeError, match=f"index {index} is out of range for 3 items"):
        SequenceDataset(many)[:3][index]


def test_two_iterators_over_one_dataset_are_independent(many):
    data = SequenceDataset(many)
    first, second = iter(data), iter(data)
    assert [next(first)["id"], next(first)["id"], next(second)["id"]] == ["s0", "s1", "s0"]


@pytest.mark.parametrize("augment", [Rotate(), RotateBatch()], ids=["each", "batch"])
def test_the_augmentation_key_depends_on_seed_epoch_and_ordinal(many, augment):
    data = SequenceDataset(many, augment=augment, seed=5)
    for epoch in range(3):
        wanted = [Rotate()(b"ACGGT" * 4, Key(5, epoch, i)) for i in range(40)]
        assert sequences(data, epoch=epoch) == wanted


def test_augmentation_permutes_qualities_like_the_residues(fastq):
    data = SequenceDataset(fastq, augment=Rotate())
    batch = data.batch([0, 1], epoch=4)
    wanted = [
        Rotate()(row, Key(0, 4, i), quality)
        for i, (row, quality) in enumerate([(b"ACGT", b"@+I!"), (b"GG", b"IH")])
    ]
    assert list(zip(batch["sequence"], batch["quality"], strict=True)) == wanted


def test_an_item_is_augmented_by_the_epoch_of_its_sampler_position(many):
    data = SequenceDataset(many, augment=Rotate())
    for whole in (data, data[:]):
        alone = [whole[Position(i, epoch=2)]["sequence"] for i in range(5)]
        several = whole.__getitems__([Position(i, epoch=2) for i in range(5)])
        assert alone == [item["sequence"] for item in several]
        assert alone == sequences(data, epoch=2)[:5]


def test_set_epoch_changes_the_augmentation_of_indexed_items(many):
    data = SequenceDataset(many, augment=Rotate())
    data.set_epoch(3)
    assert [item["sequence"] for item in data] == sequences(data, epoch=3)
    assert sequences(data) == sequences(data, epoch=3)


def test_set_epoch_does_not_affect_a_running_iteration(many):
    data = SequenceDataset(many, augment=Rotate())
    items = iter(data)
    data.set_epoch(1)
    assert next(items)["sequence"] == sequences(data, epoch=0)[0]


def test_set_epoch_reaches_persistent_pytorch_workers(many):
    loaders = pytest.importorskip("torch.utils.data")
    data = SequenceDataset(many, augment=Rotate())
    loader = loaders.DataLoader(
        data, batch_size=8, num_workers=1, persistent_workers=True, collate_fn=list
    )
    for epoch in (2, 5):
        data.set_epoch(epoch)
        found = [item["sequence"] for batch in loader for item in batch]
        assert found == sequences(data, epoch=epoch)


def test_only_the_training_set_of_a_split_is_augmented(many):
    data = SequenceDataset(many, augment=Rotate())
    train, valid = split(data, (0.5, 0.5))
    assert set(valid.to_numpy()["sequence"]) == {b"ACGGT" * 4}
    assert set(train.to_numpy()["sequence"]) != {b"ACGGT" * 4}
    assert all(valid.augment is None and train.augment for train, valid in folds(data, 3))


def test_errors_for_invalid_augmented_characters_mention_augmentation(fasta):
    def add_invalid(sequence, key):
        return sequence[:1] + b"J"

    data = SequenceDataset(fasta(TWO_SEQUENCES), encoder=OneHot("dna"), augment=add_invalid)
    with pytest.raises(
        AlphabetError, match=r"record 1 \(b\), residue 1 after augmentation: .*found 'J'"
    ):
        data[1]


def test_a_label_function_of_a_dataset_may_return_classes(fasta):
    data = SequenceDataset(
        fasta([("a one", "AC"), ("a two", "GGG")]), labels=lambda record: record.description
    )
    assert (data.classes, data.labels.tolist()) == (("one", "two"), [0, 1])


def test_a_label_function_of_a_dataset_may_return_numbers(fasta):
    data = SequenceDataset(
        fasta(TWO_SEQUENCES),
        labels=Labels(lambda record: len(record.sequence) / 3, task="regress"),
    )
    np.testing.assert_array_equal(data.labels, np.array([4 / 3, 2 / 3], np.float32))


def test_records_without_a_label_from_a_function_can_be_skipped(fasta):
    def label(record):
        return {"a": "x", "c": "y"}.get(record.id)

    path = fasta({"a": "AC", "b": "GG", "c": "T"})
    with pytest.raises(LabelError, match="1 of 3 sequences have no label in the function"):
        SequenceDataset(path, labels=label)
    data = SequenceDataset(path, labels=Labels(label, unlabelled="skip"))
    assert (data.ids, data[1]["ordinal"]) == (["a", "c"], 2)
    assert data.report == {
        "unlabelled": 1,
        "unlabelled_examples": ["b"],
        "letters": {"letters": 3, "soft_masked": 0},
    }


def test_a_sequence_batch_can_be_written_into_an_out_array(many):
    data = SequenceDataset(many, encoder=OneHot("dna"))
    out = np.full((2, 4, 24), 9, np.float32)
    batch = data.batch([1, 0], out=out, multiple=8)
    assert batch["inputs"] is out
    np.testing.assert_array_equal(out, data.batch([1, 0], multiple=8)["inputs"])


def test_dataset_batches_do_not_depend_on_the_number_of_threads(many):
    data = SequenceDataset(many, encoder=OneHot("dna"))
    one, two = (data.batch(np.arange(40), num_threads=n) for n in (1, 2))
    np.testing.assert_equal(one, two)


def test_a_batch_of_a_dataset_does_not_change_later(many):
    data = SequenceDataset(many, encoder=OneHot("dna"))
    kept = [data.batch([i, i + 1])["inputs"] for i in range(30)]
    for i, batch in enumerate(kept):
        np.testing.assert_array_equal(batch, data.batch([i, i + 1])["inputs"])
    assert not any(np.shares_memory(a, b) for a, b in pairwise(kept))


def test_a_pickled_dataset_of_files_contains_no_sequences(fasta):
    data = SequenceDataset(fasta({"a": "ACGT" * 100_000}))
    assert len(pickle.dumps(data)) < 5_000


def test_a_pickled_dataset_opens_its_files_on_first_use(fasta, tmp_path):
    data = SequenceDataset(fasta(TWO_SEQUENCES), labels={"a": 1, "b": 2})
    again = pickle.loads(pickle.dumps(data))  # noqa: S301 - ours
    assert len(again) == 2
    (tmp_path / "a.fa").rename(tmp_path / "b.fa")
    with pytest.raises(FileError, match="no such file"):
        again[0]
    (tmp_path / "b.fa").rename(tmp_path / "a.fa")
    np.testing.assert_equal(again[1], data[1])


def test_a_pickled_dataset_of_a_changed_file_is_an_error(fasta):
    text = pickle.dumps(SequenceDataset(fasta(TWO_SEQUENCES)))
    fasta({"a": "ACGT", "b": "GC"})
    with pytest.raises(FileError, match=r"a\.fa: the content has changed"):
        pickle.loads(text)[0]  # noqa: S301 - ours


@pytest.mark.parametrize("labels", [None, {"a": 0, "b": 1}])
def test_the_fingerprint_does_not_depend_on_the_option_in_memory(fasta, labels):
    path = fasta(TWO_SEQUENCES)
    held, indexed = (
        SequenceDataset(path, labels=labels, in_memory=choice) for choice in (True, False)
    )
    assert held.fingerprint() == indexed.fingerprint()


def test_a_pickled_dataset_still_skips_unlabelled_records(fasta):
    path = fasta({"a": "AC", "b": "GG", "c": "T"})
    data = SequenceDataset(path, labels=Labels({"a": 0, "c": 1}, unlabelled="skip"))
    again = pickle.loads(pickle.dumps(data))  # noqa: S301 - ours
    assert (again.ids, again.fingerprint()) == (data.ids, data.fingerprint())


@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_dataset_returns_equal_items_in_other_processes(many, method):
    data = SequenceDataset(many, encoder=OneHot("dna"))
    context = multiprocessing.get_context(method)
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        found = pool.submit(data.batch, [7, 3]).result()
    np.testing.assert_equal(found, data.batch([7, 3]))


@pytest.mark.parametrize("value", ["no", None])
def test_the_option_unlabelled_must_be_error_or_skip(fasta, value):
    with pytest.raises(ArgumentError, match='unlabelled must be "error" or "skip"'):
        SequenceDataset(fasta(TWO_SEQUENCES), labels=Labels(unlabelled=value))


@pytest.fixture
def both_stores(many, fastq):
    """The same files as two datasets: in memory, and read through an index."""

    def make(path, **options):
        return [SequenceDataset(path, in_memory=held, **options) for held in (True, False)]

    return make


def test_records_read_by_index_equal_records_in_memory(many, fasta, both_stores):
    paths = [many, fasta({"x": "ACCA", "y": "GG"}, "more.fa")]
    held, left = both_stores(paths, encoder=OneHot("dna"), augment=Rotate())
    order = np.random.default_rng(0).permutation(42)
    np.testing.assert_equal(left.batch(order, epoch=2), held.batch(order, epoch=2))
    assert (left.ids, len(left), str(left)) == (held.ids, len(held), str(held))


def test_fastq_reads_read_by_index_equal_reads_in_memory(fastq, both_stores):
    held, left = both_stores(fastq, labels=lambda record: len(record.sequence))
    np.testing.assert_equal(left.batch([1, 0, 1]), held.batch([1, 0, 1]))


def test_unlabelled_records_of_indexed_files_can_be_skipped(many, both_stores):
    labels = {f"s{i}": i % 2 for i in range(0, 40, 3)}
    held, left = both_stores(many, labels=Labels(labels, unlabelled="skip"))
    np.testing.assert_equal(left.to_numpy(), held.to_numpy())


def test_a_pickled_dataset_of_indexed_files_works_in_other_processes(many, both_stores):
    _, left = both_stores(many, encoder=OneHot("dna"))
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        found = pool.submit(left.batch, [7, 3]).result()
    np.testing.assert_equal(found, left.batch([7, 3]))


def test_an_invalid_character_in_an_indexed_file_is_an_error_in_batch(fasta, both_stores):
    path = fasta({"a": "ACGT", "b": "AJ"})
    left = SequenceDataset(path, encoder=OneHot("dna"), in_memory=False)
    with pytest.raises(AlphabetError, match=r"record 1 \(b\), line 4, byte 12"):
        left[1]


def test_large_files_are_read_through_an_index(many, monkeypatch):
    monkeypatch.setattr("seqloom.data._sequence_source.MEMORY_LIMIT_BYTES", 100)
    data = SequenceDataset(many)
    assert many.with_name("many.fa.sli").exists()
    assert data[3]["sequence"] == b"ACGGT" * 4


@pytest.mark.parametrize(
    "encoder",
    [
        pytest.param(Kmer(2), id="kmers"),
        pytest.param(Kmer(2, stride=2), id="stride"),
        pytest.param(Kmer(2, counts=True), id="counts"),
        pytest.param(Integer("dna"), id="integers"),
        pytest.param(Tokens("dna"), id="tokens"),
        pytest.param(OneHot("dna", channels="last"), id="last"),
    ],
)
@pytest.mark.parametrize("held", [True, False])
def test_an_item_has_the_number_of_positions_of_its_encoder(fasta, encoder, held):
    rows = {"a": "ACGTACG", "b": "ACGT", "c": "GG"}
    data = SequenceDataset(fasta(rows), encoder=encoder, in_memory=held)
    batch = data.batch([0, 1, 2])
    for i, letters in enumerate(rows.values()):
        wanted = encoder(letters)
        np.testing.assert_array_equal(data[i]["inputs"], wanted)
        axis = 1 if encoder.channels == "first" else 0
        assert batch["lengths"][i] == wanted.shape[axis]
        if "mask" in batch:
            assert batch["mask"][i].sum() == wanted.shape[axis]


def test_a_sequence_too_short_for_the_encoder_is_an_error(fasta):
    encoder: Any = Kmer(3)
    with pytest.raises(FormatError, match=r"record 1 \(b\): 2 residues are too few"):
        SequenceDataset(fasta(TWO_SEQUENCES), encoder=encoder)


def test_column_arrays_of_a_dataset_in_memory_are_read_only(tmp_path):
    (tmp_path / "a.fa").write_text(">a\nACGT\n")
    dataset = SequenceDataset(tmp_path / "a.fa")
    assert isinstance(dataset.source, SequenceSource)
    (batch,) = dataset.source.store.batches()
    for column in (batch.headers, batch.sequences):
        with pytest.raises(ValueError, match="read-only"):
            column.data[0] = 0
        with pytest.raises(ValueError, match="read-only"):
            column.offsets[0] = 1
