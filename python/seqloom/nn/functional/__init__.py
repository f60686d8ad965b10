"""Functions of tensors without state, named as in ``torch.nn.functional``."""

from seqloom.nn.functional._activations import gelu, log_softmax, relu, sigmoid, softmax
from seqloom.nn.functional._layers import batch_norm, conv1d, dropout, linear, max_pool1d
from seqloom.nn.functional._losses import (
    binary_cross_entropy_with_logits,
    cross_entropy,
    mse_loss,
)
from seqloom.nn.functional._masked import masked_max, masked_mean

__all__ = [
    "batch_norm",
    "binary_cross_entropy_with_logits",
    "conv1d",
    "cross_entropy",
    "dropout",
    "gelu",
    "linear",
    "log_softmax",
    "masked_max",
    "masked_mean",
    "max_pool1d",
    "mse_loss",
    "relu",
    "sigmoid",
    "softmax",
]
