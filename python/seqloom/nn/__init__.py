"""Modules, layers, losses and metrics."""

from seqloom.nn import functional
from seqloom.nn._config import Config
from seqloom.nn._functional_call import functional_call
from seqloom.nn._gradient import value_and_grad
from seqloom.nn._initialisers import FanIn, Fill, Normal
from seqloom.nn._layers import (
    AvgPool1d,
    BatchNorm1d,
    Conv1d,
    Conv2d,
    Dropout,
    Embedding,
    LayerNorm,
    Linear,
    MaxPool1d,
    MaxPool2d,
    RMSNorm,
    SelfAttention,
    Sequential,
)
from seqloom.nn._metrics import (
    accuracy,
    auprc,
    auroc,
    balanced_accuracy,
    confusion_matrix,
    mcc,
    pearson,
    r2,
    spearman,
)
from seqloom.nn._module import Module
from seqloom.nn._stored import Buffer, Param
from seqloom.nn._visitor import Visitor

__all__ = [
    "AvgPool1d",
    "BatchNorm1d",
    "Buffer",
    "Config",
    "Conv1d",
    "Conv2d",
    "Dropout",
    "Embedding",
    "FanIn",
    "Fill",
    "LayerNorm",
    "Linear",
    "MaxPool1d",
    "MaxPool2d",
    "Module",
    "Normal",
    "Param",
    "RMSNorm",
    "SelfAttention",
    "Sequential",
    "Visitor",
    "accuracy",
    "auprc",
    "auroc",
    "balanced_accuracy",
    "confusion_matrix",
    "functional",
    "functional_call",
    "mcc",
    "pearson",
    "r2",
    "spearman",
    "value_and_grad",
]
