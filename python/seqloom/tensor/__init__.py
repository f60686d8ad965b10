"""One tensor over any array library, differentiable by decoration."""

from seqloom.tensor._autodiff import Autodiff
from seqloom.tensor._backend import Backend
from seqloom.tensor._gradients import Gradients
from seqloom.tensor._registry import backend
from seqloom.tensor._tensor import Tensor, apply

__all__ = ["Autodiff", "Backend", "Gradients", "Tensor", "apply", "backend"]
