import gzip
import pickle

import numpy as np
import pytest

import seqloom as sl
from seqloom._demo import example_path
from seqloom.augment import ReverseComplement
from seqloom.data import Labels, SequenceDataset
from seqloom.encode import OneHot
from seqloom.errors import (
    AlphabetError,
    ArgumentError,
    FormatError,
    MissingFileError,
    OutOfRangeError,
    ShapeError,
)

TWO_SEQUENCES = {"a": "ACGT", "b": "GG"}


def test_the_quickstart_dataset_prints_the_documented_output():
    data = SequenceDataset(
        example_path("train.fa.gz"), labels=example_path("train.tsv"), encoder=OneHot("dna")
    )
    assert str(data) == "2,000 sequences of 60; EI 464, IE 485, N 1,051"


def test_the_summary_of_a_dataset_shows_unequal_lengths_as_a_range(hundred):
    assert str(hundred) == "100 sequences of 1 to 9; x 60, y 30, z 10"


def test_an_item_without_an_encoder_contains_the_sequence(fasta):
    file = fasta(TWO_SEQUENCES)
    assert SequenceDataset(file, labels={"a": 1, "b": 2})[1] == {
        "id": "b",
        "sequence": b"GG",
        "file": str(file),
        "ordinal": 1,
        "label": 1,
    }


def test_an_item_with_an_encoder_contains_the_encoded_array(fasta):
    item = SequenceDataset(fasta(TWO_SEQUENCES), encoder=OneHot("dna"))[1]
    np.testing.assert_array_equal(item["inputs"], OneHot("dna")("GG"))
    assert "sequence" not in item
    assert "label" not in item


def test_channels_last_items_of_a_dataset_are_not_padded(fasta):
    data = SequenceDataset(fasta(TWO_SEQUENCES), encoder=OneHot("dna", channels="last"))
    assert [item["inputs"].shape for item in data.__getitems__([0, 1])] == [(4, 4), (2, 4)]


def test_ordinals_of_a_dataset_count_over_all_files(hundred):
    item = hundred[70]
    assert (item["ordinal"], item["id"]) == (70, "s70")
    assert item["file"].endswith("1.fa")


def test_dataset_items_fetched_together_equal_items_fetched_alone(hundred):
    together = hundred.__getitems__([3, 99, 3])
    for item, alone in zip(together, [hundred[3], hundred[99], hundred[3]], strict=True):
        np.testing.assert_equal(item, alone)


def test_iterating_over_a_dataset_ends_after_the_last_item(fasta):
    assert [item["id"] for item in SequenceDataset(fasta(TWO_SEQUENCES))] == ["a", "b"]


def test_a_negative_dataset_index_counts_from_the_end(hundred):
    assert hundred[-1]["id"] == "s99"


@pytest.mark.parametrize("index", [100, -101])
def test_the_error_for_an_index_beyond_the_dataset_shows_the_index(hundred, index):
    with pytest.raises(
        OutOfRangeError, match=f"index {index} is out of range for 100 items"
    ):
        hundred[index]


def test_a_batch_of_unequal_lengths_has_a_mask(fasta):
    batch = SequenceDataset(fasta(TWO_SEQUENCES), encoder=OneHot("dna")).batch([0, 1])
    assert batch["lengths"].tolist() == [4, 2]
    assert batch["mask"].tolist() == [[1, 1, 1, 1], [1, 1, 0, 0]]
    np.testing.assert_array_equal(batch["inputs"][1, :, 2:], 0)


def test_a_batch_of_equal_lengths_has_no_mask(fasta):
    data = SequenceDataset(fasta(TWO_SEQUENCES), encoder=OneHot("dna"))
    assert "mask" not in data.batch([1, 1])
    assert "mask" in data.batch([1, 1], length=3)


def test_the_option_multiple_rounds_the_batch_length_up(fasta):
    data = SequenceDataset(fasta(TWO_SEQUENCES), encoder=OneHot("dna"))
    assert data.batch([0, 1], multiple=8)["inputs"].shape == (2, 4, 8)


def test_the_error_for_a_sequence_longer_than_length_names_the_record(fasta):
    data = SequenceDataset(fasta(TWO_SEQUENCES), encoder=OneHot("dna"))
    with pytest.raises(ShapeError, match="'a' needs 4 positions, more than length=3; crop"):
        data.batch([0, 1], length=3)


def test_to_numpy_of_a_dataset_returns_one_batch_of_all_records(hundred):
    everything = hundred.to_numpy()
    assert everything["inputs"].shape == (100, 4, 9)
    assert everything["id"] == hundred.ids


def test_a_file_pattern_expands_to_sorted_files(fasta):
    files = [fasta({name: "AC"}, f"{name}.fa") for name in "ba"]
    data = SequenceDataset(files[0].with_name("*.fa"))
    assert data.ids == ["a", "b"]


def test_a_pattern_that_matches_no_file_is_an_error(tmp_path):
    with pytest.raises(MissingFileError, match="no file matches"):
        SequenceDataset(tmp_path / "*.fa")


def test_an_empty_list_of_files_is_an_error():
    with pytest.raises(ArgumentError, match="no file was given"):
        SequenceDataset([])


@pytest.mark.parametrize("opener", [open, gzip.open], ids=["plain", "gzip"])
def test_an_invalid_character_is_reported_with_file_record_line_and_byte(
    tmp_path, fasta, opener
):
    good = fasta({"x": "ACGT"}, "good.fa")
    with opener(tmp_path / "bad.fa", "wb") as file:
        file.write(b">a one\nACGT\nAC\n>b two\nAC\nGJT\n")
    with pytest.raises(
        AlphabetError, match=r"bad\.fa: record 1 \(b\), line 6, byte 26 of the text: "
    ) as caught:
        SequenceDataset([good, tmp_path / "bad.fa"], encoder=OneHot("dna"))
    error = caught.value
    assert (error.record, error.line, error.byte, error.position) == (1, 6, 26, 3)
    assert (error.character, error.path) == ("J", str(tmp_path / "bad.fa"))
    assert "ACGT" in str(error)


