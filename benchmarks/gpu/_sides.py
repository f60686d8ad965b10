"""The sides: each gives work that embeds all proteins, and their hidden states."""

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from benchmarks.gpu._card import wait
from benchmarks.infer._huggingface import ORDERS
from benchmarks.infer._inputs import Ids, budgeted

PAD, BUDGET = 1, 16_384
Work = Callable[[], list[torch.Tensor]]


class Case(NamedTuple):
    """A network, a device and some proteins."""

    size: str
    device: str
    dtype: str
    folder: Path
    records: Sequence[Ids]


def ours(case: Case) -> Work:
    """ESM2 on packed batches; the work gives the states of each, in order."""
    import seqloom as sl

    backend = "torch" if case.device == "cpu" else f"torch:{case.device}"
    network = sl.models.ESM2.load(case.folder, backend, case.dtype).eval()
    lengths = [len(ids) for ids in case.records]
    batches = [
        _pack([case.records[each] for each in batch], case.device)
        for batch in budgeted(lengths, BUDGET, padded=False)
    ]

    def work() -> list[torch.Tensor]:
        with torch.inference_mode():
            found: list[Any] = [network.embed(batch)[-1].raw for batch in batches]
            wait(case.device)
        return found

    return work


def _pack(records: Sequence[Ids], device: str) -> dict[str, Any]:
    """Some proteins end to end, on the device."""
    lengths = [len(ids) for ids in records]
    ends = np.cumsum([0, *lengths], dtype="int32")
    return {
        "input_ids": torch.from_numpy(np.concatenate(records)).int().to(device),
        "cu_seqlens": torch.from_numpy(ends).to(device),
        "max_seqlen": max(lengths),
    }


def hugging_face(case: Case, order: str, attention: str) -> Work:
    """EsmModel on padded batches; the work gives the states of each, in file order."""
    from transformers import EsmModel

    network: Any = EsmModel.from_pretrained(
        case.folder,
        add_pooling_layer=False,
        attn_implementation=attention,
        dtype=getattr(torch, case.dtype),
    )
    network = network.eval().to(case.device)
    batches = _cut([len(ids) for ids in case.records], order)
    inputs = [_pad([case.records[each] for each in it], case.device) for it in batches]

    def work() -> list[torch.Tensor]:
        found: list[Any] = [None] * len(case.records)
        with torch.inference_mode():
            for batch, (ids, mask) in zip(batches, inputs, strict=True):
                hidden = network(input_ids=ids, attention_mask=mask).last_hidden_state
                for number, row in zip(batch, hidden, strict=True):
                    found[number] = row[: len(case.records[number])]
            wait(case.device)
        return found

    return work


def _cut(lengths: Sequence[int], order: str) -> list[list[int]]:
    """Batches of padded proteins; within a budget as large as ours."""
    if order != "sorted within a budget":
        return ORDERS[order](lengths)
    ranks = np.argsort(lengths, kind="stable").tolist()
    batches = budgeted([lengths[each] for each in ranks], BUDGET, padded=True)
    return [[ranks[each] for each in batch] for batch in batches]


def _pad(rows: Sequence[Ids], device: str) -> tuple[torch.Tensor, torch.Tensor]:
    """The ids of a batch and the mask of its real tokens."""
    ids = torch.full((len(rows), max(map(len, rows))), PAD)
    for number, row in enumerate(rows):
        ids[number, : len(row)] = torch.from_numpy(row)
    return ids.to(device), (ids != PAD).long().to(device)


def sides(case: Case) -> dict[str, Work]:
    """All sides that can run here."""
    found = {"seqloom, packed": ours(case)}
    attentions = {"sdpa": "SDPA"}
    if find_spec("flash_attn") and case.device != "cpu":
        attentions["flash_attention_2"] = "flash attention"
    for attention, name in attentions.items():
        for order in ("file order", "sorted within a budget"):
            work = hugging_face(case, order, attention)
            found[f"Hugging Face, {name}, {order}"] = work
    return found
