"""Functions that embed all proteins with seqloom or with Hugging Face."""

from collections.abc import Callable, Sequence
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from benchmarks.gpu._device import wait_for_gpu
from benchmarks.gpu._inference import MAX_BATCH_TOKENS, SEQLOOM_LABEL
from benchmarks.infer._huggingface import BATCHES_OF_ORDER
from benchmarks.infer._inputs import Ids, split_by_tokens

PADDING_ID = 1
FILE, SORTED = "file order", "sorted within a budget"
Work = Callable[[], list[torch.Tensor]]


class NetworkCase(NamedTuple):
    """A network, its device and dtype, and the proteins that it embeds."""

    size: str
    device: str
    dtype: str
    folder: Path
    records: Sequence[Ids]

    def load_seqloom(self) -> Any:
        """Return the network as `ESM2`."""
        import seqloom as sl

        backend = "torch:cuda" if self.device == "cuda" else "torch"
        return sl.models.ESM2.load(self.folder, backend, self.dtype).eval()

    def load_huggingface(self, attention: str) -> Any:
        """Return the network as Hugging Face's `EsmModel`."""
        from transformers import EsmModel

        network: Any = EsmModel.from_pretrained(
            self.folder,
            add_pooling_layer=False,
            attn_implementation=attention,
            dtype=getattr(torch, self.dtype),
        )
        return network.eval().to(self.device)


def make_library_loaders(case: NetworkCase) -> dict[str, Callable[[], Work]]:
    """Return functions that each load a library, by library name; seqloom comes first."""
    sides: dict[str, Callable[[], Work]] = {SEQLOOM_LABEL: partial(_load_packed, case)}
    attentions = {"sdpa": "SDPA"}
    if find_spec("flash_attn") and case.device == "cuda" and case.dtype != "float32":
        attentions["flash_attention_2"] = "flash attention"
    for attention, name in attentions.items():
        load = cache(partial(case.load_huggingface, attention))
        for order in (FILE, SORTED):
            sides[f"Hugging Face, {name}, {order}"] = partial(
                _load_padded, case, load, order
            )
    return sides


def _load_packed(case: NetworkCase) -> Work:
    """Load seqloom; return a function that computes the hidden states of packed batches."""
    network = case.load_seqloom()
    lengths = [len(ids) for ids in case.records]
    batches = [
        _pack_proteins([case.records[number] for number in batch], case.device)
        for batch in split_by_tokens(lengths, MAX_BATCH_TOKENS, padded=False)
    ]

    def compute_hidden_states() -> list[torch.Tensor]:
        with torch.inference_mode():
            states: list[Any] = [network.embed(batch)[-1].raw for batch in batches]
            wait_for_gpu(case.device)
        return states

    return compute_hidden_states


def _pack_proteins(records: Sequence[Ids], device: str) -> dict[str, Any]:
    """Concatenate proteins into one packed batch on the device."""
    lengths = [len(ids) for ids in records]
    offsets = np.cumsum([0, *lengths], dtype="int32")
    return {
        "input_ids": torch.from_numpy(np.concatenate(records)).int().to(device),
        "cu_seqlens": torch.from_numpy(offsets).to(device),
        "max_seqlen": max(lengths),
    }


def _load_padded(case: NetworkCase, load: Callable[[], Any], order: str) -> Work:
    """Load EsmModel; return a function that computes hidden states of padded batches."""
    network = load()
    batches = _make_batches([len(ids) for ids in case.records], order)
    inputs = [
        _pad_proteins([case.records[number] for number in batch], case.device)
        for batch in batches
    ]

    def compute_hidden_states() -> list[torch.Tensor]:
        states: list[Any] = [None] * len(case.records)
        with torch.inference_mode():
            for batch, (ids, mask) in zip(batches, inputs, strict=True):
                hidden = network(input_ids=ids, attention_mask=mask).last_hidden_state
                for number, row in zip(batch, hidden, strict=True):
                    states[number] = row[: len(case.records[number])].clone()
            wait_for_gpu(case.device)
        return states

    return compute_hidden_states


def _make_batches(lengths: Sequence[int], order: str) -> list[list[int]]:
    """Return batches of 16 proteins in file order, or batches of similar lengths."""
    if order == FILE:
        return BATCHES_OF_ORDER[order](lengths)
    by_length = np.argsort(lengths, kind="stable").tolist()
    batches = split_by_tokens(
        [lengths[number] for number in by_length], MAX_BATCH_TOKENS, padded=True
    )
    return [[by_length[rank] for rank in batch] for batch in batches]


def _pad_proteins(records: Sequence[Ids], device: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the padded ids of a batch, and a mask that is 1 for real tokens."""
    ids = torch.full((len(records), max(map(len, records))), PADDING_ID)
    for row, record in zip(ids, records, strict=True):
        row[: len(record)] = torch.from_numpy(record)
    return ids.to(device), (ids != PADDING_ID).long().to(device)
