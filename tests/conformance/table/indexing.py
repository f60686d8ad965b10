"""PyTorch samples for indexing, sorting, searching and scattering."""

from typing import Any

import numpy as np
import torch

from conformance.call import Call, Operation, Skip, first
from seqloom.tensor import apply


def _key(key: Any) -> Any:
    """Return an index with PyTorch tensors converted to NumPy arrays."""
    if isinstance(key, torch.Tensor):
        return key.numpy()
    if isinstance(key, list) and all(isinstance(each, int) for each in key):
        return np.array(key)  # PyTorch treats a list of anything but integers as a tuple
    if isinstance(key, (list, tuple)):
        return tuple(_array(each) for each in key)
    return key


def _array(each: Any) -> Any:
    if isinstance(each, torch.Tensor):
        return each.numpy()
    return np.array(each) if isinstance(each, list) else each


def _index(x: Any, *key: Any) -> Call:
    key = key[0] if len(key) == 1 else key
    return Call((x, _key(key)))


def _take(x: Any, dim: int, index: Any) -> Call | Skip:
    return Call((x, index), {"axis": dim}) if x.ndim else Skip("axis-of-a-scalar")


def _along(x: Any, index: Any, dim: int | None = None) -> Call | Skip:
    return Skip("flattened") if dim is None else Call((x, index), {"axis": dim})


def _sorted(x: Any, dim: int = -1, descending: bool = False, **named: Any) -> Call | Skip:
    dim, descending = named.get("dim", dim), named.get("descending", descending)
    if not x.ndim:
        return Skip("axis-of-a-scalar")
    options = {"axis": dim, "descending": descending}
    return Call((x,), options, theirs_out=first)


def _order(x: Any, dim: int = -1, descending: bool = False, **named: Any) -> Call | Skip:
    dim, descending = named.get("dim", dim), named.get("descending", descending)
    if not x.ndim:
        return Skip("axis-of-a-scalar")
    # The order of equal values is undefined, so compare the sorted values.
    values = lambda order: torch.take_along_dim(x.detach(), _as_int64(order), dim)  # noqa: E731
    options = {"axis": dim, "descending": descending}
    return Call((x,), options, ours_out=values, theirs_out=values, followed=())


def _as_int64(order: Any) -> Any:
    return (
        order if isinstance(order, torch.Tensor) else torch.from_numpy(order.numpy()).long()
    )


def _searchsorted(edges: Any, x: Any, **named: Any) -> Call | Skip:
    sorter, kept = named.get("sorter"), edges.detach()
    if sorter is not None:
        kept = torch.take_along_dim(kept, sorter, -1)
    x = torch.as_tensor(x, dtype=edges.dtype).detach()
    side = "right" if named.get("right") else named.get("side", "left")
    theirs = lambda edges, x: torch.searchsorted(edges, x, side=side)  # noqa: E731
    ours = None if edges.ndim == 1 else _row_by_row(side)
    return Call((kept, x), {"side": side}, theirs=theirs, ours=ours, followed=())


def _row_by_row(side: str) -> Any:
    """Search row by row, because `searchsorted` in the standard accepts only one row."""

    def ours(edges: Any, x: Any) -> Any:
        rows, wide = edges.shape[:-1], x.shape[-1:]
        pairs = [(edges[place], x[place]) for place in np.ndindex(*rows)]
        found = [apply("searchsorted", *pair, side=side) for pair in pairs]
        return apply("stack", found).reshape(*rows, *wide) if found else x.astype("int64")

    return ours


def _nonzero(x: Any, *, as_tuple: bool = False) -> Call | Skip:
    if not x.ndim:
        return Skip("axis-of-a-scalar")
    theirs = lambda x: torch.nonzero(x, as_tuple=True)  # noqa: E731
    return Call((x,), theirs=theirs, followed=())


def _topk(
    x: Any, k: int, dim: int = -1, largest: bool = True, _in_order: bool = True
) -> Call | Skip:
    if not largest or not x.ndim:
        return Skip("smallest" if x.ndim else "axis-of-a-scalar")
    return Call((x, k), {"axis": dim}, ours_out=first, theirs_out=first)


def _one_hot(x: Any, num_classes: int = -1) -> Call | Skip:
    if num_classes < 0:
        return Skip("guessed-classes")
    return Call((x, num_classes), {"dtype": "int64"})


def _scatter_add(x: Any, dim: int, index: Any, src: Any) -> Call | Skip:
    return Call((x, index, src), {"axis": dim}) if x.ndim else Skip("axis-of-a-scalar")


