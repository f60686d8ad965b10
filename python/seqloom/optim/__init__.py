"""Optimisers and schedules."""

from seqloom.optim._adamw import AdamW
from seqloom.optim._optimizer import Move, Optimizer
from seqloom.optim._schedules import Constant, WarmupCosine

__all__ = ["AdamW", "Constant", "Move", "Optimizer", "WarmupCosine"]
