"""The loader has the arguments and attributes of the PyTorch loader."""

import inspect
import operator
import pickle
import warnings
from typing import Any

import numpy as np
import pytest
from torch.utils.data import DataLoader as TorchLoader

from seqloom.data import DataLoader, SequenceDataset, VarlenCollator
from seqloom.encode import OneHot
from seqloom.errors import ArgumentError, ShapeError, WorkerError

# Untyped, because PyTorch accepts more values than its type annotations allow.
SEQLOOM_LOADER: Any = DataLoader
PYTORCH_LOADER: Any = TorchLoader
FIXED_OPTIONS = [
    "batch_size",
    "batch_sampler",
    "sampler",
    "drop_last",
    "dataset",
    "persistent_workers",
]


class Faulty:
    """A dataset of ten items; some raise an exception."""

    def __init__(self, errors):
        self.errors = errors

    def __len__(self):
        return 10

    def __getitem__(self, index):
        if index in self.errors:
            raise self.errors[index]
        return int(index)


class WrongLength:
    """An iterable dataset with more items than its ``len``."""

    def __init__(self, length):
        self.length = length

    def __len__(self):
        return self.length

    def __iter__(self):
        return iter(range(10))


def outcomes(batches):
    """Return all batches; an exception replaces a batch that raises it."""
    found = []
    while True:
        try:
            found.append([int(item) for item in next(batches)])
        except StopIteration:
            return found
        except KeyError as error:
            found.append(error.args)


def as_list(value):
    """Return a sampler as a list; return any other value unchanged."""
    return [*value] if hasattr(value, "__iter__") else value


def test_the_loader_accepts_every_argument_of_the_pytorch_loader():
    ours = inspect.signature(DataLoader).parameters
    theirs = inspect.signature(TorchLoader).parameters
    assert theirs.keys() <= ours.keys()
    positional = [name for name, each in theirs.items() if each.kind != each.KEYWORD_ONLY]
    assert [*ours][: len(positional)] == positional


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"batch_size": 3, "drop_last": True},
        {"num_workers": 1},
        {"num_workers": 1, "prefetch_factor": 4},
        {"batch_sampler": [[0], [1, 2]]},
        {"batch_size": None},
        {"in_order": False, "pin_memory_device": "cuda"},
    ],
)
def test_the_loader_has_the_attributes_of_the_pytorch_loader(options):
    ours, theirs = DataLoader([1, 2, 3], **options), PYTORCH_LOADER([1, 2, 3], **options)
    for name in inspect.signature(TorchLoader).parameters.keys() - {
        "shuffle",  # the PyTorch loader lacks this attribute
        "collate_fn",
        "sampler",  # its class differs from PyTorch
        "batch_sampler",
        "multiprocessing_context",
    }:
        assert getattr(ours, name) == getattr(theirs, name), name


@pytest.mark.parametrize("name", FIXED_OPTIONS)
def test_sampling_options_of_a_loader_cannot_be_changed_later(name):
    for loader in (DataLoader([1, 2, 3]), PYTORCH_LOADER([1, 2, 3])):
        before = as_list(getattr(loader, name))
        with pytest.raises(ValueError, match=f"{name}.* set"):
            setattr(loader, name, 5)
        assert as_list(getattr(loader, name)) == before


@pytest.mark.parametrize("name", ["shuffle", "seed", "output", "rank", "even_ranks"])
def test_seed_and_rank_options_of_a_loader_cannot_be_changed_later(name):
    with pytest.raises(ArgumentError, match=f"{name} must not be set.*create another one"):
        setattr(DataLoader([1, 2, 3]), name, 1)


def test_worker_options_of_a_loader_can_be_changed_as_in_pytorch():
    for kind in (SEQLOOM_LOADER, PYTORCH_LOADER):
        loader = kind([1, 2, 3, 4], batch_size=2)
        loader.collate_fn = sum
        assert list(loader) == [3, 7]
    loader = DataLoader([1, 2, 3, 4], batch_size=2, num_workers=2, prefetch_factor=3)
    loader.num_workers = 0
    assert [batch.tolist() for batch in loader] == [[1, 2], [3, 4]]
    loader.num_workers = 1
    assert [batch.tolist() for batch in loader] == [[1, 2], [3, 4]]


def test_an_invalid_change_of_an_option_does_not_affect_the_loader():
    loader = DataLoader([1, 2, 3, 4], batch_size=2)
    with pytest.raises(ArgumentError, match="num_workers must be an integer"):
        loader.num_workers = -1
    assert (loader.num_workers, len(list(loader))) == (0, 2)


@pytest.mark.sample(3)
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("errors", [{3: KeyError(3)}, {0: KeyError(0), 9: KeyError(9)}])
def test_a_loader_epoch_continues_after_an_exception_as_in_pytorch(workers, errors):
    options: dict[str, Any] = {"batch_size": 2, "num_workers": workers}
    if workers:
        options |= {"multiprocessing_context": "fork", "persistent_workers": True}
    ours, theirs = (
        kind(Faulty(errors), collate_fn=list, **options)
        for kind in (SEQLOOM_LOADER, PYTORCH_LOADER)
    )
    for _ in range(2):
        found, wanted = outcomes(iter(ours)), outcomes(iter(theirs))
        assert [type(each) for each in found] == [type(each) for each in wanted]
        lists = [each for each in found if isinstance(each, list)]
        assert lists == [each for each in wanted if isinstance(each, list)]
    ours.close()


