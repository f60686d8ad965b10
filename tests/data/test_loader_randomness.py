"""Custom code gets reproducible random numbers from global generators."""

import itertools
import json
import random
from typing import Any

import numpy as np
import pytest
import torch

import loader_user as user
from seqloom.data import DataLoader, SequenceStream
from seqloom.encode import OneHot

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


def random_numbers():
    """Return one random number from each of Python, NumPy and PyTorch."""
    return [random.random(), np.random.random(), torch.rand(()).item()]  # noqa: NPY002, S311 - as users do


def seed_all():
    for seed in (random.seed, np.random.seed, torch.manual_seed):  # noqa: TID251 - as users do
        seed(7)


class Noise:
    """A map-style dataset whose items are random numbers."""

    def __len__(self):
        return 30

    def __getitem__(self, index):
        return {"x": np.array(random_numbers())}


class SplitNoise:
    """An iterable dataset of random numbers, which workers split equally."""

    def __iter__(self):
        info: Any = torch.utils.data.get_worker_info()
        for _ in range(12 // (info.num_workers if info else 1)):
            yield {"x": np.array(random_numbers())}


def collate(items):
    return {"x": np.array([random_numbers() for _ in items])}


def loader(dataset, workers=0, **options):
    if workers:
        options |= {"num_workers": workers, "multiprocessing_context": "fork"}
    return DataLoader(dataset, options.pop("batch_size", 4), **options)


def numbers(batches):
    return np.concatenate([batch["x"] for batch in batches])


def test_all_items_of_a_loader_get_different_random_numbers():
    noise = loader(Noise(), 2, shuffle=True)
    found = np.concatenate([numbers(noise), numbers(noise)])
    found = np.concatenate([found, numbers(loader(Noise(), 2, seed=1))])
    for of_one_generator in found.T:
        assert len(set(of_one_generator)) == 90


@pytest.mark.sample(2)
@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize(
    "options",
    [
        {"shuffle": True},
        {"batch_sampler": [[0, 1], [2], [1, 0, 5]], "batch_size": 1},
        {"sampler": [3, 3, 3, 3, 3], "batch_size": 2},
        {"batch_size": None},
    ],
)
def test_random_numbers_of_items_do_not_depend_on_the_worker_count(workers, options):
    alone, together = loader(Noise(), **options), loader(Noise(), workers, **options)
    for _ in range(2):
        for one, other in zip(alone, together, strict=True):
            np.testing.assert_equal(one["x"], other["x"])


def test_spawned_workers_use_the_random_numbers_of_the_main_process():
    alone = DataLoader(range(6), 2, collate_fn=user.drawn)
    assert list(DataLoader(range(6), 2, collate_fn=user.drawn, num_workers=2)) == [*alone]


@pytest.mark.parametrize("workers", [0, 2])
def test_a_resumed_epoch_has_the_random_numbers_of_a_whole_epoch(workers):
    whole = list(loader(Noise(), shuffle=True))
    source = loader(Noise(), workers, shuffle=True)
    for done, _ in enumerate(source, 1):
        again = loader(Noise(), 2 - workers, shuffle=True)
        again.load_state_dict(json.loads(json.dumps(source.state_dict())))
        if done in {1, 5}:
            np.testing.assert_equal(list(again), whole[done:])


def test_a_batch_after_a_worker_crash_has_unchanged_random_numbers(tmp_path):
    kills = user.DiesOnce(tmp_path, [5])

    def draw_after(items):
        kills(items)
        return collate(items)

    whole = numbers(loader(range(12), collate_fn=collate))
    found = numbers(loader(range(12), 2, collate_fn=draw_after))
    assert (tmp_path / "5").exists()
    np.testing.assert_equal(found, whole)


def test_distributed_ranks_use_different_random_numbers():
    ranks = [numbers(loader(Noise(), rank=rank, world_size=3)) for rank in range(3)]
    assert len(set(np.concatenate(ranks)[:, 0])) == 30


@pytest.mark.parametrize("workers", [0, 2])
def test_the_loader_restores_the_global_random_generators(workers):
    seed_all()
    expected = [random_numbers(), random_numbers()]
    seed_all()
    found = [random_numbers() for _ in itertools.islice(loader(Noise(), workers), 2)]
    assert found == expected


def test_random_numbers_of_items_ignore_the_global_generators():
    found = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        found.append(numbers(loader(Noise())))
    np.testing.assert_equal(found[0], found[1])


def test_the_global_random_generators_are_restored_after_an_error():
    def fails(items):
        raise ValueError(str(random_numbers()))

    before = torch.get_rng_state()
    with pytest.raises(ValueError, match="0"):
        list(loader(range(4), collate_fn=fails))
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("workers", [0, 1, 2, 3])
def test_workers_of_an_iterable_dataset_use_reproducible_random_numbers(workers):
    first, again = (numbers(loader(SplitNoise(), workers, batch_size=2)) for _ in range(2))
    np.testing.assert_equal(first, again)
    for of_one_generator in first.T:
        assert len(set(of_one_generator)) == 12


@pytest.mark.parametrize("workers", [0, 2])
def test_a_resumed_iterable_dataset_continues_its_random_numbers(workers):
    whole = list(loader(SplitNoise(), workers, batch_size=2))
    source = loader(SplitNoise(), workers, batch_size=2)
    batches = iter(source)
    next(batches), next(batches)
    again = loader(SplitNoise(), workers, batch_size=2)
    again.load_state_dict(source.state_dict())
    np.testing.assert_equal(list(again), whole[2:])


@pytest.mark.parametrize("workers", [0, 1, 2])
def test_random_numbers_of_a_stream_collator_ignore_the_worker_count(fasta, workers):
    path = fasta([(f"s{i}", "ACGT") for i in range(20)])
    data = SequenceStream(path, encoder=OneHot("dna"))
    whole = numbers(loader(data, collate_fn=collate))
    assert len(set(whole[:, 1])) == 20
    np.testing.assert_equal(numbers(loader(data, workers, collate_fn=collate)), whole)
