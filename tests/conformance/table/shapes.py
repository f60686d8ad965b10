"""PyTorch samples for creating, reshaping, joining and splitting arrays."""

from typing import Any

import torch

from conformance.call import Call, Operation, Skip, alone, same


def _made(shape: Any, **named: Any) -> Call:
    return Call((tuple(shape),), {"dtype": _dtype(named)})


def _full(shape: Any, value: Any, **named: Any) -> Call:
    return Call((tuple(shape), value), {"dtype": _dtype(named)})


def _dtype(named: Any) -> str | None:
    return str(named.get("dtype") or torch.float32).removeprefix("torch.")


def _empty(shape: Any, **named: Any) -> Call:
    call = _made(shape, **named)
    return Call(call.args, call.options, ours_out=_shape, theirs_out=_shape)


def _shape(out: Any) -> Any:
    return torch.tensor(tuple(out.shape), dtype=torch.int64)


def _arange(start: Any, *rest: Any, dtype: Any = None, **_named: Any) -> Call:
    theirs = torch.arange(start, *rest, dtype=dtype)
    options = {"dtype": str(theirs.dtype).removeprefix("torch.")}
    return Call((start, *rest), options, theirs=lambda *_: theirs)


def _eye(rows: int, columns: int | None = None, **named: Any) -> Call:
    return Call((rows, columns), {"dtype": _dtype(named)})


def _astype(x: Any, *args: Any, **named: Any) -> Call | Skip:
    target = next((each for each in args if isinstance(each, torch.dtype)), None)
    target = named.get("dtype", target)
    if target not in (torch.float32, torch.float64):
        return Skip("other-element-type")
    name = str(target).removeprefix("torch.")
    return Call((x, name), theirs=lambda x, _name: x.to(target))


