"""Copies of datasets with other rows or attributes."""

import pytest

import seqloom as sl
from seqloom.data._parts import hash_sequences
from seqloom.errors import ArgumentError

SEQUENCE_OF_ID = {"x": "ACGT", "y": "GGTT", "z": "CC"}


def test_sequence_hashes_of_a_dataset_are_in_record_order():
    data = sl.data.SequenceDataset(SEQUENCE_OF_ID)
    assert [*hash_sequences(data.select([2, 1, 0]))] == [*hash_sequences(data)][::-1]


def test_a_subset_returns_records_in_the_given_order():
    source = sl.data.SequenceDataset(SEQUENCE_OF_ID).source
    turned = sl.data.Dataset(
        source, rows=sl.data.SequenceDataset(SEQUENCE_OF_ID).rows[::-1]
    )
    assert turned.ids == ["z", "y", "x"]
    assert turned.batch([0])["sequence"] == [b"CC"]
    assert turned.fingerprint() != sl.data.SequenceDataset(SEQUENCE_OF_ID).fingerprint()


def test_an_augmentation_added_by_replace_follows_the_epoch():
    augment = sl.augment.ReverseComplement(p=0.5)
    first = sl.data.SequenceDataset(SEQUENCE_OF_ID, augment=augment)
    later = sl.data.SequenceDataset(SEQUENCE_OF_ID).replace(augment=augment)
    for epoch in range(8):
        first.set_epoch(epoch)
        later.set_epoch(epoch)
        assert [it["sequence"] for it in later] == [it["sequence"] for it in first]
    assert later.plain().augment is None


def test_replacing_an_unknown_dataset_attribute_is_an_error():
    with pytest.raises(sl.errors.ArgumentError, match="got augmnet"):
        sl.data.SequenceDataset(SEQUENCE_OF_ID).replace(augmnet=None)


def test_replacing_the_encoder_updates_the_residue_counts():
    data = sl.data.SequenceDataset({"x": "ACGN"})
    assert "N" not in data.report["letters"]
    nucleotides = data.replace(encoder=sl.encode.OneHot("dna"))
    assert nucleotides.report["letters"]["N"] == 1
    assert "N" not in data.report["letters"]


def test_a_subset_of_a_copied_dataset_has_the_report_of_the_copy():
    part = sl.data.SequenceDataset(SEQUENCE_OF_ID)[:2]
    copy = part.replace(encoder=sl.encode.OneHot("dna"))
    assert copy.report is copy.whole.report
    assert copy.report is not part.report


def test_subsets_with_and_without_augmentation_share_one_report():
    data = sl.data.SequenceDataset(SEQUENCE_OF_ID, augment=sl.augment.ReverseComplement())
    assert data.plain().report is data.report


def test_intervals_with_jitter_removed_have_the_original_fingerprint(tmp_path):
    (tmp_path / "g.fa").write_text(">c\nACGTACGTACGT\n")
    (tmp_path / "i.bed").write_text("c\t4\t6\n")
    paths = tmp_path / "g.fa", tmp_path / "i.bed"
    moved = sl.data.IntervalDataset(*paths, jitter=2)
    assert moved.fingerprint() == moved.fingerprint()
    still = sl.data.IntervalDataset(*paths)
    assert moved.plain().fingerprint() == still.fingerprint()
    assert moved.fingerprint() != still.fingerprint()


def test_replace_on_a_subset_keeps_the_settings_of_the_subset():
    part = sl.data.SequenceDataset(SEQUENCE_OF_ID)[1:]
    part.encoder = sl.encode.OneHot("dna")
    copy = part.replace(seed=3)
    assert (copy.encoder, copy.seed, copy.ids) == (part.encoder, 3, ["y", "z"])


def test_the_plain_method_of_a_dataset_removes_its_augmentation():
    data = sl.data.SequenceDataset({"x": "AAC"})
    data.augment = sl.augment.ReverseComplement(p=1.0)
    assert (data[0]["sequence"], data.plain()[0]["sequence"]) == (b"GTT", b"AAC")


def test_an_augmentation_set_as_attribute_differs_between_epochs():
    data = sl.data.SequenceDataset({f"x{n}": "AAC" for n in range(40)})
    data.augment = sl.augment.ReverseComplement()
    drawn = []
    for epoch in range(2):
        data.set_epoch(epoch)
        drawn.append([item["sequence"] for item in data])
    assert drawn[0] != drawn[1]


@pytest.mark.parametrize("wrong", [{"rows": [0]}, {"_whole": None}, {"color": 1}])
def test_the_replace_method_rejects_attributes_that_select_records(wrong):
    data = sl.data.SequenceDataset(SEQUENCE_OF_ID)
    with pytest.raises(ArgumentError, match=f"select.*got {next(iter(wrong))}"):
        data.replace(**wrong)
