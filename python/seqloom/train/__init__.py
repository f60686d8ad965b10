"""Trains models: the training loop, checkpoints, run folders and reports."""

from seqloom.train._baselines import Baseline, Comparison
from seqloom.train._compare import compare
from seqloom.train._evaluation import Part
from seqloom.train._fit import fit
from seqloom.train._progress import Plan, Progress, Step
from seqloom.train._run import Run
from seqloom.train._selection import Candidate
from seqloom.train._trackers import MLflow, TensorBoard, Tracker, WandB
from seqloom.train._values import (
    Batches,
    Computation,
    Epochs,
    Objective,
    RunFolder,
    Updates,
)

__all__ = [
    "Baseline",
    "Batches",
    "Candidate",
    "Comparison",
    "Computation",
    "Epochs",
    "MLflow",
    "Objective",
    "Part",
    "Plan",
    "Progress",
    "Run",
    "RunFolder",
    "Step",
    "TensorBoard",
    "Tracker",
    "Updates",
    "WandB",
    "compare",
    "fit",
]
