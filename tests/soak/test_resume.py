"""An epoch goes on behind any batch, with any number of workers before and after."""

import itertools
import json
from typing import Any

import numpy as np
import pytest

import loader_user as user
from seqloom.augment import Mutate
from seqloom.data import DataLoader, PadCollator, SequenceDataset, SequenceStream
from seqloom.encode import OneHot

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
PAIRS = [*itertools.product(range(5), repeat=2)]
BATCHES = 60


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """Sequences of unequal length."""
    path = tmp_path_factory.mktemp("resume") / "a.fa"
    rng = np.random.default_rng(1)
    rows = ["".join(rng.choice([*"ACGT"], rng.integers(5, 30))) for _ in range(4 * BATCHES)]
    path.write_text("".join(f">s{i}\n{row}\n" for i, row in enumerate(rows)))
    return path


def _dataset(path, workers):
    data = SequenceDataset(path, encoder=OneHot("dna"), augment=Mutate(rate=0.1))
    return DataLoader(data, 4, shuffle=True, num_workers=workers, collate_fn=PadCollator())


def _stream(path, workers):
    data = SequenceStream(
        path, encoder=OneHot("dna"), augment=Mutate(rate=0.1), shuffle_window=50
    )
    return DataLoader(data, 4, num_workers=workers, collate_fn=PadCollator())


def _user(path, workers):
    options: dict[str, Any] = {"num_workers": workers}
    if workers:
        options |= {"multiprocessing_context": "fork"}
    return DataLoader(user.Squares(4 * BATCHES), 4, shuffle=True, **options)


@pytest.mark.parametrize("make", [_dataset, _stream, _user])
def test_an_epoch_goes_on_behind_every_batch(path, make):
    whole = list(make(path, 0))
    assert len(whole) == BATCHES
    for before, after in PAIRS if make is not _user else [(0, 2), (2, 0), (2, 3)]:
        source = make(path, before)
        for done, batch in enumerate(source, 1):
            np.testing.assert_equal(batch, whole[done - 1])
            again = make(path, after)
            again.load_state_dict(json.loads(json.dumps(source.state_dict())))
            if done < BATCHES:
                np.testing.assert_equal(next(iter(again)), whole[done])
            if done % 20 == 7:
                again.load_state_dict(source.state_dict())
                np.testing.assert_equal(list(again), whole[done:])
