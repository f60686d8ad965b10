"""One tensor over any array library, differentiable by decoration."""

from seqloom.tensor._along import (
    chunk,
    cumprod,
    cumsum,
    gather,
    logcumsumexp,
    scatter,
    scatter_add,
    split,
)
from seqloom.tensor._autodiff import Autodiff
from seqloom.tensor._backend import Backend
from seqloom.tensor._compile._compile import compile  # noqa: A004  # torch's name
from seqloom.tensor._derivatives import (
    check_finite,
    checkpoint,
    custom_gradient,
    grad,
    hvp,
    jacobian,
    stop_gradient,
    value_and_grad,
)
from seqloom.tensor._elementwise import (
    clip,
    cos,
    exp,
    log,
    log1p,
    maximum,
    minimum,
    sin,
    sqrt,
    where,
)
from seqloom.tensor._from_dlpack import from_dlpack
from seqloom.tensor._gradients import Gradients
from seqloom.tensor._memory import Memory, memory, scope
from seqloom.tensor._profile import Profile
from seqloom.tensor._registry import backend
from seqloom.tensor._several import (
    concat,
    einsum,
    sort,
    stack,
    take_along_axis,
    topk,
)
from seqloom.tensor._tensor import Tensor, apply
from seqloom.tensor._torch_autograd import TorchAutograd

__all__ = [
    "Autodiff",
    "Backend",
    "Gradients",
    "Memory",
    "Profile",
    "Tensor",
    "TorchAutograd",
    "apply",
    "backend",
    "check_finite",
    "checkpoint",
    "chunk",
    "clip",
    "compile",
    "concat",
    "cos",
    "cumprod",
    "cumsum",
    "custom_gradient",
    "einsum",
    "exp",
    "from_dlpack",
    "gather",
    "grad",
    "hvp",
    "jacobian",
    "log",
    "log1p",
    "logcumsumexp",
    "maximum",
    "memory",
    "minimum",
    "scatter",
    "scatter_add",
    "scope",
    "sin",
    "sort",
    "split",
    "sqrt",
    "stack",
    "stop_gradient",
    "take_along_axis",
    "topk",
    "value_and_grad",
    "where",
]
