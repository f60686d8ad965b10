"""What other people's trainers train in the tests, here and in processes of their own."""

from typing import Any

import lightning
import torch


def ids_of(batch):
    """Lists the ids of a batch of any collator."""
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


class TinyLightning(lightning.LightningModule):
    """The same as a module of Lightning; it notes ids too."""

    def __init__(self):
        super().__init__()
        self.tiny = Tiny()
        self.seen = []

    def training_step(self, batch, _):
        self.seen.append(ids_of(batch))
        return self.tiny(**batch)["loss"]

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


class TinyValidated(TinyLightning):
    """The same, validated after each epoch."""

    def validation_step(self, batch, _):
        self.log("loss", self.tiny(**batch)["loss"], batch_size=len(batch["label"]))


def lightning_trainer(folder, **options):
    """Makes a trainer that writes and prints nothing."""
    quiet: dict[str, Any] = {
        "accelerator": "cpu",
        "devices": 1,
        "max_epochs": 2,
        "logger": False,
        "enable_checkpointing": False,
        "enable_progress_bar": False,
        "enable_model_summary": False,
        "default_root_dir": folder,
    }
    return lightning.Trainer(**{**quiet, **options})
