"""Recurrences: one layer in one direction, over padded sequences or over whole ones."""

from __future__ import annotations

from typing import Any

from seqloom.errors import ArgumentError, ShapeError
from seqloom.nn.functional._dtypes import require_same_dtype
from seqloom.nn.functional._operands import as_operand, make_range, read_host_array
from seqloom.tensor import Tensor, apply

_NAMES = "w_ih", "x", "hx", "w_hh", "b_ih", "b_hh"
_AXES = 3  # n, l, in


def gru(
    x: Tensor,
    hx: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
    *,
    mask: object = None,
    reverse: bool = False,
) -> tuple[Tensor, Tensor]:
    """Runs one layer of gated recurrent units in one direction (Cho et al. 2014).

    The gates are torch's: reset, update, new; the reset gate multiplies what the state adds
    to the new value, with its bias.

    Args:
        x: ``(n, l, in)``, with the positions on the second axis.
        hx: The first state of each sequence, ``(n, width)``.
        w_ih: Weights of the inputs, ``(3 * width, in)``.
        w_hh: Weights of the states, ``(3 * width, width)``.
        b_ih: Bias of the inputs' part, ``(3 * width,)``.
        b_hh: Bias of the states' part, ``(3 * width,)``.
        mask: ``(n, l)``, true or 1 at real positions; default: all real. A position that is
            not real leaves the state as it is, and its output is 0.
        reverse: Whether to begin at the last position.

    Returns:
        The output at each position ``(n, l, width)``, and the last state ``(n, width)``.

    Raises:
        DTypeError: The arguments do not have the same float type.
        ShapeError: The shapes do not fit together, or there is no position.

    Examples:
        >>> import seqloom as sl
        >>> B = sl.tensor.backend("numpy")
        >>> out, last = gru(
        ...     B.tensor([[[1.0], [2.0]]]),
        ...     B.tensor([[0.0]]),
        ...     B.tensor([[1.0], [1.0], [1.0]]),
        ...     B.tensor([[0.0], [0.0], [0.0]]),
        ... )
        >>> out.shape, last.shape
        ((1, 2, 1), (1, 1))
    """
    require_same_dtype("gru", _NAMES, w_ih, x, hx, w_hh, b_ih, b_hh)
    _require_shapes("gru", 3, (x, hx, w_ih, w_hh))
    x, real = _drop_padding(x, mask)
    args = (x, hx, w_ih, w_hh, b_ih, b_hh, real)
    states, last, _ = apply("gru", *args, reverse=reverse)
    return _zero_padding(states, real), last


def lstm(
    x: Tensor,
    hx: tuple[Tensor, Tensor],
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
    *,
    mask: object = None,
    reverse: bool = False,
) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """Runs one layer of long short-term memory in one direction.

    See Hochreiter and Schmidhuber (1997), with the forget gate of Gers et al. (2000). The
    gates are torch's: input, forget, cell, output.

    Args:
        x: ``(n, l, in)``, with the positions on the second axis.
        hx: The first state and the first cell of each sequence, each ``(n, width)``.
        w_ih: Weights of the inputs, ``(4 * width, in)``.
        w_hh: Weights of the states, ``(4 * width, width)``.
        b_ih: Bias of the inputs' part, ``(4 * width,)``.
        b_hh: Bias of the states' part, ``(4 * width,)``.
        mask: ``(n, l)``, true or 1 at real positions; default: all real. A position that is
            not real leaves the state as it is, and its output is 0.
        reverse: Whether to begin at the last position.

    Returns:
        The output at each position ``(n, l, width)``, and a pair of the last state and the
        last cell, each ``(n, width)``.

    Raises:
        DTypeError: The arguments do not have the same float type.
        ShapeError: The shapes do not fit together, or there is no position.

    Examples:
        >>> import seqloom as sl
        >>> B = sl.tensor.backend("numpy")
        >>> first = B.tensor([[0.0]])
        >>> x, w = B.tensor([[[1.0], [2.0]]]), B.tensor([[1.0]] * 4)
        >>> out, (last, cell) = lstm(x, (first, first), w, w * 0.0)
        >>> out.shape, cell.shape
        ((1, 2, 1), (1, 1))
    """
    h0, c0 = hx
    require_same_dtype("lstm", _NAMES, w_ih, x, h0, w_hh, b_ih, b_hh)
    _require_shapes("lstm", 4, (x, h0, w_ih, w_hh))
    if c0.shape != h0.shape:
        raise ShapeError(
            f"lstm: the first cell must have the shape of the first state, {h0.shape}, got "
            f"{c0.shape}"
        )
    x, real = _drop_padding(x, mask)
    args = (x, h0, c0, w_ih, w_hh, b_ih, b_hh, real)
    states, last, cell, _ = apply("lstm", *args, reverse=reverse)
    return _zero_padding(states, real), (last, cell)


def _require_shapes(name: str, gates: int, arrays: tuple[Tensor, ...]) -> None:
    """Refuses arrays that do not fit together."""
    x, h0, w_ih, w_hh = (array.shape for array in arrays)
    if len(x) != _AXES or 0 in x:
        raise ShapeError(
            f"{name}: expected x (n, l, in) with at least one position, got shape {x}"
        )
    width = h0[-1] if h0 else 0
    expected = (x[0], width), (gates * width, x[2]), (gates * width, width)
    if not width or (h0, w_ih, w_hh) != expected:
        raise ShapeError(
            f"{name}: expected a first state (n, width), w_ih ({gates} * width, in) and "
            f"w_hh ({gates} * width, width) for x {x}, got {h0}, {w_ih} and {w_hh}"
        )


def _drop_padding(x: Tensor, mask: object) -> tuple[Tensor, Tensor | None]:
    """Sets padding, which may be NaN, to 0; returns the mask as booleans too."""
    if mask is None:
        return x, None
    real = as_real(x, mask)
    return apply("where", apply("expand_dims", real, axis=2), x, 0.0), real


def _zero_padding(states: Tensor, real: Tensor | None) -> Tensor:
    """Sets the output at padding to 0."""
    if real is None:
        return states
    return apply("where", apply("expand_dims", real, axis=2), states, 0.0)


def as_real(x: Tensor, mask: object) -> Tensor:
    """Returns a mask of positions as booleans; refuses another shape."""
    real = as_operand(x, mask)
    if real.shape != x.shape[:2]:
        raise ShapeError(
            f"mask must have shape {x.shape[:2]}, one value for each position of x, got "
            f"{real.shape}"
        )
    return real if real.dtype.kind == "b" else apply("not_equal", real, 0)


def mask_lengths(x: Tensor, lengths: object) -> Tensor:
    """Returns a mask of positions that is true up to each sequence's length."""
    found = read_host_array(lengths)
    if found is not None:
        _require_lengths(found, x.shape[:2])
    ends: Any = apply("expand_dims", as_operand(x, lengths, "int32"), axis=1)
    return apply("less", make_range(x, x.shape[1]), ends)


def _require_lengths(lengths: Any, sizes: tuple[int, ...]) -> None:
    """Refuses lengths that are not integers from 0 to the number of positions."""
    rows, longest = sizes
    is_fit = lengths.shape == (rows,) and lengths.dtype.kind in "iu"
    if not is_fit or (lengths.size and not 0 <= lengths.min() <= lengths.max() <= longest):
        raise ArgumentError(
            f"lengths must be {rows} integers from 0 to {longest}, the number of positions "
            f"of x, got {lengths.tolist()}"
        )
