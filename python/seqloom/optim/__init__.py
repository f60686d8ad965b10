"""Optimisers, weight averages, gradient accumulation, and learning rate schedules."""

from seqloom.optim._adam import Adam, AdamW, ScheduleFreeAdamW
from seqloom.optim._averages import GradientsAccumulator, WeightAverage
from seqloom.optim._loss_scale import LossScale
from seqloom.optim._momentum import SGD, Muon
from seqloom.optim._optimizer import Optimizer
from seqloom.optim._schedules import (
    Chain,
    Constant,
    CosineDecay,
    ExponentialDecay,
    LinearDecay,
    Noam,
    OneCycle,
    Plateau,
    Schedule,
    StepDecay,
    WarmupCosine,
)
from seqloom.optim._settings import Move
from seqloom.optim._simple import AdaGrad, Lion, RMSProp, SimpleOptimizer

__all__ = [
    "SGD",
    "AdaGrad",
    "Adam",
    "AdamW",
    "Chain",
    "Constant",
    "CosineDecay",
    "ExponentialDecay",
    "GradientsAccumulator",
    "LinearDecay",
    "Lion",
    "LossScale",
    "Move",
    "Muon",
    "Noam",
    "OneCycle",
    "Optimizer",
    "Plateau",
    "RMSProp",
    "Schedule",
    "ScheduleFreeAdamW",
    "SimpleOptimizer",
    "StepDecay",
    "WarmupCosine",
    "WeightAverage",
]
