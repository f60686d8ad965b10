"""ESM2 of ours on packed batches."""

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.infer._inputs import Ids, Task, budgeted

BUDGET = 4096


def prepare(task: Task, backend: str, dtype: str) -> Callable[[], list[Any]]:
    """Loads the network; the work gives the hidden states of each record."""
    import seqloom as sl

    on = sl.tensor.backend(backend, num_threads=1)
    network = sl.models.ESM2.load(task.folder, on, dtype).eval()
    batches = [_pack(batch) for batch in _cut(task.records)]

    def work() -> list[Any]:
        found: list[Any] = []
        for batch in batches:
            states = network.embed(batch)[-1].astype("float32").numpy()
            found += np.split(states, batch["cu_seqlens"][1:-1])
        return found

    return work


def _cut(records: list[Ids]) -> list[list[Ids]]:
    """The records in their order, as many as a budget of tokens holds."""
    batches = budgeted([len(ids) for ids in records], BUDGET, padded=False)
    return [[records[number] for number in batch] for batch in batches]


def _pack(records: list[Ids]) -> dict[str, Any]:
    """Some records end to end."""
    lengths = [len(ids) for ids in records]
    return {
        "input_ids": np.concatenate(records).astype("int32"),
        "cu_seqlens": np.cumsum([0, *lengths], dtype="int32"),
        "max_seqlen": max(lengths),
    }
