import itertools

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from seqloom.data import DataLoader, SequenceDataset, VarlenCollator
from seqloom.encode import Tokens
from seqloom.errors import AlphabetError, ArgumentError, ShapeError

ESM2_TOKENS = Tokens("esm2")


def items_of(sizes):
    """Create items with the given numbers of tokens; all tokens are different."""
    count = itertools.count()
    return [
        {
            "id": f"s{i}",
            "ordinal": 10 * i,
            "inputs": np.array([*itertools.islice(count, size)]),
        }
        for i, size in enumerate(sizes)
    ]


def unpacked(batch):
    """Split a packed batch into sequences."""
    bounds = itertools.pairwise(batch["cu_seqlens"].tolist())
    rows = [batch["input_ids"][a:b].tolist() for a, b in bounds]
    return list(zip(batch["sequence_ids"], batch["ordinals"].tolist(), rows, strict=True))


def expected_sequences(items):
    """Return the result that `unpacked` must return for these items."""
    return [(item["id"], item["ordinal"], item["inputs"].tolist()) for item in items]


sizes = st.lists(st.integers(0, 30), max_size=60)


@settings(deadline=None)
@given(sizes.filter(len))
def test_unpacking_a_packed_batch_restores_the_items(sizes):
    items = items_of(sizes)
    assert unpacked(VarlenCollator(max_tokens=2000)(items)) == expected_sequences(items)


@settings(deadline=None)
@given(sizes, st.integers(30, 100), st.integers(1, 20))
def test_each_item_is_packed_once_within_the_token_budget(sizes, max_tokens, window):
    items = items_of(sizes)
    batches = list(VarlenCollator(max_tokens=max_tokens, window=window).stream(iter(items)))
    assert sorted(row for batch in batches for row in unpacked(batch)) == sorted(
        expected_sequences(items)
    )
    for batch in batches:
        assert batch["input_ids"].size <= max_tokens
        assert batch["ordinals"].tolist() == sorted(batch["ordinals"].tolist())


@settings(deadline=None)
@given(sizes.filter(len))
def test_a_packed_batch_has_consistent_offsets_and_lengths(sizes):
    batch = VarlenCollator(max_tokens=2000)(items_of(sizes))
    assert batch["position_ids"].tolist() == [p for size in sizes for p in range(size)]
    assert (batch["num_sequences"], batch["max_seqlen"]) == (len(sizes), max(sizes))
    kinds = [
        batch[key].dtype for key in ("input_ids", "position_ids", "cu_seqlens", "ordinals")
    ]
    assert kinds == ["int64", "int64", "int32", "int64"]


def test_packed_sequences_are_encoded_as_tokens():
    records = {"a": b"MKTV", "b": b"M", "c": b"MKX"}
    items = [{"id": name, "sequence": letters} for name, letters in records.items()]
    batch = VarlenCollator(tokens=ESM2_TOKENS)(items)
    bounds = itertools.pairwise(batch["cu_seqlens"].tolist())
    rows = [batch["input_ids"][a:b].tolist() for a, b in bounds]
    assert rows == [ESM2_TOKENS(letters).tolist() for letters in records.values()]


def test_packed_batches_contain_labels():
    items = [item | {"label": i} for i, item in enumerate(items_of([2, 3]))]
    assert VarlenCollator()(items)["label"].tolist() == [0, 1]


def test_packing_more_than_max_tokens_suggests_the_stream_method():
    with pytest.raises(
        ShapeError, match=r"2 items have 7 tokens, more than max_tokens=6.*\.stream"
    ):
        VarlenCollator(max_tokens=6)(items_of([3, 4]))


def test_packing_an_item_longer_than_max_tokens_is_an_error():
    collate = VarlenCollator(max_tokens=6)
    for call in (collate, lambda items: list(collate.stream(items))):
        with pytest.raises(ShapeError, match=r"'s1' \(ordinal 10\) has 7 tokens"):
            call(items_of([3, 7]))


def test_packing_an_invalid_character_is_an_error_with_its_record():
    items = [{"id": "good", "sequence": b"MK"}, {"id": "bad", "sequence": b"M!"}]
    with pytest.raises(AlphabetError, match="'bad', position 1"):
        VarlenCollator(tokens=ESM2_TOKENS)(items)


def test_packing_sequences_without_an_encoder_is_an_error():
    with pytest.raises(ArgumentError, match="pass tokens="):
        VarlenCollator()([{"id": "a", "sequence": b"MK"}])


def test_packing_two_dimensional_tokens_is_an_error():
    with pytest.raises(ShapeError, match="one row"):
        VarlenCollator()([{"id": "a", "inputs": np.zeros((4, 3))}])


@pytest.mark.parametrize("options", [{"max_tokens": 0}, {"window": 0}])
def test_max_tokens_below_one_is_an_error(options):
    with pytest.raises(ArgumentError):
        VarlenCollator(**options)


def test_packed_batches_are_nearly_full():
    rng = np.random.default_rng(0)
    items = items_of(rng.integers(20, 400, 3000))
    batches = list(VarlenCollator(max_tokens=4096).stream(items))
    full = [batch["input_ids"].size / 4096 for batch in batches[:-2]]
    assert min(full) > 0.95
    assert np.mean(full) > 0.99


def test_packing_short_sequences_fills_batches_beyond_the_window():
    batches = list(VarlenCollator(max_tokens=400, window=8).stream(items_of([2] * 1000)))
    assert [batch["num_sequences"] for batch in batches] == [200] * 5


def test_an_abandoned_packing_leaves_no_items_for_the_next_stream():
    collate = VarlenCollator(max_tokens=10)
    first = next(collate.stream(items_of([4] * 9)))
    assert len(unpacked(first)) == 2
    assert sum(map(len, map(unpacked, collate.stream(items_of([4] * 3))))) == 3


@pytest.mark.parametrize("num_workers", [0, 2])
def test_the_loader_packs_each_record_of_a_dataset_once(fasta, num_workers):
    records = {f"p{i}": "MKTVLAG"[: 1 + i % 7] for i in range(200)}
    data = SequenceDataset(fasta(records))
    collate = VarlenCollator(tokens=ESM2_TOKENS, max_tokens=64, window=16)
    loader = DataLoader(data, collate_fn=collate, shuffle=True, num_workers=num_workers)
    batches = list(loader)
    assert sorted(n for b in batches for n in b["ordinals"].tolist()) == list(range(200))
    assert max(batch["input_ids"].size for batch in batches) <= 64
