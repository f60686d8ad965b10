"""Streams with custom code in the loader yield each record once.

The tests that `make test` runs take 7 seconds, mostly to start processes.
"""

import json
from itertools import chain
from typing import Any

import numpy as np
import pytest

import loader_user as user
from seqloom.data import (
    DataLoader,
    PackedStream,
    PadCollator,
    SequenceStream,
    VarlenCollator,
)
from seqloom.encode import OneHot, Tokens
from seqloom.errors import AlphabetError, ArgumentError

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
RECORD_COUNT = 150
DNA_ENCODER = OneHot("dna")
PACKING_COLLATOR = VarlenCollator(tokens=Tokens("dna"), max_tokens=200)
# For each kind of custom code: the class of the stream, its options, and the collator.
STREAMS_WITH_USER_CODE: dict[str, Any] = {
    "augmentation": (SequenceStream, {"augment": user.Backwards()}, PadCollator()),
    "draws": (SequenceStream, {"augment": user.Redrawn()}, PadCollator()),
    "encoder": (SequenceStream, {"encoder": user.Codes()}, PadCollator()),
    "collator": (SequenceStream, {}, user.plain),
    "packed": (
        SequenceStream,
        {"encoder": None, "augment": user.Backwards()},
        PACKING_COLLATOR,
    ),
    "subclass": (user.UnchangedStream, {}, PadCollator()),
}


@pytest.fixture
def path(fasta):
    return fasta([(f"s{i}", ("ACGT" * 5)[i % 4 : 8 + i % 9]) for i in range(RECORD_COUNT)])


@pytest.fixture(params=STREAMS_WITH_USER_CODE)
def load(request, path):
    """Return a function that creates a loader with the custom code of a case."""
    make_stream, changes, collate = STREAMS_WITH_USER_CODE[request.param]

    def make(workers=0, *, context="fork", window=50, **options):
        if workers:
            options |= {"num_workers": workers, "multiprocessing_context": context}
        stream = make_stream(
            path, **({"encoder": DNA_ENCODER} | changes), shuffle_window=window
        )
        return DataLoader(stream, 32, collate_fn=collate, **options)

    return make


def ids(batches):
    """Return the ids of batches of any type."""
    rows = [
        [item["id"] for item in batch]
        if isinstance(batch, list)
        else batch.get("id", batch.get("sequence_ids"))
        for batch in batches
    ]
    return [name for row in rows for name in row]


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_streams_with_user_code_deliver_each_record_once_in_order(load, workers):
    loader = load(workers)
    for epoch in range(2):
        loader.dataset.set_epoch(epoch)
        wanted = [item["id"] for item in loader.dataset]
        found = ids(loader)
        assert sorted(found) == sorted(wanted)
        if not hasattr(loader.collate_fn, "stream"):  # a packing collator changes the order
            assert found == wanted


@pytest.mark.sample(5)
@pytest.mark.parametrize(("workers", "context"), [(1, "fork"), (3, "fork"), (2, "spawn")])
def test_workers_make_equal_batches_of_streams_with_user_code(load, workers, context):
    alone, together = load(), load(workers, context=context, persistent_workers=True)
    for _ in range(2):
        np.testing.assert_equal(list(together), list(alone))
    together.close()


@pytest.mark.sample(5)
@pytest.mark.parametrize(("before", "after"), [(0, 2), (2, 0), (2, 3)])
def test_a_stream_with_user_code_resumes_with_any_worker_count(load, before, after):
    whole = load()
    first, second = list(whole), list(whole)
    source, again = load(before), load(after)
    batches = iter(source)
    next(batches), next(batches)
    again.load_state_dict(json.loads(json.dumps(source.state_dict())))
    batches.close()
    np.testing.assert_equal([*again, *again], first[2:] + second)


@pytest.mark.sample(3)
@pytest.mark.parametrize("workers", [0, 2])
def test_distributed_ranks_split_a_stream_with_user_code(load, workers):
    parts = [ids(load(workers, rank=rank, world_size=3)) for rank in range(3)]
    assert all(parts)
    assert sorted(chain(*parts)) == sorted(f"s{i}" for i in range(RECORD_COUNT))


@pytest.mark.parametrize("workers", [0, 2])
def test_streams_with_user_code_return_records_before_an_error(tmp_path, workers):
    path = tmp_path / "a.fa"
    path.write_text("".join(f">r{i}\nACGT\n" for i in range(40)) + ">bad\nACJT\n")
    stream = SequenceStream(path, encoder=DNA_ENCODER, augment=user.Backwards())
    loader = DataLoader(stream, 4)
    if workers:
        loader.num_workers, loader.multiprocessing_context = workers, "fork"
    found = []
    with pytest.raises(AlphabetError, match=r"record 40 \(bad\), residue 1 after augment"):
        found.extend(batch["id"][0] for batch in loader)
    assert found == [f"r{i}" for i in range(0, 40, 4)]


def test_a_stream_counts_skipped_records_when_workers_encode(tmp_path):
    path = tmp_path / "a.fq"
    path.write_text("@a\nACGT\n+\nIIII\n@b\nACGT\n+\nIII\n@c\nACGT\n+\nIIII\n")
    stream = SequenceStream(path, encoder=user.Codes(), on_error="skip")
    loader = DataLoader(stream, 2, num_workers=2, multiprocessing_context="fork")
    assert ids(loader) == ["a", "c"]
    assert stream.report["left_out"] == {"length": 1}


def test_a_loader_yields_the_items_of_a_custom_stream_class(path):
    stream = user.MarkedStream(path, encoder=DNA_ENCODER, augment=user.Backwards())
    batches = list(DataLoader(stream, 32, collate_fn=PadCollator()))
    assert ids(batches) == [f"s{i}" for i in range(RECORD_COUNT)]
    assert batches[0]["mark"] == ["seen"] * 32


@pytest.mark.parametrize("workers", [0, 2])
def test_a_packed_stream_is_read_once_for_any_number_of_workers(path, workers):
    stream = PackedStream(path, Tokens("dna"), max_tokens=200)
    assert ids(DataLoader(stream, None, num_workers=workers)) == ids(stream)


def test_a_packing_loader_rejects_the_state_of_another_file(path, fasta):
    one, other = (
        DataLoader(SequenceStream(name), collate_fn=PACKING_COLLATOR)
        for name in (path, fasta([("a", "ACGT")], "b.fa"))
    )
    with pytest.raises(ArgumentError, match="the state is of a loader with stream"):
        other.load_state_dict(one.state_dict())