def _put_along(
    x: Any, dim: int, index: Any, src: Any, *, reduce: Any = None
) -> Call | Skip:
    if reduce is not None or not x.ndim:
        return Skip("reduction" if reduce else "axis-of-a-scalar")
    fits = isinstance(src, torch.Tensor) and src.shape == index.shape
    whole = all(i == x.shape[n] for n, i in enumerate(index.shape) if n != dim % x.ndim)
    if not (fits and whole):
        return Skip("part-of-the-rows")
    return Call((x, index, src), {"axis": dim})


def _placed(
    x: Any, values: Any, dim: int, start: Any = None, end: Any = None, step: int = 1
) -> Call:
    key = (slice(None),) * (dim % x.ndim) + (slice(start, end, step),)
    return Call((x, key, values))


def _added(x: Any, dim: int, index: Any, values: Any, *, alpha: Any = 1) -> Call | Skip:
    if not x.ndim:
        return Skip("axis-of-a-scalar")
    key = (slice(None),) * (dim % x.ndim) + (index.numpy(),)
    theirs = lambda x, _key, values: x.index_add(dim, index, values)  # noqa: E731
    return Call((x, key, values), theirs=theirs)


def _scattered(x: Any, key: Any, values: Any, *, accumulate: bool) -> Call:
    key = tuple(each.numpy() for each in key)
    shape = tuple(x.shape)

    def theirs(values: Any, key: Any, shape: Any) -> Any:
        places = tuple(torch.as_tensor(each) for each in key)
        return torch.zeros(shape, dtype=values.dtype).index_put(
            places, values, accumulate=True
        )

    sorted_values = torch.empty(shape)[tuple(torch.as_tensor(each) for each in key)].shape
    return Call((values.expand(sorted_values), key, shape), theirs=theirs)


def _embedding(ids: Any, weight: Any, **named: Any) -> Call | Skip:
    if set(named) - {"sparse"}:
        return Skip("padding-and-norms")
    return Call((weight, ids), theirs=lambda weight, ids: weight[ids])


def _embedding_grad(weight: Any, ids: Any, **named: Any) -> Call | Skip:
    grad = torch.linspace(-1, 1, ids.numel() * weight.shape[1], dtype=weight.dtype)
    grad = grad.reshape(*ids.shape, weight.shape[1])
    rows = weight.shape[0]

    def theirs(grad: Any, ids: Any) -> Any:
        flat = grad.reshape(-1, grad.shape[-1])
        zeros = torch.zeros(rows, grad.shape[-1], dtype=grad.dtype)
        return zeros.index_add(0, ids.reshape(-1), flat)

    return Call((grad, ids), {"rows": rows}, theirs=theirs)


def _isin(x: Any, y: Any, **named: Any) -> Call | Skip:
    options = {"invert": named.get("invert", False)}
    return Call((x, y), options, theirs=lambda x, y: torch.isin(x, y, **options))


def _unique(*further: str, ours_out: Any = lambda out: out) -> Any:
    """Test unique values; `further` lists other results to request from torch.unique."""

    def adapt(x: Any, **_named: Any) -> Call:
        requests = dict.fromkeys((f"return_{each}" for each in further), True)
        theirs = lambda x: torch.unique(x, **requests)  # noqa: E731
        return Call((x.detach(),), theirs=theirs, ours_out=ours_out, followed=())

    return adapt


INDEX_OPERATIONS: dict[str, Operation] = {
    "index": Operation("__getitem__", _index),
    "take": Operation("index_select", _take),
    "take_along_axis": Operation("take_along_dim", _along),
    "sort": Operation("sort", _sorted),
    "argsort": Operation("argsort", _order),
    "searchsorted": Operation("searchsorted", _searchsorted),
    "nonzero": Operation("nonzero", _nonzero),
    "isin": Operation("isin", _isin),
    "unique_values": Operation("unique", _unique()),
    "unique_counts": Operation("unique", _unique("counts")),
    "unique_inverse": Operation("unique", _unique("inverse")),
    "unique_all": Operation(
        "unique",
        _unique(
            "inverse", "counts", ours_out=lambda out: tuple(out[at] for at in (0, 2, 3))
        ),
    ),
    "topk": Operation("topk", _topk),
    "one_hot": Operation("nn.functional.one_hot", _one_hot, ("int64",)),
    "scatter_add": Operation("scatter_add", _scatter_add),
    "scatter_index": Operation("index_put", _scattered),
    "put_along_axis": Operation("scatter", _put_along),
    "slice_update": Operation("slice_scatter", _placed),
    "slice_add": Operation("index_add", _added),
    "embedding": Operation(
        "nn.functional.embedding", lambda w, ids, **n: _embedding(ids, w, **n)
    ),
    "embedding_grad": Operation("nn.functional.embedding", _embedding_grad),
}
