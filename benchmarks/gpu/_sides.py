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
OURS = "seqloom, packed"
FILE, SORTED = "file order", "sorted within a budget"
Work = Callable[[], list[torch.Tensor]]


class Case(NamedTuple):
    """A network, a device and some proteins."""

    size: str
    device: str
    dtype: str
    folder: Path
    records: Sequence[Ids]

    def load_ours(self) -> Any:
        """The network as `ESM2`."""
        import seqloom as sl

        backend = "torch:cuda" if self.device == "cuda" else "torch"
        return sl.models.ESM2.load(self.folder, backend, self.dtype).eval()

    def load_theirs(self, attention: str) -> Any:
        """The network as Hugging Face's `EsmModel`."""
        from transformers import EsmModel

        network: Any = EsmModel.from_pretrained(
            self.folder,
            add_pooling_layer=False,
            attn_implementation=attention,
            dtype=getattr(torch, self.dtype),
        )
        return network.eval().to(self.device)


def make_sides(case: Case) -> dict[str, Work]:
    """All sides that can run here; seqloom is the first."""
    sides = {OURS: _pack_work(case, case.load_ours())}
    attentions = {"sdpa": "SDPA"}
    if find_spec("flash_attn") and case.device == "cuda" and case.dtype != "float32":
        attentions["flash_attention_2"] = "flash attention"
    for attention, name in attentions.items():
        network = case.load_theirs(attention)
        for order in (FILE, SORTED):
            work = _pad_work(case, network, order)
            sides[f"Hugging Face, {name}, {order}"] = work
    return sides


def _pack_work(case: Case, network: Any) -> Work:
    """Packed batches; the work gives the states of each batch, in file order."""
    lengths = [len(ids) for ids in case.records]
    batches = [
        _pack([case.records[each] for each in batch], case.device)
        for batch in budgeted(lengths, BUDGET, padded=False)
    ]

    def work() -> list[torch.Tensor]:
        with torch.inference_mode():
            states: list[Any] = [network.embed(batch)[-1].raw for batch in batches]
            wait(case.device)
        return states

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


def _pad_work(case: Case, network: Any, order: str) -> Work:
    """Padded batches; the work gives the states of each protein, in file order."""
    batches = _cut([len(ids) for ids in case.records], order)
    inputs = [_pad([case.records[each] for each in it], case.device) for it in batches]

    def work() -> list[torch.Tensor]:
        states: list[Any] = [None] * len(case.records)
        with torch.inference_mode():
            for batch, (ids, mask) in zip(batches, inputs, strict=True):
                hidden = network(input_ids=ids, attention_mask=mask).last_hidden_state
                for number, row in zip(batch, hidden, strict=True):
                    states[number] = row[: len(case.records[number])]
            wait(case.device)
        return states

    return work


def _cut(lengths: Sequence[int], order: str) -> list[list[int]]:
    """Batches for padding: sixteen in file order, or sorted within our budget."""
    if order == FILE:
        return ORDERS[order](lengths)
    ranks = np.argsort(lengths, kind="stable").tolist()
    batches = budgeted([lengths[each] for each in ranks], BUDGET, padded=True)
    return [[ranks[each] for each in batch] for batch in batches]


def _pad(rows: Sequence[Ids], device: str) -> tuple[torch.Tensor, torch.Tensor]:
    """The ids of a batch and the mask of its tokens that are no padding."""
    ids = torch.full((len(rows), max(map(len, rows))), PAD)
    for number, row in enumerate(rows):
        ids[number, : len(row)] = torch.from_numpy(row)
    return ids.to(device), (ids != PAD).long().to(device)
