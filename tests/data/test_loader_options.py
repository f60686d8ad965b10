"""Valid and invalid options of the loader, such as ranks and samplers."""

import json
from itertools import chain
from typing import Any, cast

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st
from torch.utils.data import DataLoader as TorchLoader, IterableDataset, SequentialSampler

import loader_user as user
from seqloom.data import DataLoader, EpochSampler, LengthBucketSampler, SequenceDataset
from seqloom.encode import OneHot
from seqloom.errors import ArgumentError, OutOfRangeError, WorkerError

sizes = st.integers(1, 12)


class Numbers(IterableDataset[int]):
    def __iter__(self):
        return iter(range(7))


SAMPLER_OF_SIX_INDICES = SequentialSampler(range(6))


@pytest.mark.parametrize(
    "options",
    [
        {"sampler": SAMPLER_OF_SIX_INDICES, "shuffle": True},
        {"batch_sampler": [[0]], "batch_size": 2},
        {"batch_sampler": [[0]], "shuffle": True},
        {"batch_sampler": [[0]], "sampler": SAMPLER_OF_SIX_INDICES},
        {"batch_sampler": [[0]], "drop_last": True},
        {"batch_size": None, "drop_last": True},
        {"prefetch_factor": 2},
        {"persistent_workers": True},
        {"timeout": -1},
        {"num_workers": -1},
        {"multiprocessing_context": "spawn"},
        {"dataset": Numbers(), "shuffle": True},
        {"dataset": Numbers(), "sampler": SAMPLER_OF_SIX_INDICES},
        {"dataset": Numbers(), "batch_sampler": [[0]]},
    ],
)
def test_loader_arguments_that_pytorch_rejects_are_errors(options):
    options = {"dataset": range(6)} | options
    for kind in (TorchLoader, DataLoader):
        with pytest.raises(ValueError):  # noqa: PT011 - both have words of their own
            kind(**cast("Any", options))


@pytest.mark.parametrize(
    "options",
    [
        {"batch_size": 4},
        {"batch_size": 4, "drop_last": True},
        {"batch_size": None},
        {"sampler": [3, 1, 2, 0, 1], "batch_size": 2},
        {"sampler": [[3, 1], [2, 0]], "batch_size": None},
        {"batch_sampler": [[3, 1], [2], [0, 1, 5]]},
        {"batch_size": 3, "collate_fn": user.plain},
        {"batch_size": None, "collate_fn": user.noted, "sampler": []},
    ],
)
def test_loader_batches_equal_those_of_pytorch(options):
    data = np.arange(12).reshape(6, 2) if options.get("batch_size", 1) is None else range(6)
    ours, theirs = DataLoader(data, **options), TorchLoader(cast("Any", data), **options)
    assert len(ours) == len(theirs)
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_equal(np.asarray(one), np.asarray(other))


@pytest.mark.parametrize("workers", [0, 2])
def test_the_loader_supports_pytorch_iterable_datasets(workers):
    options: dict[str, Any] = (
        {"num_workers": 2, "multiprocessing_context": "fork"} if workers else {}
    )
    found = [batch.tolist() for batch in DataLoader(Numbers(), 3, **options)]
    assert found == [batch.tolist() for batch in TorchLoader(Numbers(), 3, **options)]


@pytest.mark.parametrize("generator", [torch.Generator(), np.random.default_rng(4)])
def test_the_seed_of_a_loader_is_taken_from_a_pytorch_generator(generator):
    loader = DataLoader(range(50), 50, shuffle=True, generator=generator)
    again = DataLoader(range(50), 50, shuffle=True, seed=loader.seed)
    assert next(iter(loader)).tolist() == next(iter(again)).tolist()
    with pytest.raises(ArgumentError, match="seed or generator, not both"):
        DataLoader(range(5), generator=generator, seed=1)


def test_a_loader_thread_that_exceeds_the_timeout_is_an_error(monkeypatch):
    import threading

    from seqloom.data.loader._makers import MapBatchMaker

    stop = threading.Event()
    monkeypatch.setattr(MapBatchMaker, "__call__", lambda *_: stop.wait(5))
    with pytest.raises(WorkerError, match=r"within 0.1 seconds"):
        list(DataLoader(range(5), num_workers=1, timeout=0.1))
    stop.set()


def _ranks(size, world, batch_size, **options):
    loaders = [
        DataLoader(
            [{"x": i} for i in range(size)],
            batch_size,
            rank=rank,
            world_size=world,
            **options,
        )
        for rank in range(world)
    ]
    return loaders, [list(loader) for loader in loaders]


