"""Logistic regression on the one-hot letters: what a network has to beat."""

from seqloom.nn import Linear, Module
from seqloom.tensor import Tensor


class Logistic(Module):
    """One number for each letter at each position and class, and nothing else."""

    head: Linear

    def __init__(self, inputs: int, outputs: int) -> None:
        self.head = Linear(inputs, outputs)

    def logits(self, x: Tensor, *, mask: object = None, key: object = None) -> Tensor:
        """Gives the outputs ``(batch, class)`` of ``(batch, channel, position)``."""
        del mask, key  # windows have one length, and nothing is drawn
        return self.head(x.reshape(x.shape[0], -1))