def test_a_custom_encoder_without_a_refuses_method_raises_in_batch(fasta):
    class Plain:
        channels = "first"

        def batch(self, sequences, *, length=None):
            return OneHot("dna").batch(sequences, length=length)

    data = SequenceDataset(fasta({"a": "ACGT", "b": "AJ"}), encoder=Plain())
    with pytest.raises(AlphabetError, match=r"record 1 \(b\), line 4, byte 12"):
        data[1]


def test_a_sequence_longer_than_max_length_is_an_error(fasta):
    with pytest.raises(FormatError, match=r"record 0 \(a\): 4 residues, more than 3"):
        SequenceDataset(fasta(TWO_SEQUENCES), max_length=3)


def test_an_empty_sequence_cannot_be_encoded(fasta):
    with pytest.raises(FormatError, match=r"record 1 \(b\): the sequence has no residues"):
        SequenceDataset(fasta({"a": "AC", "b": ""}), encoder=OneHot("dna"))


def test_a_pickled_sequence_dataset_is_equal(hundred):
    again = pickle.loads(pickle.dumps(hundred))  # noqa: S301 - ours
    assert again.fingerprint() == hundred.fingerprint()
    np.testing.assert_equal(again[17], hundred[17])


def test_the_fingerprint_depends_on_content_but_not_on_file_names(fasta):
    same = [
        SequenceDataset(fasta(TWO_SEQUENCES, name)).fingerprint()
        for name in ("a.fa", "b.fa")
    ]
    other = SequenceDataset(fasta({"a": "ACGA", "b": "GG"})).fingerprint()
    assert same[0] == same[1] != other


def test_a_dataset_without_labels_may_have_duplicate_ids(fasta):
    assert len(SequenceDataset(fasta([("a", "AC"), ("a", "GG")]))) == 2


@pytest.mark.parametrize("encoder", ["dna", "onehot", "DNA", OneHot, 4])
def test_the_error_for_an_invalid_encoder_shows_a_valid_one(fasta, encoder):
    with pytest.raises(ArgumentError, match=r'such as sl\.encode\.OneHot\("dna"\), got'):
        SequenceDataset(fasta(TWO_SEQUENCES), encoder=encoder)


@pytest.mark.parametrize("augment", ["rc", ReverseComplement])
def test_a_dataset_with_an_invalid_augmentation_is_an_error(fasta, augment):
    with pytest.raises(ArgumentError, match=r"an augmentation of sl\.augment"):
        SequenceDataset(fasta(TWO_SEQUENCES), augment=augment)


@pytest.mark.parametrize(
    ("alphabet", "letters", "expected"),
    [
        ("dna", ["ACGTN", "nnryACgt"], {"letters": 13, "N": 3, "ambiguous": 2}),
        ("protein", ["MKXB", "zzjxA"], {"letters": 9, "X": 2, "ambiguous": 4}),
    ],
)
def test_datasets_count_ambiguous_and_masked_residues(fasta, alphabet, letters, expected):
    path = fasta(dict(enumerate(letters)))
    data = SequenceDataset(path, encoder=OneHot(alphabet))
    lower = sum(map(str.islower, "".join(letters)))
    assert data.report["letters"] == expected | {"soft_masked": lower}


def test_residue_counts_exclude_skipped_records(fasta):
    path = fasta({"a": "ACNN", "b": "nnnn", "c": "GGGG"})
    labels = {"a": "x", "c": "y"}
    data = SequenceDataset(
        path, encoder=OneHot("dna"), labels=Labels(labels, unlabelled="skip")
    )
    assert data.report["letters"]["N"] == 2


@pytest.mark.parametrize(
    ("augment", "message"),
    [
        (sl.augment.Shift(2), 'Shift writes N, .* letter="X"'),
        (sl.augment.Mask(0.5), 'Mask writes N, .* letter="X"'),
        (sl.augment.Mutate(0.1), 'Mutate is for nucleotides, .* alphabet="protein"'),
        (
            sl.augment.ReverseComplement(),
            "ReverseComplement is for nucleotides, .* leave it",
        ),
        (sl.augment.Compose([sl.augment.Crop(2), sl.augment.Shift(1)]), "Shift writes N"),
    ],
    ids=range(5),
)
def test_augmenting_proteins_by_dna_augmentations_is_an_error(augment, message):
    encoder = sl.encode.Integer("protein")
    with pytest.raises(ArgumentError, match=message):
        SequenceDataset(["MKVLAW"], encoder=encoder, augment=augment)


@pytest.mark.parametrize(
    "augment",
    [
        sl.augment.Shift(2, letter="X"),
        sl.augment.Shift(2, mode="roll"),
        sl.augment.Mask(0.5, letter="X"),
        sl.augment.Mutate(0.1, alphabet="protein"),
        sl.augment.ShuffleKmers(),
    ],
    ids=range(5),
)
def test_augmentations_with_a_protein_alphabet_change_proteins(augment):
    encoder = sl.encode.Integer("protein")
    data = SequenceDataset(["MKVLAW"], encoder=encoder, augment=augment)
    expected = encoder.batch([augment(b"MKVLAW", sl.Key(0, 0, 0))])[0]
    np.testing.assert_array_equal(data[0]["inputs"], expected)
