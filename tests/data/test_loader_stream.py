"""Streams as datasets of the loader."""

import json
from typing import Any

import numpy as np
import pytest

import loader_user as user
from seqloom.augment import Mutate
from seqloom.data import DataLoader, PadCollator, SequenceDataset, SequenceStream
from seqloom.encode import OneHot
from seqloom.errors import AlphabetError, FormatError

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
PAD_COLLATOR = PadCollator()


@pytest.fixture
def stream(fasta):
    """A stream of 300 sequences in two files, mutated differently in each epoch."""
    rows = [(f"s{i}", ("ACGT" * 5)[i % 4 : 8 + i % 9]) for i in range(300)]
    paths = [fasta(rows[:200]), fasta(rows[200:], "b.fa")]

    def make(**options):
        return SequenceStream(
            paths, encoder=OneHot("dna"), augment=Mutate(rate=0.2), **options
        )

    return make


def test_loader_batches_of_a_stream_equal_those_of_a_dataset(stream):
    data = SequenceDataset(stream().paths, encoder=OneHot("dna"), augment=Mutate(rate=0.2))
    pairs = zip(
        DataLoader(stream(), 32, collate_fn=PAD_COLLATOR),
        DataLoader(data, 32, collate_fn=PAD_COLLATOR),
        strict=True,
    )
    for one, other in pairs:
        assert one.keys() == other.keys()
        for name in one:
            np.testing.assert_equal(one[name], other[name])


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_stream_batches_do_not_depend_on_the_number_of_workers(stream, workers):
    alone = DataLoader(stream(shuffle_window=50), 32, collate_fn=PAD_COLLATOR)
    together = DataLoader(
        stream(shuffle_window=50), 32, collate_fn=PAD_COLLATOR, num_workers=workers
    )
    for _ in range(2):
        for one, other in zip(alone, together, strict=True):
            np.testing.assert_equal(one, other)


@pytest.mark.parametrize("workers", [0, 2])
def test_a_custom_collator_receives_the_items_of_a_stream(stream, workers):
    options: dict[str, Any] = (
        {"num_workers": 2, "multiprocessing_context": "fork"} if workers else {}
    )
    found = list(DataLoader(stream(), 32, collate_fn=user.plain, **options))
    assert [item["ordinal"] for items in found for item in items] == list(range(300))


@pytest.mark.parametrize("workers", [0, 2])
def test_a_loader_of_a_stream_resumes_after_any_batch(stream, workers):
    def loader(num_workers):
        return DataLoader(
            stream(shuffle_window=64), 32, collate_fn=PAD_COLLATOR, num_workers=num_workers
        )

    whole = [batch["id"] for batch in loader(0)]
    source = loader(workers)
    for done, _ in enumerate(source, 1):
        again = loader(2 - workers)
        again.load_state_dict(json.loads(json.dumps(source.state_dict())))
        if done < len(whole):
            assert [batch["id"] for batch in again] == whole[done:]
        else:
            assert again.state_dict()["epoch"] == 1


def test_distributed_ranks_split_a_stream(stream):
    found = [
        name
        for rank in range(3)
        for batch in DataLoader(
            stream(), 32, collate_fn=PAD_COLLATOR, rank=rank, world_size=3
        )
        for name in batch["id"]
    ]
    assert sorted(found) == sorted(f"s{i}" for i in range(300))


def test_the_option_drop_last_drops_a_partial_stream_batch(stream):
    batches = list(DataLoader(stream(), 32, collate_fn=PAD_COLLATOR, drop_last=True))
    assert [len(batch["id"]) for batch in batches] == [32] * 9


def test_a_loader_of_a_stream_with_batch_size_none_yields_items(stream):
    items = list(DataLoader(stream(), None))
    assert [item["ordinal"] for item in items] == list(range(300))


def test_stopping_a_loader_of_a_stream_early_ends_its_thread(stream):
    import threading

    before = threading.active_count()
    batches = iter(DataLoader(stream(), 4, collate_fn=PAD_COLLATOR, num_workers=2))
    next(batches)
    batches.close()
    assert threading.active_count() == before


@pytest.mark.parametrize("workers", [0, 1, 2, 4])
def test_a_stream_loader_returns_records_before_an_invalid_record(tmp_path, workers):
    path = tmp_path / "a.fq"
    good = "".join(f"@r{i}\nACGT\n+\nIIII\n" for i in range(40))
    path.write_text(f"{good}@bad\nACGT\n+\nIII\n")
    loader = DataLoader(SequenceStream(path, encoder=OneHot("dna")), 4, num_workers=workers)
    found = []
    with pytest.raises(FormatError, match="record 40"):
        found.extend(batch["id"][0] for batch in loader)
    assert found == [f"r{i}" for i in range(0, 40, 4)]


@pytest.mark.parametrize("workers", [0, 1, 2, 4])
def test_a_stream_loader_returns_records_before_an_invalid_character(tmp_path, workers):
    path = tmp_path / "a.fa"
    good = "".join(f">r{i}\nACGT\n" for i in range(40))
    path.write_text(f"{good}>bad\nACJT\n")
    loader = DataLoader(SequenceStream(path, encoder=OneHot("dna")), 4, num_workers=workers)
    found = []
    with pytest.raises(
        AlphabetError, match=r"record 40 \(bad\), line 82, byte .*: found 'J'"
    ):
        found.extend(batch["id"][0] for batch in loader)
    assert found == [f"r{i}" for i in range(0, 40, 4)]


def backwards(letters, key, *, quality):
    """An augmentation that requires qualities."""
    return letters[::-1], quality[::-1]


@pytest.mark.parametrize("workers", [0, 2])
def test_a_changed_stream_augmentation_applies_from_the_next_epoch(tmp_path, workers):
    path = tmp_path / "a.fq"
    path.write_text("@a\nAACC\n+\nIIII\n@b\nGGTT\n+\nIIII\n")
    stream = SequenceStream(path, encoder=OneHot("dna"))
    loader = DataLoader(stream, 2, num_workers=workers)
    plain = next(iter(loader))["inputs"]
    stream.augment = backwards
    assert np.array_equal(next(iter(loader))["inputs"], plain[:, :, ::-1])
