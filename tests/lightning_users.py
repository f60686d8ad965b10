"""Lightning modules and trainers for tests and their child processes."""

from typing import Any

import lightning
import torch

from trainers import Tiny, ids_of


class TinyLightning(lightning.LightningModule):
    """A network as a Lightning module that also records ids."""

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
    """A module with validation after each epoch."""

    def validation_step(self, batch, _):
        self.log("loss", self.tiny(**batch)["loss"], batch_size=len(batch["label"]))


def lightning_trainer(folder, **options):
    """Create a trainer that writes and prints nothing."""
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


class SaveAfter(lightning.Callback):
    """Saves a checkpoint after some steps."""

    def __init__(self, steps, path):
        self.steps, self.path = steps, path

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):  # noqa: ARG002 - Lightning's names
        if trainer.global_step == self.steps:
            trainer.save_checkpoint(self.path)
