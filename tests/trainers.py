"""What other people's trainers train in the tests, here and in processes of their own."""

from typing import Any

import torch


def ids_of(batch):
    """List the ids of a batch of any collator."""
    return [*batch["id"]] if "id" in batch else batch["sequence_ids"]


class Tiny(torch.nn.Module):
    """Scores a batch of any collator, and notes which records it has seen."""

    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(32, 4)
        self.head = torch.nn.Linear(4, 2)
        self.seen = []

    def forward(self, label: Any, inputs: Any = None, **rest):
        if inputs is None:
            hidden = self.embed(rest["input_ids"])[rest["cu_seqlens"][:-1].long()]
        else:
            hidden = inputs.mean(-1)
        ordinals = rest["ordinal"] if "ordinal" in rest else rest["ordinals"]
        self.seen.append(ordinals.tolist())
        logits = self.head(hidden)
        return {"loss": torch.nn.functional.cross_entropy(logits, label), "logits": logits}
