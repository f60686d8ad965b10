"""Derivatives of functions: computed, stopped, recomputed, replaced, and checked."""

from seqloom.tensor._derivatives._check_finite import check_finite
from seqloom.tensor._derivatives._checkpoint import checkpoint, is_recomputing
from seqloom.tensor._derivatives._custom import custom_gradient, stop_gradient
from seqloom.tensor._derivatives._functions import grad, hvp, value_and_grad
from seqloom.tensor._derivatives._jacobian import jacobian

__all__ = [
    "check_finite",
    "checkpoint",
    "custom_gradient",
    "grad",
    "hvp",
    "is_recomputing",
    "jacobian",
    "stop_gradient",
    "value_and_grad",
]