@pytest.mark.parametrize("workers", [0, 2])
def test_a_loader_epoch_continues_after_an_invalid_batch(fasta, workers):
    path = fasta({"a": "ACGT", "b": "AC", "c": "GGGG", "d": "GG", "e": "TTTT", "f": "CCCC"})
    data = SequenceDataset(path, encoder=OneHot("dna"))
    batches = iter(
        DataLoader(data, 2, sampler=[0, 2, 1, 4, 3, 5, 4, 5], num_workers=workers)
    )
    assert next(batches)["id"] == ["a", "c"]
    for _ in range(2):
        with pytest.raises(ShapeError, match="unequal length"):
            next(batches)
    assert next(batches)["id"] == ["e", "f"]
    assert next(batches, None) is None


def test_the_loader_state_does_not_advance_past_a_failed_batch():
    loader = DataLoader(Faulty({3: KeyError(3)}), batch_size=2)
    batches = iter(loader)
    next(batches)
    with pytest.raises(KeyError):
        next(batches)
    assert loader.state_dict()["position"] == 2
    next(batches)
    assert loader.state_dict()["position"] == 6


def test_stop_iteration_raised_by_a_dataset_item_is_an_error():
    batches = iter(DataLoader(Faulty({1: StopIteration()}), batch_size=5))
    with pytest.raises(WorkerError, match="raised StopIteration"):
        next(batches)
    assert next(batches).tolist() == [5, 6, 7, 8, 9]


def test_a_loader_iterator_has_the_length_of_its_epoch():
    for kind in (SEQLOOM_LOADER, PYTORCH_LOADER):
        batches = iter(kind(range(10), batch_size=3))
        next(batches)
        assert (len(batches), operator.length_hint(batches)) == (4, 4)
    with pytest.raises(TypeError):
        len(iter(DataLoader(iter("abc"))))


def test_a_loader_warns_if_an_iterable_exceeds_its_len():
    loader = DataLoader(WrongLength(4), batch_size=2)
    assert len(loader) == 2
    with pytest.warns(
        UserWarning, match="the len of WrongLength .* 2 batches, but there are more"
    ):
        assert sum(1 for _ in loader) == 5
    honest = DataLoader(WrongLength(10), batch_size=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(honest) == len(list(honest))


@pytest.mark.parametrize("workers", [0, 2])
def test_the_sampler_attributes_yield_the_order_of_the_next_epoch(workers):
    options = {"batch_size": 4, "num_workers": workers}
    for each in (kind(range(10), **options) for kind in (SEQLOOM_LOADER, PYTORCH_LOADER)):
        assert [[*rows] for rows in each.batch_sampler] == [
            [*range(4)],
            [*range(4, 8)],
            [8, 9],
        ]
        assert ([*each.sampler], len(each.sampler)) == ([*range(10)], 10)
        assert len(each.batch_sampler) == 3
    loader = SEQLOOM_LOADER(range(10), shuffle=True, **options)
    for epoch in (0, 1, 5):
        loader.sampler.set_epoch(epoch)
        rows = [[*rows] for rows in loader.batch_sampler]
        assert [row for part in rows for row in part] == [*loader.sampler]
        assert [batch.tolist() for batch in loader] == rows


def test_setting_the_current_epoch_keeps_a_loaded_loader_position():
    loader = SEQLOOM_LOADER(range(10), batch_size=4)
    loader.load_state_dict({**loader.state_dict(), "position": 8})
    loader.sampler.set_epoch(0)
    assert [batch.tolist() for batch in loader] == [[8, 9]]


def test_an_unused_loader_iterator_does_not_begin_an_epoch():
    loader, other = (
        SEQLOOM_LOADER(range(10), batch_size=10, shuffle=True) for _ in range(2)
    )
    iter(loader)
    assert next(iter(loader)).tolist() == next(iter(other)).tolist()


def test_a_packing_collator_receives_the_items_of_a_batch_sampler():
    items = [{"id": str(n), "inputs": np.arange(n)} for n in range(1, 7)]
    rows = [[0, 5], [1], [2, 3, 4]]
    loader = SEQLOOM_LOADER(items, batch_sampler=rows, collate_fn=VarlenCollator())
    found = [[int(name) - 1 for name in batch["sequence_ids"]] for batch in loader]
    assert (found, len(loader)) == (rows, 3)


def test_the_loader_class_is_generic_in_the_type_of_batches():
    kind = DataLoader[np.ndarray]
    assert [batch.tolist() for batch in kind([1, 2])] == [[1], [2]]


@pytest.mark.parametrize("workers", [0, 2])
def test_a_pickled_loader_resumes_at_its_position(toy, workers):
    loader = DataLoader(toy(), 4, shuffle=True, num_workers=workers)
    batches = iter(loader)
    next(batches)
    again = pickle.loads(pickle.dumps(loader))  # noqa: S301 - our own
    state = loader.state_dict()
    assert again.state_dict() == state
    again.load_state_dict(state)
    assert [batch["id"] for batch in again] == [batch["id"] for batch in batches]
