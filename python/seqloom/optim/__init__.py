"""Optimisers and schedules."""

from seqloom.optim._adamw import AdamW
from seqloom.optim._optimizer import Move, Optimizer
from seqloom.optim._schedules import Constant, WarmupCosine
from seqloom.optim._sgd import SGD

__all__ = ["SGD", "AdamW", "Constant", "Move", "Optimizer", "WarmupCosine"]
