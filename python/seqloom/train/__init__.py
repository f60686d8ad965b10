"""From labelled records to a trained model: the loop, its checkpoints, its report."""

from seqloom.train._fit import fit
from seqloom.train._progress import Plan, Progress, Step
from seqloom.train._run import Part, Run

__all__ = ["Part", "Plan", "Progress", "Run", "Step", "fit"]
