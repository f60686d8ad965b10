"""From a trained model and sequences to scores, and how good they are."""

from seqloom.infer._predict import evaluate, predict
from seqloom.infer._scores import Scores

__all__ = ["Scores", "evaluate", "predict"]
