"""A training step of seqloom, as in `fit`."""

from typing import Any

import numpy as np

from seqloom import Key
from seqloom.models import SequenceCNN, SequenceCNNConfig
from seqloom.nn import functional as F, value_and_grad
from seqloom.optim import AdamW
from seqloom.tensor import Tensor, backend


class SeqloomTrainer:
    """The network of the demo on the NumPy backend, with its optimiser.

    Args:
        config: Settings of the network.
        threads: Number of threads.
        lr: Learning rate.
    """

    def __init__(self, config: SequenceCNNConfig, *, threads: int, lr: float) -> None:
        self.model: SequenceCNN = config.init(backend("numpy", num_threads=threads), Key(0))
        flat = tuple(path for path, each in self.model.parameters() if len(each.shape) == 1)
        self.optimizer = AdamW().group(flat, weight_decay=0.0)
        self.lr = lr
        self.follow = value_and_grad(_compute_loss)

    def step(self, batch: dict[str, Any]) -> float:
        """Train on one batch and return the loss."""
        key = Key(0, self.optimizer.step_count)
        loss, grads = self.follow(self.model, batch, key)
        self.optimizer.step(self.lr, self.model, grads)
        return float(loss.item())

    def weights(self) -> dict[str, np.ndarray]:
        """Copy the weights and the running averages by path."""
        return {path: np.array(value) for path, value in self.model.to_record().items()}


def _compute_loss(model: SequenceCNN, batch: dict[str, Any], key: Key) -> Tensor:
    """Return the loss of a batch."""
    inputs = model.backend.tensor(batch["inputs"], dtype="float32")
    return F.cross_entropy(model.logits(inputs, key=key), batch["label"])
