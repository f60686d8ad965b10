import json
import threading
from typing import Any, cast

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st
from torch.utils.data import DataLoader as TorchLoader

from seqloom.data import DataLoader, PadCollator, SequenceDataset, Subset
from seqloom.data.loader._makers import MapBatchMaker
from seqloom.encode import OneHot
from seqloom.errors import ArgumentError, ShapeError

PAD_COLLATOR = PadCollator()
sizes = st.integers(1, 30)


def ids(loader):
    return [name for batch in loader for name in batch["id"]]


@pytest.fixture
def loader(hundred):
    """Return a function that creates loaders of the hundred sequences."""

    def make(batch_size=7, *, shuffle=True, **options):
        return DataLoader(hundred, batch_size, shuffle, collate_fn=PAD_COLLATOR, **options)

    return make


@settings(deadline=None)
@given(st.integers(0, 50), sizes, st.booleans(), st.integers(0, 9), st.sampled_from([0, 2]))
def test_a_loader_epoch_visits_each_item_once(size, batch_size, shuffle, seed, workers):
    batches = DataLoader(range(size), batch_size, shuffle, seed=seed, num_workers=workers)
    found = [int(item) for batch in batches for item in batch]
    assert sorted(found) == list(range(size))
    assert len(list(batches)) == len(batches)


