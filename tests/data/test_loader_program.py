"""Random sequences of calls that stop, save and resume epochs of loaders."""

import json
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import settings, strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

import loader_user as user
from seqloom.data import DataLoader, PadCollator, SequenceDataset, SequenceStream
from seqloom.encode import OneHot

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
MAX_DATASET_SIZE = 60


class Plain:
    """A source of loaders whose items are collated in Python threads."""

    ranks = st.integers(1, 9)
    examples = 30

    def loader(self, size, *args, **options):
        return DataLoader([{"x": i} for i in range(size)], *args, **options)

    def numbers(self, batch):
        return batch["x"]


class Sequences:
    """A source of loaders whose batches are made in Rust threads."""

    ranks = st.integers(1, 9)
    examples = 30

    def __init__(self, folder):
        path = folder / "a.fa"
        path.write_text(
            "".join(f">{i}\n{'ACGT'[: 1 + i % 4]}\n" for i in range(MAX_DATASET_SIZE))
        )
        self.data = SequenceDataset(path, encoder=OneHot("dna"))

    def loader(self, size, *args, **options):
        return DataLoader(self.data[:size], *args, collate_fn=PadCollator(), **options)

    def numbers(self, batch):
        return np.array([int(name) for name in batch["id"]])


class Stream:
    """A source of loaders of a stream that is shuffled within a window."""

    ranks = st.just(1)
    examples = 30

    def __init__(self, folder):
        self.folder = folder

    def loader(self, size, *args, shuffle, seed, **options):
        path = self.folder / f"{size}.fa"
        path.write_text("".join(f">{i}\nACGT\n" for i in range(size)))
        stream = SequenceStream(
            path, encoder=OneHot("dna"), shuffle_window=20 * shuffle, seed=seed
        )
        return DataLoader(stream, *args, seed=seed, **options)

    def numbers(self, batch):
        return batch["ordinal"]


class Processes:
    """A source of loaders of a custom dataset, whose batches are made in processes."""

    ranks = st.integers(1, 2)
    examples = 5

    def loader(self, size, *args, num_workers=0, **options):
        if num_workers:
            options |= {"num_workers": num_workers, "multiprocessing_context": "fork"}
        return DataLoader(user.Squares(size), *args, **options)

    def numbers(self, batch):
        return np.sqrt(batch["x"][:, 0]).astype(int)


class LoaderProgram(RuleBasedStateMachine):
    """The loaders of all ranks, compared with the order of an uninterrupted run."""

    kept: Bundle[Any] = Bundle("kept")

    def __init__(self, source):
        super().__init__()
        self.source: Any = source
        self.batches: list[Any] = []

    @initialize(target=kept, size=st.integers(1, MAX_DATASET_SIZE), seed=st.integers(0, 5))
    def begin(self, size, seed):
        self.size, self.options = size, {"shuffle": True, "seed": seed}
        self.unstopped = self.source.loader(size, 7, **self.options)
        self.orders: list[list[int]] = []
        self.epoch = self.position = 0
        self._start(1, 1, 0)
        return self.keep()

    @rule(steps=st.integers(1, 6))
    def take(self, steps):
        for _ in range(steps):
            if self.position == self.size:
                self._expect_end()
            found = self._next_records()
            stop = self.position + len(found)
            assert found == self._order()[self.position : stop]
            assert len(found) in {self.step, self.size - self.position}
            self.position, self.is_begun = stop, True

    @rule(target=kept)
    def keep(self):
        states = [loader.state_dict() for loader in self.loaders]
        assert all(state == states[0] for state in states)
        is_over = self.position == self.size
        place = (self.epoch + 1, 0) if is_over else (self.epoch, self.position)
        assert states[0]["epoch"] == place[0]
        return json.dumps(states[0]), *place

    @rule(data=st.data(), state=kept, size=st.integers(1, 12), workers=st.integers(0, 2))
    def resume(self, data, state, size, workers):
        text, self.epoch, self.position = state
        self.teardown()
        self._start(data.draw(self.source.ranks), size, workers)
        for loader in self.loaders:
            loader.load_state_dict(json.loads(text))

    @precondition(lambda self: self.is_begun)
    @rule()
    def begin_the_next_epoch(self):
        self.teardown()
        self._begin_epoch(self.epoch + 1)
        self.take(1)

    @rule(epoch=st.integers(0, 3))
    def choose_an_epoch(self, epoch):
        self.teardown()
        for loader in self.loaders:
            loader.set_epoch(epoch)
        self._begin_epoch(epoch)

    def teardown(self):
        for batches in self.batches:
            batches.close()

    def _start(self, world, batch_size, workers):
        """Create the loaders of all ranks."""
        self.step = world * batch_size
        self.loaders = [
            self.source.loader(
                self.size,
                batch_size,
                num_workers=workers,
                rank=rank,
                world_size=world,
                **self.options,
            )
            for rank in range(world)
        ]
        self._begin_pass()

    def _begin_pass(self):
        """Create iterators; a pass begins when the first batch is requested."""
        self.batches = [iter(loader) for loader in self.loaders]
        self.is_begun = False

    def _begin_epoch(self, epoch):
        """Set the expected position to the start of an epoch."""
        self._begin_pass()
        self.epoch, self.position = epoch, 0

    def _order(self):
        """Return the order of the records in this epoch of an uninterrupted run."""
        while len(self.orders) <= self.epoch:
            batches = [self.source.numbers(batch) for batch in self.unstopped]
            self.orders.append(np.concatenate(batches).tolist())
            assert sorted(self.orders[-1]) == [*range(self.size)]
        return self.orders[self.epoch]

    def _expect_end(self):
        """Check that no rank has another batch, and begin the next epoch."""
        assert all(next(batches, None) is None for batches in self.batches)
        self._begin_epoch(self.epoch + 1)

    def _next_records(self):
        """Return the records of one batch of each rank, interleaved and without padding."""
        batches = [next(batches) for batches in self.batches]
        numbers = np.array([self.source.numbers(batch) for batch in batches])
        padding = [batch.get("is_padding", [False] * numbers.shape[1]) for batch in batches]
        return numbers.T[~np.array(padding).T].tolist()


def _run(source, rounds):
    program: Any = partial(LoaderProgram, source)
    run_state_machine_as_test(
        program,
        settings=settings(
            max_examples=rounds * source.examples, stateful_step_count=20, deadline=None
        ),
    )


@pytest.mark.parametrize("source", [Plain, Sequences, Stream, Processes])
@pytest.mark.parametrize("rounds", [1, pytest.param(40, marks=pytest.mark.soak)])
def test_interrupted_and_resumed_loaders_deliver_each_record_once(source, rounds, tmp_path):
    needs_files = source in {Sequences, Stream}
    _run(source(tmp_path) if needs_files else source(), rounds)
