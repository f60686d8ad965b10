"""The layers."""

from seqloom.nn._layers._attention import SelfAttention
from seqloom.nn._layers._convolution import Conv1d, Conv2d
from seqloom.nn._layers._linear import Dropout, Embedding, Linear
from seqloom.nn._layers._norms import BatchNorm1d, LayerNorm, RMSNorm
from seqloom.nn._layers._pool import AvgPool1d, MaxPool1d, MaxPool2d
from seqloom.nn._layers._sequential import Sequential

__all__ = [
    "AvgPool1d",
    "BatchNorm1d",
    "Conv1d",
    "Conv2d",
    "Dropout",
    "Embedding",
    "LayerNorm",
    "Linear",
    "MaxPool1d",
    "MaxPool2d",
    "RMSNorm",
    "SelfAttention",
    "Sequential",
]
