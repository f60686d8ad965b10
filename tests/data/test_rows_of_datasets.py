"""Datasets with other rows or other attributes than those that they were made with."""

import pytest

import seqloom as sl
from seqloom.data._parts import hash_letters

READS = {"x": "ACGT", "y": "GGTT", "z": "CC"}


def test_rows_in_another_order_have_hashes_in_that_order():
    data = sl.data.SequenceDataset(READS)
    assert [*hash_letters(data.select([2, 1, 0]))] == [*hash_letters(data)][::-1]


def test_a_dataset_of_rows_in_another_order_reads_those_rows():
    source = sl.data.SequenceDataset(READS).source
    turned = sl.data.Dataset(source, rows=sl.data.SequenceDataset(READS).rows[::-1])
    assert turned.ids == ["z", "y", "x"]
    assert turned.batch([0])["sequence"] == [b"CC"]
    assert turned.fingerprint() != sl.data.SequenceDataset(READS).fingerprint()


def test_an_augmentation_that_was_put_in_later_follows_the_epoch():
    augment = sl.augment.ReverseComplement(p=0.5)
    first = sl.data.SequenceDataset(READS, augment=augment)
    later = sl.data.SequenceDataset(READS).replace(augment=augment)
    for epoch in range(8):
        first.set_epoch(epoch)
        later.set_epoch(epoch)
        assert [it["sequence"] for it in later] == [it["sequence"] for it in first]
    assert later.plain().augment is None


def test_an_attribute_that_a_dataset_does_not_have_cannot_be_replaced():
    with pytest.raises(sl.errors.ArgumentError, match="no attribute 'augmnet'"):
        sl.data.SequenceDataset(READS).replace(augmnet=None)
