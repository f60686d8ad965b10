"""From a trained model and records to scores, and how good they are; and to embeddings."""

from seqloom.infer._predict import evaluate, predict
from seqloom.infer._scores import Scores
from seqloom.infer.embedding._embed import embed
from seqloom.infer.embedding._load import Embeddings, load
from seqloom.infer.embedding._summary import EmbedSummary, Progress

__all__ = [
    "EmbedSummary",
    "Embeddings",
    "Progress",
    "Scores",
    "embed",
    "evaluate",
    "load",
    "predict",
]
