"""Tensors on NumPy, PyTorch or JAX arrays, with automatic differentiation."""

from seqloom.tensor._autocast import autocast
from seqloom.tensor._autodiff import Autodiff
from seqloom.tensor._backend import Backend, backend
from seqloom.tensor._compile._compile import compile  # noqa: A004  # torch's name
from seqloom.tensor._derivatives import grad, hvp, jacobian, value_and_grad
from seqloom.tensor._dispatch import apply
from seqloom.tensor._inspection import Profile, check_finite
from seqloom.tensor._memory import Memory, memory
from seqloom.tensor._origin import scope
from seqloom.tensor._replaced_gradients import checkpoint, custom_gradient, stop_gradient
from seqloom.tensor._standard_functions import (
    clip,
    concat,
    cos,
    einsum,
    exp,
    from_dlpack,
    log,
    log1p,
    maximum,
    minimum,
    sin,
    sort,
    sqrt,
    stack,
    take_along_axis,
    topk,
    where,
)
from seqloom.tensor._tensor import Gradients, Tensor
from seqloom.tensor._torch_functions import (
    chunk,
    cumprod,
    cumsum,
    gather,
    logcumsumexp,
    scatter,
    scatter_add,
    split,
)

__all__ = [
    "Autodiff",
    "Backend",
    "Gradients",
    "Memory",
    "Profile",
    "Tensor",
    "apply",
    "autocast",
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
