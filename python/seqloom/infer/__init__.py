"""From a trained model and records to scores, and how good they are."""

from seqloom.infer._predict import evaluate, predict
from seqloom.infer._scores import Scores

__all__ = ["Scores", "evaluate", "predict"]
