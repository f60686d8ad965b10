"""Optimisers, averages of weights, sums of gradients, and schedules."""

from seqloom.optim._accumulator import GradientsAccumulator
from seqloom.optim._average import WeightAverage
from seqloom.optim._loss_scale import LossScale
from seqloom.optim._muon import Muon
from seqloom.optim._optimizer import Move, Optimizer
from seqloom.optim._rules import AdaGrad, Lion, RMSProp
from seqloom.optim._schedule_free import ScheduleFreeAdamW
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
from seqloom.optim._sgd_and_adam import SGD, Adam, AdamW
from seqloom.optim._simple import SimpleOptimizer

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
