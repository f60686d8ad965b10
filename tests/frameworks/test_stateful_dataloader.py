"""StatefulDataLoader of torchdata works with datasets and streams of seqloom."""

import json
from typing import Any

import pytest
import torch
from torchdata.stateful_dataloader import StatefulDataLoader

import seqloom as sl

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:'set_vital' is deprecated:UserWarning"),
]
COLLATOR_NAMES = ["torch", "default", "pad", "varlen"]
WORKER_OPTIONS: dict[str, dict[str, Any]] = {
    "here": {},
    "two": {"num_workers": 2, "multiprocessing_context": "fork"},
    "two that persist": {
        "num_workers": 2,
        "multiprocessing_context": "fork",
        "persistent_workers": True,
    },
}


def told(batch):
    ids = batch["id"] if "id" in batch else batch["sequence_ids"]
    inputs = batch["inputs"] if "inputs" in batch else batch["input_ids"]
    return [*ids], inputs.tolist(), batch["label"].tolist()


@pytest.mark.sample(2)
@pytest.mark.parametrize("workers", WORKER_OPTIONS)
@pytest.mark.parametrize("name", COLLATOR_NAMES)
def test_a_stateful_dataloader_resumes_within_an_epoch(fed, name, workers):
    options = {"augment": sl.augment.Mutate(rate=0.2)} if name != "varlen" else {}
    data, collate = fed(name, **options)

    def theirs():
        sampler: Any = sl.data.EpochSampler(data, seed=3)
        return StatefulDataLoader(
            data,
            batch_size=4,
            sampler=sampler,
            collate_fn=collate,
            **WORKER_OPTIONS[workers],
        )

    called = collate.__call__ if name == "varlen" else collate
    ours = sl.data.DataLoader(
        data, 4, shuffle=True, seed=3, collate_fn=called, output="torch"
    )
    wanted = [told(batch) for _ in range(2) for batch in ours]
    batches = iter(first := theirs())
    had = [told(next(batches)) for _ in range(2)]
    state = first.state_dict()
    del batches
    again = theirs()
    again.load_state_dict(state)
    assert had + [told(batch) for _ in range(2) for batch in again] == wanted


@pytest.mark.parametrize("workers", ["here", "two"])
def test_a_stateful_dataloader_resumes_a_stream_within_an_epoch(sequences, workers):
    path = sequences(sl.encode.OneHot("dna")).paths[0]

    def theirs():
        stream = sl.data.SequenceStream(
            path, encoder=sl.encode.OneHot("dna"), shuffle_window=8
        )
        collate = sl.data.PadCollator(output="torch")
        return StatefulDataLoader(
            stream.to_torch(), batch_size=4, collate_fn=collate, **WORKER_OPTIONS[workers]
        )

    def ids(batches):
        return [[*batch["id"]] for batch in batches]

    wanted = ids(theirs())
    batches = iter(first := theirs())
    had = ids(next(batches) for _ in range(2))
    state = first.state_dict()
    del batches
    again = theirs()
    again.load_state_dict(state)
    assert had + ids(again) == wanted
    assert sorted(name for batch in wanted for name in batch) == sorted(
        f"s{number}" for number in range(22)
    )


def test_the_saved_state_of_a_stream_contains_no_records(sequences):
    path = sequences(sl.encode.OneHot("dna")).paths[0]
    stream = sl.data.SequenceStream(path, encoder=sl.encode.OneHot("dna")).to_torch()
    items = iter(stream)
    next(items)
    assert json.loads(json.dumps(stream.state_dict()))["position"] == 1
    assert isinstance(stream, torch.utils.data.IterableDataset)
