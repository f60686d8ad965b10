"""Datasets have the same batches in a PyTorch loader and in the seqloom loader."""

import pickle
from typing import Any, cast

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader as TorchLoader, IterableDataset

import loader_user as user
from seqloom.augment import Compose, Mutate, ReverseComplement
from seqloom.data import DataLoader, EpochSampler, SequenceDataset
from seqloom.data._position import Position, stored_epoch
from seqloom.encode import OneHot
from seqloom.errors import ArgumentError

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
RANDOM_AUGMENTATION = Compose([ReverseComplement(p=0.5), Mutate(rate=0.2)])


@pytest.fixture
def mutated(fasta):
    """A dataset of 30 sequences of equal length, mutated differently in each epoch."""
    rng = np.random.default_rng(0)
    rows = ["".join(rng.choice([*"ACGT"], 40)) for _ in range(30)]
    path = fasta({f"s{i}": row for i, row in enumerate(rows)})
    return SequenceDataset(path, encoder=OneHot("dna"), augment=RANDOM_AUGMENTATION, seed=5)


def test_a_pickled_sampler_position_keeps_its_epoch():
    place = pickle.loads(  # noqa: S301 - written here
        pickle.dumps([Position(4, epoch=9)])
    )
    assert (place[0], place[0].epoch, stored_epoch(place)) == (4, 9, 9)
    assert stored_epoch([4]) is None


@pytest.mark.parametrize("workers", [0, 2])
def test_epochs_of_a_pytorch_loader_equal_those_of_the_seqloom_loader(mutated, workers):
    options: dict[str, Any] = {"num_workers": workers, "persistent_workers": workers > 0}
    if workers:
        options["multiprocessing_context"] = "fork"
    ours = DataLoader(mutated, 8, shuffle=True, seed=3, output="torch")
    sampler = EpochSampler(mutated, seed=3)
    theirs = TorchLoader(
        cast("Any", mutated), batch_size=8, sampler=cast("Any", sampler), **options
    )
    epochs = []
    for _ in range(3):
        epochs.append([])
        for one, other in zip(ours, theirs, strict=True):
            assert torch.equal(one["inputs"], other["inputs"])
            assert one["id"] == other["id"]
            epochs[-1].append(one["inputs"])
    first, second, third = (torch.cat(batches) for batches in epochs)
    assert not torch.equal(first, second)
    assert not torch.equal(second, third)


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_augmented_batches_are_the_same_for_any_number_of_workers(mutated, workers):
    alone = DataLoader(mutated, 8, shuffle=True)
    together = DataLoader(mutated, 8, shuffle=True, num_workers=workers)
    for _ in range(2):
        for one, other in zip(alone, together, strict=True):
            np.testing.assert_equal(one, other)


def test_stored_tensor_batches_do_not_change(mutated):
    loader = DataLoader(mutated, 4, shuffle=True, num_workers=2, output="torch")
    kept = [batch["inputs"] for batch in loader]
    views = [batch[1:].transpose(1, 2)[:, 3:] for batch in kept]
    arrays = [batch.numpy()[::2, 1] for batch in kept]
    loader.set_epoch(0)
    fresh = [batch["inputs"].clone() for batch in loader]
    for number, batch in enumerate(fresh):
        assert torch.equal(kept[number], batch)
        assert torch.equal(views[number], batch[1:].transpose(1, 2)[:, 3:])
        np.testing.assert_equal(arrays[number], batch.numpy()[::2, 1])


def test_the_memory_of_freed_tensor_batches_is_reused(mutated):
    loader = DataLoader(mutated, 2)
    places = set()
    for batch in loader:
        places.add(batch["inputs"].ctypes.data)
        del batch
    assert len(places) <= 3


class OwnIterator(user.OwnIterator, IterableDataset[int]):
    """A dataset that is also a subclass of the PyTorch dataset class."""


@pytest.mark.parametrize("size", [None, 3])
@pytest.mark.parametrize("workers", [0, 2])
def test_an_iterable_dataset_that_is_an_iterator_works_as_in_pytorch(size, workers):
    options: dict[str, Any] = {"num_workers": workers}
    if workers:
        options["multiprocessing_context"] = "fork"
    theirs = TorchLoader(OwnIterator(7), size, **options)
    ours = DataLoader(OwnIterator(7), size, **options)
    for _ in range(2):
        wanted = [np.asarray(batch).tolist() for batch in theirs]
        assert [np.asarray(batch).tolist() for batch in ours] == wanted


def test_get_worker_info_works_if_pytorch_is_imported_late():
    options: dict[str, Any] = {"num_workers": 2, "multiprocessing_context": "spawn"}
    batches = list(DataLoader(user.ImportsTorchLate(), 2, **options))
    assert sorted(item for batch in batches for item in batch.tolist()) == list(range(10))


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors:UserWarning")
def test_loader_workers_can_return_nested_tensors():
    options: dict[str, Any] = {"num_workers": 1, "multiprocessing_context": "fork"}
    [batch] = DataLoader(range(3), 3, collate_fn=user.nest, **options)
    assert [row.tolist() for row in batch.unbind()] == [[0], [0, 1], [0, 1, 2]]


def test_a_loader_state_beyond_the_end_of_an_iterable_is_an_error():
    loader = DataLoader(user.OwnIterator(8), 2)
    batches = iter(loader)
    for _ in range(3):
        next(batches)
    state = loader.state_dict()
    shorter = DataLoader(user.OwnIterator(4), 2)
    shorter.load_state_dict(state)
    with pytest.raises(ArgumentError, match=r"after batch 3 .* now has 2 batches"):
        list(shorter)


def test_a_pytorch_loader_can_use_the_tensor_collator(mutated):
    wanted = list(DataLoader(mutated, 4, output="torch"))
    ours = DataLoader(mutated, 4, output="torch")
    theirs = TorchLoader(
        cast("Any", mutated), batch_sampler=ours.batch_sampler, collate_fn=ours.collate_fn
    )
    for one, other in zip(wanted, theirs, strict=True):
        assert torch.equal(one["inputs"], other["inputs"])