def _shaped(x: Any, *shape: Any) -> Call:
    shape = tuple(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else shape
    return Call((x, tuple(shape)))


def _broadcast(x: Any, shape: Any) -> Call:
    return Call((x, tuple(shape)))


def _permute(x: Any, dims: Any) -> Call:
    ndim = max(x.ndim, 1)
    return Call((x, tuple(each % ndim for each in dims)))


def _transposed(x: Any) -> Call | Skip:
    return Call((x,)) if x.ndim > 1 else Skip("axis-of-a-scalar")


def _concat(arrays: Any, dim: int = 0, **named: Any) -> Call | Skip:
    shapes = {each.ndim for each in arrays}
    if len(shapes) > 1:
        return Skip("empty-joins-anything")
    return Call((list(arrays),), {"axis": named.get("dim", dim)})


def _stack(arrays: Any, dim: int = 0) -> Call:
    return Call((list(arrays),), {"axis": dim})


def _expand(x: Any, dim: int) -> Call:
    return Call((x,), {"axis": dim})


def _squeeze(x: Any, *dims: Any) -> Call | Skip:
    dim = dims[0] if dims else tuple(range(x.ndim))
    named = (dim,) if isinstance(dim, int) else tuple(dim)
    # PyTorch ignores axes that are longer than 1; seqloom raises an error.
    kept = tuple(each for each in named if x.ndim and x.shape[each] == 1)
    return Call((x,), {"axis": kept})


def _flip(x: Any, dims: Any) -> Call:
    return Call((x,), {"axis": tuple(dims)})


def _roll(x: Any, shifts: Any, dims: Any = None) -> Call:
    plain = lambda each: tuple(each) if isinstance(each, (list, tuple)) else each  # noqa: E731
    axis = None if dims in (None, ()) else plain(dims)
    shift = plain(shifts)
    if axis is None and isinstance(shift, tuple):
        shift = shift[0]
    return Call((x, shift), {"axis": axis})


def _tile(x: Any, *counts: Any, **named: Any) -> Call:
    counts = counts[0] if counts else named["dims"]
    return Call((x, tuple(counts)))


def _repeat(x: Any, counts: Any = None, dim: int | None = None, **named: Any) -> Call:
    return Call((x, _counts(named.get("repeats", counts))), {"axis": dim})


def _counts(counts: Any) -> Any:
    return counts if isinstance(counts, int) else counts.detach()


def _unstack(x: Any, dim: int = 0) -> Call | Skip:
    return Call((x,), {"axis": dim}) if x.shape[dim] else Skip("nothing-to-unstack")


def _move(x: Any, source: Any, destination: Any) -> Call:
    """Move only the first axis if a sample moves several axes."""
    one, other = (
        each if isinstance(each, int) else each[0] for each in (source, destination)
    )
    return Call((x, one, other), theirs=torch.movedim)


def _triangle(x: Any, diagonal: int = 0) -> Call:
    return Call((x,), {"k": diagonal})


def _pad(x: Any, widths: Any, mode: str = "constant", value: Any = None) -> Call | Skip:
    if min(widths) < 0:
        return Skip("negative-padding")
    pairs = [tuple(widths[i : i + 2]) for i in range(0, len(widths), 2)]
    pairs += [(0, 0)] * (x.ndim - len(pairs))
    return Call((x, tuple(reversed(pairs))), {"value": value or 0.0})


def _like(x: Any, *value: Any, dtype: Any = None, **_named: Any) -> Call | Skip:
    if dtype not in (None, x.dtype):
        return Skip("other-element-type")
    return Call((x.detach(), *value), followed=())


def _empty_like(x: Any, **named: Any) -> Call | Skip:
    call = _like(x, **named)
    if isinstance(call, Skip):
        return call
    return Call(call.args, followed=(), ours_out=_shape, theirs_out=_shape)


def _linspace(start: Any, end: Any, steps: int, **named: Any) -> Call:
    return Call((start, end, steps), {"dtype": _dtype(named)})


def _grid(*arrays: Any, indexing: str = "ij") -> Call:
    theirs = lambda *arrays: torch.meshgrid(*arrays, indexing=indexing)  # noqa: E731
    return Call(arrays, {"indexing": indexing}, theirs=theirs)


SHAPE_OPERATIONS: dict[str, Operation] = {
    "asarray": Operation("clone", alone),
    "from_dlpack": Operation("clone", lambda x, **_: Call((x.detach(),), followed=())),
    "empty": Operation("empty", _empty),
    "zeros": Operation("zeros", _made),
    "ones": Operation("ones", _made),
    "full": Operation("full", _full),
    "empty_like": Operation("empty_like", _empty_like),
    "zeros_like": Operation("zeros_like", _like),
    "ones_like": Operation("ones_like", _like),
    "full_like": Operation("full_like", _like),
    "linspace": Operation("linspace", _linspace),
    "meshgrid": Operation("meshgrid/variadic_tensors", _grid),
    "broadcast_arrays": Operation("broadcast_tensors", same),
    "arange": Operation("arange", _arange),
    "eye": Operation("eye", _eye),
    "astype": Operation("to", _astype),
    "reshape": Operation("reshape", _shaped),
    "permute_dims": Operation("permute", _permute),
    "matrix_transpose": Operation("mT", _transposed),
    "broadcast_to": Operation("broadcast_to", _broadcast),
    "concat": Operation("cat", _concat),
    "stack": Operation("stack", _stack),
    "expand_dims": Operation("unsqueeze", _expand),
    "squeeze": Operation("squeeze", _squeeze),
    "flip": Operation("flip", _flip),
    "roll": Operation("roll", _roll),
    "tile": Operation("tile", _tile),
    "repeat": Operation("repeat_interleave", _repeat),
    "unstack": Operation("unbind", _unstack),
    "moveaxis": Operation("movedim", _move),
    "tril": Operation("tril", _triangle),
    "triu": Operation("triu", _triangle),
    "pad": Operation("nn.functional.pad/constant", _pad),
}
