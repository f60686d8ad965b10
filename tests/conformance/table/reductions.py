"""PyTorch samples for reductions and other functions along axes."""

from typing import Any

import torch

from conformance.call import FLOAT_DTYPES, Call, Operation, Skip

BOOL_AND_FLOAT_DTYPES = ("bool", *FLOAT_DTYPES)


def axes(dim: Any) -> Any:
    """Convert an empty list of axes, which means all axes in PyTorch, to None."""
    if isinstance(dim, (list, tuple)):
        return tuple(dim) if len(dim) else None
    return dim


def _over(x: Any, dim: Any = None, keepdim: bool = False, **named: Any) -> Call | Skip:
    if named.get("dtype") is not None:
        return Skip("dtype-argument")
    if x.ndim == 0 and axes(dim) is not None:
        return Skip("axis-of-a-scalar")
    return Call((x,), {"axis": axes(dim), "keepdims": keepdim})


def _counted(x: Any, dim: Any = None, **_named: Any) -> Call | Skip:
    if x.ndim == 0 and axes(dim) is not None:
        return Skip("axis-of-a-scalar")
    return Call((x,), {"axis": axes(dim)})


def _var(x: Any, dim: Any = None, **named: Any) -> Call | Skip:
    correction = named.get("correction", 1 if named.get("unbiased", True) else 0)
    if isinstance(dim, bool):
        dim, correction = None, int(dim)
    count = x.numel() if axes(dim) is None else _length(x, axes(dim))
    if correction is None or count - correction <= 0:
        return Skip("variance-of-nothing")
    options = {"axis": axes(dim), "keepdims": named.get("keepdim", False)}
    return Call((x,), {**options, "correction": float(correction)})


def _length(x: Any, dim: Any) -> int:
    dims = dim if isinstance(dim, tuple) else (dim,)
    return int(torch.tensor([x.shape[each] if x.ndim else 1 for each in dims]).prod())


def _arg(x: Any, dim: Any = None, keepdim: bool = False) -> Call | Skip:
    if x.ndim == 0 and dim is not None:
        return Skip("axis-of-a-scalar")
    return Call((x,), {"axis": dim, "keepdims": keepdim})


def _cumulative(x: Any, dim: int, *, dtype: Any = None) -> Call | Skip:
    if dtype is not None and dtype != x.dtype:
        return Skip("dtype-argument")
    return Call((x,), {"axis": dim}) if x.ndim else Skip("axis-of-a-scalar")


def _logsumexp(x: Any, dim: Any, keepdim: bool = False) -> Call | Skip:
    if not x.dtype.is_floating_point or not x.ndim:
        return Skip("axis-of-a-scalar" if x.ndim == 0 else "whole-numbers")
    return Call((x,), {"axis": axes(dim), "keepdims": keepdim})


def _softmax(x: Any, dim: int, dtype: Any = None, **_named: Any) -> Call | Skip:
    if dtype is not None and dtype != x.dtype:
        return Skip("dtype-argument")
    return Call((x,), {"axis": dim}) if x.ndim else Skip("axis-of-a-scalar")


def _softmax_grad(forward: Any) -> Any:
    """Test the gradient of softmax, computed from its output, against torch.autograd."""

    def adapt(x: Any, dim: int, dtype: Any = None) -> Call | Skip:
        if dtype is not None or not x.ndim:
            return Skip("axis-of-a-scalar" if dtype is None else "dtype-argument")
        leaf = x.detach().requires_grad_()
        out = forward(leaf, dim)
        grad = torch.linspace(-1, 1, x.numel(), dtype=x.dtype).reshape(x.shape)
        pulled = torch.autograd.grad(out, leaf, grad)[0]
        kept = (grad, out.detach())
        return Call(kept, {"axis": dim}, theirs=lambda *_: pulled, followed=())

    return adapt


def _scanned(x: Any, dim: int) -> Call | Skip:
    return Call((x,), {"axis": dim}) if x.ndim else Skip("axis-of-a-scalar")


def _diff(
    x: Any, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None
) -> Call | Skip:
    if not x.ndim:
        return Skip("axis-of-a-scalar")
    theirs = lambda x, p, a: torch.diff(x, n, dim, p, a)  # noqa: E731
    return Call((x, prepend, append), {"axis": dim, "n": n}, theirs=theirs)


REDUCTION_OPERATIONS: dict[str, Operation] = {
    "sum": Operation("sum", _over),
    "mean": Operation("mean", _over),
    "prod": Operation("prod", _over),
    "max": Operation("amax", _over),
    "min": Operation("amin", _over),
    "any": Operation("any", _over, BOOL_AND_FLOAT_DTYPES),
    "all": Operation("all", _over, BOOL_AND_FLOAT_DTYPES),
    "var": Operation("var", _var),
    "std": Operation("std", _var),
    "argmax": Operation("argmax", _arg),
    "argmin": Operation("argmin", _arg),
    "count_nonzero": Operation("count_nonzero", _counted),
    "cumulative_sum": Operation("cumsum", _cumulative),
    "cumulative_prod": Operation("cumprod", _cumulative),
    "logcumsumexp": Operation("logcumsumexp", _scanned, close=10),
    "diff": Operation("diff", _diff),
    "logsumexp": Operation("logsumexp", _logsumexp),
    "softmax": Operation("softmax", _softmax),
    "log_softmax": Operation("log_softmax", _softmax),
    "softmax_grad": Operation("softmax", _softmax_grad(torch.softmax)),
    "log_softmax_grad": Operation("log_softmax", _softmax_grad(torch.log_softmax)),
}
