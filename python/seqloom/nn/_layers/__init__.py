"""The layers."""

from seqloom.nn._layers._activations import (
    GELU,
    GLU,
    LogSigmoid,
    LogSoftmax,
    Mish,
    Sigmoid,
    SiLU,
    Softmax,
    Softplus,
    Softsign,
    Tanh,
)
from seqloom.nn._layers._adaptive_pool import (
    AdaptiveAvgPool1d,
    AdaptiveAvgPool2d,
    AdaptiveMaxPool1d,
    AdaptiveMaxPool2d,
)
from seqloom.nn._layers._attention import (
    SelfAttention,
)
from seqloom.nn._layers._batch_norm import (
    BatchNorm1d,
    BatchNorm2d,
    InstanceNorm1d,
    InstanceNorm2d,
)
from seqloom.nn._layers._convolution import (
    Conv1d,
    Conv2d,
)
from seqloom.nn._layers._int8 import Int8Linear
from seqloom.nn._layers._linear import (
    Dropout,
    Embedding,
    Linear,
)
from seqloom.nn._layers._multihead import MultiHeadAttention
from seqloom.nn._layers._norms import (
    GroupNorm,
    LayerNorm,
    RMSNorm,
)
from seqloom.nn._layers._piecewise import (
    CELU,
    ELU,
    SELU,
    Hardsigmoid,
    Hardswish,
    Hardtanh,
    LeakyReLU,
    PReLU,
    ReLU,
    ReLU6,
)
from seqloom.nn._layers._pool import (
    AvgPool1d,
    AvgPool2d,
    MaxPool1d,
    MaxPool2d,
)
from seqloom.nn._layers._recurrent import GRU, LSTM
from seqloom.nn._layers._sequential import Residual, Sequential
from seqloom.nn._layers._shape import (
    Flatten,
    Identity,
    Upsample,
)
from seqloom.nn._layers._transformer import TransformerEncoder, TransformerEncoderLayer
from seqloom.nn._layers._transposed import (
    ConvTranspose1d,
    ConvTranspose2d,
)

__all__ = [
    "CELU",
    "ELU",
    "GELU",
    "GLU",
    "GRU",
    "LSTM",
    "SELU",
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AvgPool1d",
    "AvgPool2d",
    "BatchNorm1d",
    "BatchNorm2d",
    "Conv1d",
    "Conv2d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "Dropout",
    "Embedding",
    "Flatten",
    "GroupNorm",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "Identity",
    "InstanceNorm1d",
    "InstanceNorm2d",
    "Int8Linear",
    "LayerNorm",
    "LeakyReLU",
    "Linear",
    "LogSigmoid",
    "LogSoftmax",
    "MaxPool1d",
    "MaxPool2d",
    "Mish",
    "MultiHeadAttention",
    "PReLU",
    "RMSNorm",
    "ReLU",
    "ReLU6",
    "Residual",
    "SelfAttention",
    "Sequential",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "Softplus",
    "Softsign",
    "Tanh",
    "TransformerEncoder",
    "TransformerEncoderLayer",
    "Upsample",
]
