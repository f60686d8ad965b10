"""A loader resumes an epoch after any batch, with any number of workers."""

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
WORKER_COUNTS = [*itertools.product(range(5), repeat=2)]
BATCH_COUNT = 60


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """Write a FASTA file with sequences of different lengths."""
    path = tmp_path_factory.mktemp("resume") / "a.fa"
    rng = np.random.default_rng(1)
    rows = [
        "".join(rng.choice([*"ACGT"], rng.integers(5, 30))) for _ in range(4 * BATCH_COUNT)
    ]
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


def _user_dataset(path, workers):
    options: dict[str, Any] = {"num_workers": workers}
    if workers:
        options |= {"multiprocessing_context": "fork"}
    return DataLoader(user.Squares(4 * BATCH_COUNT), 4, shuffle=True, **options)


@pytest.mark.parametrize("make", [_dataset, _stream, _user_dataset])
def test_an_epoch_resumes_after_every_batch(path, make):
    expected = list(make(path, 0))
    assert len(expected) == BATCH_COUNT
    for before, after in (
        WORKER_COUNTS if make is not _user_dataset else [(0, 2), (2, 0), (2, 3)]
    ):
        source = make(path, before)
        for done, batch in enumerate(source, 1):
            np.testing.assert_equal(batch, expected[done - 1])
            resumed = make(path, after)
            resumed.load_state_dict(json.loads(json.dumps(source.state_dict())))
            if done < BATCH_COUNT:
                np.testing.assert_equal(next(iter(resumed)), expected[done])
            if done % 20 == 7:
                resumed.load_state_dict(source.state_dict())
                np.testing.assert_equal(list(resumed), expected[done:])
