"""Under PyTorch's own loader our datasets give the batches of ours."""

import pickle
from typing import Any, cast

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader as TorchLoader

from seqloom.augment import Compose, Mutate, ReverseComplement
from seqloom.data import DataLoader, EpochSampler, SequenceDataset
from seqloom.data._position import Position, epoch_of
from seqloom.encode import OneHot

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
CHANGES = Compose([ReverseComplement(p=0.5), Mutate(rate=0.2)])


@pytest.fixture
def changing(fasta):
    """Thirty sequences of one length, other ones in each epoch."""
    rng = np.random.default_rng(0)
    rows = ["".join(rng.choice([*"ACGT"], 40)) for _ in range(30)]
    path = fasta({f"s{i}": row for i, row in enumerate(rows)})
    return SequenceDataset(path, encoder=OneHot("dna"), augment=CHANGES, seed=5)


def test_a_position_carries_its_epoch_through_a_pickle():
    place = pickle.loads(  # noqa: S301 - written here
        pickle.dumps([Position(4, epoch=9)])
    )
    assert (place[0], place[0].epoch, epoch_of(place)) == (4, 9, 9)
    assert epoch_of([4]) is None


@pytest.mark.parametrize("workers", [0, 2])
def test_three_epochs_are_those_of_our_loader_and_differ(changing, workers):
    options: dict[str, Any] = {"num_workers": workers, "persistent_workers": workers > 0}
    if workers:
        options["multiprocessing_context"] = "fork"
    ours = DataLoader(changing, 8, shuffle=True, seed=3, output="torch")
    sampler = EpochSampler(changing, seed=3)
    theirs = TorchLoader(
        cast("Any", changing), batch_size=8, sampler=cast("Any", sampler), **options
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
def test_augmented_batches_are_the_same_for_any_number_of_workers(changing, workers):
    alone = DataLoader(changing, 8, shuffle=True)
    together = DataLoader(changing, 8, shuffle=True, num_workers=workers)
    for _ in range(2):
        for one, other in zip(alone, together, strict=True):
            np.testing.assert_equal(one, other)


def test_every_batch_kept_equals_a_fresh_read(changing):
    loader = DataLoader(changing, 4, shuffle=True, num_workers=2, output="torch")
    kept = [batch["inputs"] for batch in loader]
    views = [batch[1:].transpose(1, 2)[:, 3:] for batch in kept]
    arrays = [batch.numpy()[::2, 1] for batch in kept]
    loader.set_epoch(0)
    fresh = [batch["inputs"].clone() for batch in loader]
    for number, batch in enumerate(fresh):
        assert torch.equal(kept[number], batch)
        assert torch.equal(views[number], batch[1:].transpose(1, 2)[:, 3:])
        np.testing.assert_equal(arrays[number], batch.numpy()[::2, 1])


def test_memory_of_batches_that_died_is_used_again(changing):
    loader = DataLoader(changing, 2)
    places = set()
    for batch in loader:
        places.add(batch["inputs"].ctypes.data)
        del batch
    assert len(places) <= 3
