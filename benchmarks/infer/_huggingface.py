"""Run Hugging Face's EsmModel with SDPA and four common ways of batching."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from benchmarks.infer._inputs import Ids, InferenceTask, split_by_tokens

BATCH, MAX_TOKENS, PAD = 16, 4096, 1
Batches = list[list[int]]


def _batches_in_order(lengths: Sequence[int]) -> Batches:
    """Return batches of sixteen records in file order."""
    numbers = range(len(lengths))
    return [list(numbers[start : start + BATCH]) for start in numbers[::BATCH]]


def _batches_by_length(lengths: Sequence[int]) -> Batches:
    """Return batches of sixteen records sorted by length."""
    order = np.argsort(lengths, kind="stable").tolist()
    return [[order[each] for each in batch] for batch in _batches_in_order(lengths)]


def _batches_within_budget(lengths: Sequence[int]) -> Batches:
    """Return batches of records of similar length, with a limit on padded tokens."""
    order = np.argsort(lengths, kind="stable").tolist()
    batches = split_by_tokens([lengths[each] for each in order], MAX_TOKENS, padded=True)
    return [[order[each] for each in batch] for batch in batches]


def _single_batches(lengths: Sequence[int]) -> Batches:
    """Return each record alone, without padding."""
    return [[number] for number in range(len(lengths))]


BATCHES_OF_ORDER: dict[str, Callable[[Sequence[int]], Batches]] = {
    "file order": _batches_in_order,
    "sorted": _batches_by_length,
    "sorted within a budget": _batches_within_budget,
    "one at a time": _single_batches,
}


def prepare_huggingface(
    task: InferenceTask, order: str, dtype: str = "float32"
) -> Callable[[], list[Any]]:
    """Load the network; return a function that computes all hidden states."""
    from transformers import EsmModel

    torch.set_num_threads(1)
    records = task.records
    network: Any = EsmModel.from_pretrained(
        task.folder,
        add_pooling_layer=False,
        attn_implementation="sdpa",
        dtype=getattr(torch, dtype),
    ).eval()
    batches = BATCHES_OF_ORDER[order]([len(ids) for ids in records])
    inputs = [(batch, *_pad_batch([records[each] for each in batch])) for batch in batches]

    def compute_hidden_states() -> list[Any]:
        found: list[Any] = [None] * len(records)
        with torch.inference_mode():
            for batch, ids, mask in inputs:
                hidden = network(input_ids=ids, attention_mask=mask).last_hidden_state
                for number, row in zip(batch, hidden, strict=True):
                    found[number] = row[: len(records[number])].float()
        return found

    return compute_hidden_states


def _pad_batch(rows: list[Ids]) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Return padded ids, and the mask of real tokens if there is padding."""
    width = max(map(len, rows))
    ids = torch.full((len(rows), width), PAD)
    for number, row in enumerate(rows):
        ids[number, : len(row)] = torch.from_numpy(row)
    mask = (ids != PAD).long()
    return ids, None if bool(mask.all()) else mask