@settings(deadline=None)
@given(st.integers(0, 40), sizes, st.integers(1, 5), st.booleans(), st.integers(0, 5))
def test_distributed_ranks_split_an_epoch(size, batch_size, world, shuffle, seed):
    _, ranks = _ranks(size, world, batch_size, shuffle=shuffle, seed=seed)
    assert len({len(batches) for batches in ranks}) == 1
    found, padding = [], []
    for batch in (batch for batches in ranks for batch in batches):
        found += batch["x"].tolist()
        padding += [False] * len(batch["x"]) if world == 1 else batch["is_padding"].tolist()
    real = [x for x, is_padding in zip(found, padding, strict=True) if not is_padding]
    assert sorted(real) == list(range(size))
    assert len(found) == -(-size // world) * world


@pytest.mark.parametrize(("even", "count"), [("pad", 4), ("drop", 3)])
def test_epochs_of_unequal_ranks_are_padded_or_truncated(even, count):
    loaders, ranks = _ranks(10, 3, 1, even_ranks=even)
    assert [len(batches) for batches in ranks] == [count] * 3
    assert {len(loader) for loader in loaders} == {count}


def test_items_that_ranks_cannot_divide_evenly_can_be_an_error():
    with pytest.raises(
        ArgumentError, match="10 items cannot be divided evenly among 3 ranks"
    ):
        _ranks(10, 3, 1, even_ranks="error")


@pytest.mark.parametrize(
    "options",
    [
        {"rank": 0},
        {"world_size": 2},
        {"rank": 2, "world_size": 2},
        {"rank": 0, "world_size": 0},
        {"even_ranks": "some"},
    ],
)
def test_invalid_distributed_ranks_are_an_error(options):
    with pytest.raises(ArgumentError):
        DataLoader(range(3), **options)


def test_the_loader_reads_its_rank_from_torch_distributed(monkeypatch):
    monkeypatch.setattr(torch.distributed, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.distributed, "get_rank", lambda: 1)
    monkeypatch.setattr(torch.distributed, "get_world_size", lambda: 2)
    assert [int(batch[0]) for batch in DataLoader(range(6))] == [1, 3, 5]


def _resume(loader, state, steps, found):
    """Load a state, read some batches into `found`, and return the new state."""
    if state is not None:
        loader.load_state_dict(json.loads(json.dumps(state)))
    for _, batch in zip(range(steps), loader, strict=False):
        marks = batch.get("is_padding", np.zeros(len(batch["x"]), bool))
        found += batch["x"][~marks].tolist()
    return loader.state_dict()


@settings(deadline=None, max_examples=60)
@given(
    st.integers(1, 60),
    st.lists(
        st.tuples(st.integers(1, 4), sizes, st.integers(0, 3)), min_size=2, max_size=5
    ),
    st.integers(0, 5),
)
def test_resuming_with_other_ranks_and_batch_sizes_loses_no_items(size, parts, seed):
    """Resume several times, each with another number of ranks and another batch size."""
    state, found = None, []
    for world, batch_size, steps in parts:
        loaders = [
            DataLoader(
                [{"x": i} for i in range(size)],
                batch_size,
                shuffle=True,
                seed=seed,
                rank=rank,
                world_size=world,
            )
            for rank in range(world)
        ]
        states = [_resume(loader, state, steps, found) for loader in loaders]
        assert all(one == states[0] for one in states)
        state = states[0]
        if state["epoch"]:
            break
    else:
        loader = DataLoader([{"x": i} for i in range(size)], 5, shuffle=True, seed=seed)
        _resume(loader, state, size, found)
    assert sorted(found) == list(range(size))


def test_a_resumed_loader_can_be_resumed_again():
    options: dict[str, Any] = {"batch_size": 3, "shuffle": True}
    whole = [batch.tolist() for batch in DataLoader(range(40), **options)]
    found, state = [], None
    for _ in range(6):
        loader = DataLoader(range(40), num_workers=len(found) % 3, **options)
        if state is not None:
            loader.load_state_dict(state)
        batches = iter(loader)
        found += [next(batches).tolist(), next(batches).tolist()]
        state = loader.state_dict()
        assert state == loader.state_dict()
    assert found == whole[:12]


@pytest.mark.parametrize("drop_last", [True, False])
def test_an_epoch_with_drop_last_resumes_with_another_batch_size(drop_last):
    loader = DataLoader(range(100), 10, drop_last=drop_last)
    next(iter(loader))
    again = DataLoader(range(100), 7, drop_last=drop_last)
    again.load_state_dict(loader.state_dict())
    found = np.concatenate(list(again)).tolist()
    assert found == list(range(10, 94 if drop_last else 100))


def test_a_custom_sampler_receives_the_epoch_and_resumes():
    sampler = EpochSampler(range(20), seed=3)
    whole = [batch.tolist() for batch in DataLoader(range(20), 3, sampler=sampler)]
    assert list(chain.from_iterable(whole)) == [
        int(batch[0]) for batch in DataLoader(range(20), shuffle=True, seed=3)
    ]
    source = DataLoader(range(20), 3, sampler=EpochSampler(range(20), seed=3))
    batches = iter(source)
    next(batches), next(batches)
    again = DataLoader(range(20), 3, sampler=EpochSampler(range(20), seed=3))
    again.load_state_dict(source.state_dict())
    assert [batch.tolist() for batch in again] == whole[2:]


def test_a_batch_sampler_resumes_after_the_last_batch():
    groups = [[0, 1], [2], [5, 4, 3]]
    source = DataLoader(range(6), batch_sampler=groups)
    next(iter(source))
    again = DataLoader(range(6), batch_sampler=groups)
    again.load_state_dict(source.state_dict())
    assert [batch.tolist() for batch in again] == groups[1:]


@pytest.mark.parametrize("world", [1, 2, 3])
def test_batches_of_a_batch_sampler_are_split_among_ranks(world):
    groups = [[i, i + 1] for i in range(0, 12, 2)]
    found = [
        batch.tolist()
        for rank in range(world)
        for batch in DataLoader(
            range(12), batch_sampler=groups, rank=rank, world_size=world
        )
    ]
    assert sorted(found) == groups


def test_the_state_after_the_last_batch_starts_the_next_epoch():
    loader = DataLoader(range(6), sampler=iter(range(6)), batch_size=4)
    states = [loader.state_dict()["epoch"] for _ in loader]
    assert states == [0, 1]


def test_a_distributed_sampler_is_not_split_among_ranks_again(monkeypatch):
    monkeypatch.setattr(torch.distributed, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.distributed, "get_rank", lambda: 1)
    monkeypatch.setattr(torch.distributed, "get_world_size", lambda: 2)
    sampler = EpochSampler(range(6), shuffle=False)
    assert [int(batch[0]) for batch in DataLoader(range(6), sampler=sampler)] == [1, 3, 5]


def test_a_seqloom_sampler_is_split_among_torch_distributed_ranks(monkeypatch):
    monkeypatch.setattr(torch.distributed, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.distributed, "get_world_size", lambda: 2)
    seen: list[int] = []
    for rank in range(2):
        monkeypatch.setattr(torch.distributed, "get_rank", lambda rank=rank: rank)
        sampler = LengthBucketSampler([3, 1, 2, 5], batch_size=2, seed=1)
        seen += [
            int(i) for batch in DataLoader(range(4), batch_sampler=sampler) for i in batch
        ]
    assert sorted(seen) == [0, 1, 2, 3]


@pytest.mark.parametrize("sampler", [[0.5, 1.0], ["a", "b"]])
def test_a_sampler_must_yield_integers(fasta, sampler):
    data = SequenceDataset(fasta({"a": "AC", "b": "GG"}), encoder=OneHot("dna"))
    with pytest.raises(ArgumentError, match="sampler must yield integers"):
        list(DataLoader(data, 2, sampler=sampler))


def test_a_batch_sampler_of_single_indices_suggests_the_option_sampler():
    with pytest.raises(ArgumentError, match="pass it as sampler="):
        list(DataLoader(range(3), batch_sampler=[0, 1]))


def test_an_unknown_start_method_of_workers_is_an_error():
    with pytest.raises(ArgumentError, match="spawn, forkserver, fork"):
        DataLoader(range(3), num_workers=1, multiprocessing_context="thread")


def test_pinning_memory_without_a_device_warns_and_continues():
    with pytest.warns(UserWarning, match="torch finds no CUDA device"):
        loader = DataLoader(range(3), 3, pin_memory=True, output="torch")
    assert next(iter(loader)).tolist() == [0, 1, 2]


def test_a_packing_collator_receives_every_item_and_resumes():
    whole = list(DataLoader(range(9), 4, collate_fn=user.Pairs()))
    assert whole == [[0, 1], [2, 3], [4, 5], [6, 7], [8]]
    source = DataLoader(range(9), collate_fn=user.Pairs())
    batches = iter(source)
    next(batches), next(batches)
    again = DataLoader(
        range(9), collate_fn=user.Pairs(), num_workers=2, multiprocessing_context="fork"
    )
    again.load_state_dict(source.state_dict())
    assert list(again) == whole[2:]
    with pytest.raises(TypeError, match="not known before all 9 items"):
        len(again)


def test_ranks_split_the_items_of_a_packing_collator():
    found = [
        x
        for rank in range(2)
        for pair in DataLoader(range(9), collate_fn=user.Pairs(), rank=rank, world_size=2)
        for x in pair
    ]
    assert sorted(found) == list(range(9))


def test_a_collate_fn_that_is_not_callable_is_an_immediate_error():
    options: dict[str, Any] = {"collate_fn": 3}
    with pytest.raises(ArgumentError, match="collate_fn must be a function, got 3"):
        DataLoader(range(3), **options)


def reusing_sampler(kind):
    """Return a batch sampler that yields one list or array, changed for each batch."""

    class ReusingSampler:
        def __len__(self):
            return 4

        def __iter__(self):
            batch = kind([0, 0])
            for start in range(0, 8, 2):
                batch[:] = kind([start, start + 1])
                yield batch

    return ReusingSampler()


@pytest.mark.parametrize("workers", [0, 1, 2, 4])
@pytest.mark.parametrize("kind", [list, np.array])
def test_a_batch_sampler_may_yield_one_list_repeatedly(fasta, kind, workers):
    path = fasta([(f"r{i}", "ACGT"[i % 4] * 3) for i in range(8)])
    data = SequenceDataset(path, encoder=OneHot("dna"))
    loader = DataLoader(data, batch_sampler=reusing_sampler(kind), num_workers=workers)
    batches = list(loader)
    assert [list(batch["id"]) for batch in batches] == [
        [f"r{i}", f"r{i + 1}"] for i in range(0, 8, 2)
    ]
    found = np.concatenate([batch["inputs"] for batch in batches])
    assert np.array_equal(found, data.to_numpy()["inputs"])


INVALID_INDICES = [
    np.array([0, -1]),
    np.array([3, 1], np.int32),
    np.array([3, 1], np.uint8),
    np.arange(8)[::3],
    np.arange(8)[::-1],
]


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("part", [False, True])
@pytest.mark.parametrize("rows", INVALID_INDICES, ids=repr)
def test_a_batch_sampler_may_yield_any_integer_type(fasta, rows, part, workers):
    data = SequenceDataset(
        fasta([(f"r{i}", "ACG") for i in range(8)]), encoder=OneHot("dna")
    )
    chosen = data[::1] if part else data
    loader = DataLoader(chosen, batch_sampler=[rows], num_workers=workers)
    assert [list(batch["id"]) for batch in loader] == [[f"r{i % 8}" for i in rows.tolist()]]


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("part", [False, True])
@pytest.mark.parametrize(
    ("rows", "error", "words"),
    [
        (np.array([0.5]), ArgumentError, "integers"),
        (np.zeros((2, 2), np.int64), ArgumentError, "one-dimensional array of integers"),
        (np.ones(8, np.bool_), ArgumentError, "integers"),
        ([True, False], ArgumentError, "integers"),
        (np.array([400]), OutOfRangeError, "index 400 is out of range for 8 items"),
        ([], ArgumentError, "empty batch"),
    ],
)
def test_invalid_sampler_indices_are_an_error_with_any_worker_count(
    fasta, rows, error, words, part, workers
):
    data = SequenceDataset(
        fasta([(f"r{i}", "ACG") for i in range(8)]), encoder=OneHot("dna")
    )
    chosen = data[::1] if part else data
    loader = DataLoader(chosen, batch_sampler=[rows], num_workers=workers)
    with pytest.raises(error, match=words):
        list(loader)


def test_a_sampler_without_a_batch_size_yields_single_items():
    rows: Any = [5, 6, 7, 8]
    for kind in (DataLoader, TorchLoader):
        assert list(kind(rows, batch_size=None, sampler=[3, 2])) == [8, 7]


def test_an_iterable_dataset_may_reuse_its_arrays():
    class ReusingSampler(IterableDataset[Any]):
        def __iter__(self):
            buffer = np.zeros(1, np.int64)
            for number in range(4):
                buffer[0] = number
                yield buffer

    found = [int(batch[0]) for batch in DataLoader(ReusingSampler(), batch_size=None)]
    assert found == [0, 1, 2, 3]