@given(st.integers(0, 50), sizes)
def test_the_option_drop_last_drops_a_partial_batch(size, batch_size):
    batches = list(DataLoader(range(size), batch_size, drop_last=True))
    assert [len(batch) for batch in batches] == [batch_size] * (size // batch_size)


def test_a_loader_without_shuffle_returns_items_in_file_order(loader, hundred):
    assert ids(loader(shuffle=False)) == hundred.ids


def test_each_epoch_of_a_shuffled_loader_has_another_order(loader):
    batches = loader()
    first, second = ids(batches), ids(batches)
    assert first != second
    batches.set_epoch(0)
    assert ids(batches) == first


def test_the_order_of_a_shuffled_loader_depends_on_the_seed(loader):
    assert ids(loader(seed=1)) == ids(loader(seed=1)) != ids(loader(seed=2))


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_batches_are_bitwise_equal_for_any_number_of_workers(loader, workers):
    alone, together = list(loader()), list(loader(num_workers=workers))
    assert len(alone) == len(together) == 15
    for one, other in zip(alone, together, strict=True):
        np.testing.assert_equal(one, other)


def test_a_batch_that_the_user_stores_is_not_overwritten(loader):
    batches = loader(num_workers=2)
    kept = list(batches)
    batches.set_epoch(0)
    for held, fresh in zip(kept, batches, strict=True):
        np.testing.assert_equal(held, fresh)


@pytest.mark.parametrize("before", [0, 1, 2])
@pytest.mark.parametrize("after", [0, 1, 2])
def test_a_loader_resumes_after_any_batch_with_the_remaining_batches(loader, before, after):
    whole = list(loader())
    source = loader(num_workers=before)
    for done, _ in enumerate(source, 1):
        again = loader(num_workers=after)
        again.load_state_dict(json.loads(json.dumps(source.state_dict())))
        rest = [batch["id"] for batch in again]
        if done < len(whole):
            assert rest == [batch["id"] for batch in whole[done:]]


def test_a_loader_state_at_the_end_of_an_epoch_starts_the_next_epoch(loader):
    source, again = loader(), loader()
    ids(source)
    again.load_state_dict(source.state_dict())
    assert ids(again) == ids(source)


def test_a_loader_state_before_the_first_batch_resumes_all_batches(loader):
    source, again = loader(), loader()
    again.load_state_dict(source.state_dict())
    assert ids(again) == ids(source)


def test_a_resumed_epoch_of_a_loader_is_followed_by_the_next_epoch(loader):
    source, again = loader(), loader()
    next(iter(source))
    again.load_state_dict(source.state_dict())
    ids(again)
    assert ids(again) == ids(source)


def test_a_loader_stopped_early_resumes_after_its_last_batch(loader):
    source, again = loader(num_workers=2), loader()
    for done, _ in enumerate(source):
        if done == 4:
            break
    again.load_state_dict(source.state_dict())
    assert ids(again) == ids(loader())[35:]


def test_state_dict_returns_the_state_that_was_loaded(loader):
    source, again = loader(), loader()
    next(iter(source))
    again.load_state_dict(source.state_dict())
    assert again.state_dict() == source.state_dict()


def test_resuming_with_another_batch_size_loses_and_repeats_no_item(loader):
    source, again = loader(10), loader(3)
    first = next(iter(source))["id"]
    again.load_state_dict(source.state_dict())
    assert first + ids(again) == ids(loader(10))


@pytest.mark.parametrize("options", [{"seed": 1}, {"shuffle": False}])
def test_a_loader_state_of_other_order_options_is_an_error(loader, options):
    with pytest.raises(
        ArgumentError, match=f"state is of a loader with {next(iter(options))}"
    ):
        loader(**options).load_state_dict(loader().state_dict())


def test_a_loader_state_of_another_dataset_is_an_error(hundred):
    parts = [Subset(hundred, rows) for rows in ([0, 1], [1, 0])]
    state = DataLoader(parts[0]).state_dict()
    with pytest.raises(ArgumentError, match="fingerprint"):
        DataLoader(parts[1]).load_state_dict(state)


def test_stopping_a_loader_early_ends_its_threads(loader):
    before = threading.active_count()
    batches = iter(loader(num_workers=2))
    next(batches)
    batches.close()
    assert threading.active_count() == before


def test_an_error_in_a_loader_thread_is_raised_in_batch_order():
    items = [*range(20), object(), *range(9)]
    batches = iter(DataLoader(items, 10, num_workers=2))
    assert [len(next(batches)) for _ in range(2)] == [10, 10]
    with pytest.raises(TypeError):
        next(batches)


@pytest.mark.parametrize(("factor", "most"), [(None, 6), (1, 4)])
def test_the_number_of_batches_prepared_in_advance_is_limited(monkeypatch, factor, most):
    fetched = []
    fetch = MapBatchMaker.__call__
    monkeypatch.setattr(
        MapBatchMaker,
        "__call__",
        lambda self, request: fetched.append(1) or fetch(self, request),
    )
    batches = iter(DataLoader(range(1000), 1, num_workers=2, prefetch_factor=factor))
    next(batches)
    batches.close()
    assert len(fetched) <= most


def test_loading_sequences_of_unequal_length_suggests_pad_collator(hundred):
    with pytest.raises(ShapeError, match="PadCollator"):
        list(DataLoader(hundred, 10))


def test_batches_made_in_rust_equal_collated_items(hundred):
    same = Subset(hundred, np.flatnonzero(hundred.lengths == 5))
    fast = next(iter(DataLoader(same, 6)))
    slow = next(iter(DataLoader(list(same), 6)))
    assert list(fast) == list(slow)
    np.testing.assert_equal(fast, slow)


def test_padded_batches_made_in_rust_equal_padded_items(loader, hundred):
    for fast, slow in zip(
        loader(shuffle=False),
        DataLoader(list(hundred), 7, collate_fn=PAD_COLLATOR),
        strict=True,
    ):
        np.testing.assert_equal(fast, slow)


def test_pytorch_tensors_of_a_loader_share_memory_with_its_arrays(monkeypatch, loader):
    made = []
    monkeypatch.setattr(
        torch,
        "from_numpy",
        lambda array, wrap=torch.from_numpy: made.append(array) or wrap(array),
    )
    batch = next(iter(loader(output="torch")))
    assert isinstance(batch["inputs"], torch.Tensor)
    assert batch["label"].dtype == torch.int64
    assert batch["inputs"].data_ptr() in {array.ctypes.data for array in made}


def test_a_pytorch_loader_reads_a_seqloom_dataset(fasta):
    records = {f"s{i}": "ACGT" for i in range(6)}
    data = SequenceDataset(
        fasta(records),
        encoder=OneHot("dna"),
        labels=dict(zip(records, "xyxyxy", strict=True)),
    )
    ours = list(DataLoader(data, 4, output="torch"))
    theirs = list(TorchLoader(cast("Any", data), batch_size=4))
    for one, other in zip(ours, theirs, strict=True):
        assert one.keys() == other.keys()
        assert torch.equal(one["inputs"], other["inputs"])
        assert one["label"].tolist() == other["label"].tolist()


@pytest.mark.parametrize(
    "options",
    [{"batch_size": 0}, {"num_workers": -1}, {"output": "jax"}, {"pin_memory": True}],
)
def test_an_invalid_argument_of_a_loader_is_an_error(options):
    with pytest.raises(ArgumentError):
        DataLoader(range(3), **options)


def test_a_negative_epoch_of_a_loader_is_an_error(loader):
    with pytest.raises(ArgumentError, match="at least 0"):
        loader().set_epoch(-1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"position": -1}, "the state's position must be an integer from 0 to 6"),
        ({"position": 7}, "the state's position must be an integer from 0 to 6"),
        ({"position": 1.5}, "the state's position must be an integer from 0 to 6"),
        ({"epoch": -1}, "the state's epoch must be an integer of at least 0"),
        (
            {"version": 2},
            "the state has version 2, but this version of seqloom reads version 1",
        ),
    ],
)
def test_a_loader_state_with_invalid_values_is_an_error(change, message):
    loader = DataLoader(range(6))
    with pytest.raises(ArgumentError, match=message):
        loader.load_state_dict(loader.state_dict() | change)


@pytest.mark.parametrize("missing", ["version", "epoch", "position", "seed", "size"])
def test_an_incomplete_loader_state_is_an_error(missing):
    loader = DataLoader(range(6))
    state = {name: value for name, value in loader.state_dict().items() if name != missing}
    with pytest.raises(ArgumentError, match="a loader's state is a dict with version"):
        loader.load_state_dict(state)


@pytest.mark.parametrize("state", [None, "{}", [], {}, 5, b""])
def test_a_loader_state_of_a_wrong_type_is_an_error(state):
    with pytest.raises(ArgumentError, match="a loader's state is a dict with version"):
        DataLoader(range(6)).load_state_dict(state)


@pytest.mark.parametrize("size", [2.5, 0, True, "4"])
def test_the_batch_size_of_a_loader_must_be_an_integer(size):
    with pytest.raises(ArgumentError, match="batch_size must be an integer of at least 1"):
        DataLoader(range(6), batch_size=cast("Any", size))
