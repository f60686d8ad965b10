"""Prediction, evaluation, attributions, effects of variants, and embeddings."""

from seqloom.infer import (
    _number_kinds as _number_kinds,  # registers input kinds
    _sequence_kinds as _sequence_kinds,  # registers input kinds
)
from seqloom.infer._attributions import Attributions
from seqloom.infer._effects_table import VariantEffects
from seqloom.infer._explain import explain
from seqloom.infer._explain_variant import VariantExplanation, explain_variant
from seqloom.infer._kinds import Kind, register_kind
from seqloom.infer._predict import evaluate, predict
from seqloom.infer._predict_tracks import predict_tracks
from seqloom.infer._scores import Scores
from seqloom.infer._variant_effects import variant_effects
from seqloom.infer.embedding._embed import embed
from seqloom.infer.embedding._load import Embeddings, load
from seqloom.infer.embedding._summary import EmbedSummary, Progress
from seqloom.infer.monitor._gpus import GPUSample
from seqloom.infer.monitor._monitor import Bottleneck, GPUMonitor

__all__ = [
    "Attributions",
    "Bottleneck",
    "EmbedSummary",
    "Embeddings",
    "GPUMonitor",
    "GPUSample",
    "Kind",
    "Progress",
    "Scores",
    "VariantEffects",
    "VariantExplanation",
    "embed",
    "evaluate",
    "explain",
    "explain_variant",
    "load",
    "predict",
    "predict_tracks",
    "register_kind",
    "variant_effects",
]
