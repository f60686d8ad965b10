"""Neural network modules, layers, losses and metrics."""

from seqloom.nn import functional
from seqloom.nn._adaptive_pooling import AdaptiveAvgPool1d, AdaptiveMaxPool1d
from seqloom.nn._attention import SelfAttention
from seqloom.nn._batch_norm import BatchNorm1d, BatchNorm2d
from seqloom.nn._config import Config
from seqloom.nn._convolution import Conv1d, Conv2d
from seqloom.nn._gradient import functional_call, value_and_grad
from seqloom.nn._initialisers import FanIn, Fill, Normal
from seqloom.nn._int8 import Int8Linear, quantize_int8
from seqloom.nn._linear import Dropout, Embedding, Linear
from seqloom.nn._lora import LoRALinear, add_lora, merge_lora
from seqloom.nn._metrics import (
    accuracy,
    auprc,
    auroc,
    balanced_accuracy,
    confusion_matrix,
    f1,
    mcc,
    pearson,
    r2,
    spearman,
)
from seqloom.nn._module import Module
from seqloom.nn._multihead import MultiHeadAttention
from seqloom.nn._norms import GroupNorm, LayerNorm, RMSNorm
from seqloom.nn._parameters import Buffer, Param
from seqloom.nn._pooling import AvgPool1d, AvgPool2d, MaxPool1d, MaxPool2d
from seqloom.nn._rectifiers import ELU, GELU, LeakyReLU, PReLU, ReLU, SiLU
from seqloom.nn._recurrent import GRU, LSTM
from seqloom.nn._running_counts import F1, MCC, Accuracy, BalancedAccuracy, Mean, Metric
from seqloom.nn._running_values import AUPRC, AUROC, R2, Pearson, Spearman
from seqloom.nn._sequential import Residual, Sequential
from seqloom.nn._shapes import Flatten, Identity, Upsample
from seqloom.nn._sigmoids import (
    GLU,
    LogSigmoid,
    LogSoftmax,
    Sigmoid,
    Softmax,
    Softplus,
    Tanh,
)
from seqloom.nn._state import LoadReport
from seqloom.nn._summary import Summary
from seqloom.nn._track_metrics import jensen_shannon
from seqloom.nn._transformer import TransformerEncoder, TransformerEncoderLayer
from seqloom.nn._transposed import ConvTranspose1d

__all__ = [
    "AUPRC",
    "AUROC",
    "ELU",
    "F1",
    "GELU",
    "GLU",
    "GRU",
    "LSTM",
    "MCC",
    "R2",
    "Accuracy",
    "AdaptiveAvgPool1d",
    "AdaptiveMaxPool1d",
    "AvgPool1d",
    "AvgPool2d",
    "BalancedAccuracy",
    "BatchNorm1d",
    "BatchNorm2d",
    "Buffer",
    "Config",
    "Conv1d",
    "Conv2d",
    "ConvTranspose1d",
    "Dropout",
    "Embedding",
    "FanIn",
    "Fill",
    "Flatten",
    "GroupNorm",
    "Identity",
    "Int8Linear",
    "LayerNorm",
    "LeakyReLU",
    "Linear",
    "LoRALinear",
    "LoadReport",
    "LogSigmoid",
    "LogSoftmax",
    "MaxPool1d",
    "MaxPool2d",
    "Mean",
    "Metric",
    "Module",
    "MultiHeadAttention",
    "Normal",
    "PReLU",
    "Param",
    "Pearson",
    "RMSNorm",
    "ReLU",
    "Residual",
    "SelfAttention",
    "Sequential",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "Softplus",
    "Spearman",
    "Summary",
    "Tanh",
    "TransformerEncoder",
    "TransformerEncoderLayer",
    "Upsample",
    "accuracy",
    "add_lora",
    "auprc",
    "auroc",
    "balanced_accuracy",
    "confusion_matrix",
    "f1",
    "functional",
    "functional_call",
    "jensen_shannon",
    "mcc",
    "merge_lora",
    "pearson",
    "quantize_int8",
    "r2",
    "spearman",
    "value_and_grad",
]
