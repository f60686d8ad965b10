"""Modules, layers, losses and metrics."""

from seqloom.nn import functional
from seqloom.nn._config import Config
from seqloom.nn._gradient import value_and_grad
from seqloom.nn._layers import BatchNorm1d, Conv1d, Dropout, Linear, MaxPool1d, Sequential
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
from seqloom.nn._stored import Buffer, FanIn, Fill, Param

__all__ = [
    "BatchNorm1d",
    "Buffer",
    "Config",
    "Conv1d",
    "Dropout",
    "FanIn",
    "Fill",
    "Linear",
    "MaxPool1d",
    "Module",
    "Param",
    "Sequential",
    "accuracy",
    "auprc",
    "auroc",
    "balanced_accuracy",
    "confusion_matrix",
    "functional",
    "mcc",
    "pearson",
    "r2",
    "spearman",
    "value_and_grad",
]
